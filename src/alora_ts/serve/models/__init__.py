"""Models: kept, loaded, fitted, compared, and the alarm levels they bring."""
