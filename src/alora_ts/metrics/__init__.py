"""Detection and localization metrics: numpy in, numbers out."""
