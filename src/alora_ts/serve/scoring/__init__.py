"""From stored rows to readings: one scorer a source, run by a few threads."""
