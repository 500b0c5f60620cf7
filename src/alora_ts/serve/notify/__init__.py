"""Telling people and systems about incidents."""
