"""Measure methods and machines; make the tables and figures."""
