"""Slow, obvious twins of the fast paths, one function each, for tests to compare with.

Each folder of tests may keep its own twins in ``tests/<folder>/naive_*.py`` when they are many;
this file re-exports nothing and holds those shared by several folders.
"""
