"""Pictures and self-contained pages that show a diagnosis."""
