"""The HTTP interface: the application, who may do what, how much, and the endpoints."""
