"""The benchmark datasets and synthetic faults behind one interface."""
