"""What the service keeps, and the only code that speaks SQL."""
