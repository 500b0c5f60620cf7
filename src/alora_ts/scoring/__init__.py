"""From a trained network to scores: rank, error, calibration; batch and stream."""
