"""From windows to a trained network."""
