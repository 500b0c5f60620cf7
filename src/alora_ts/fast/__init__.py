"""Everything that gives the same numbers sooner; it could be deleted without losing a result."""
