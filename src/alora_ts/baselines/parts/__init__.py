"""Pieces of networks that several compared methods share."""
