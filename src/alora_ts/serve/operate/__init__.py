"""What an operator sees and what runs beside the requests."""
