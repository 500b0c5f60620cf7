"""Several processes, perhaps on several machines, that share a PostgreSQL store."""
