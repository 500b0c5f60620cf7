"""The version, apart, so that every layer may ask for it."""

__all__ = ["__version__"]

__version__ = "0.2.0"
