"""What becomes of alarms: incidents, their updates, silences, feedback and spread."""
