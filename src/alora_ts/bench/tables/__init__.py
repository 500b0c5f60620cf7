"""The tables of the benchmark, from its records to five ways to show them."""
