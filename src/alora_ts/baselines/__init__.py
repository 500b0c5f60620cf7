"""The compared methods, one file each, behind one interface."""
