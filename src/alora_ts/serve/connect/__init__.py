"""Ways for rows to come in without HTTP: MQTT, Prometheus, a directory, standard input."""
