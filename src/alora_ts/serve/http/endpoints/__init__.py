"""The HTTP interface: thin, it reads requests, asks the service and shows the answer."""
