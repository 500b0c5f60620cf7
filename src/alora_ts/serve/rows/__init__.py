"""Rows on their way in and out: checked, stored, read back, drawn."""
