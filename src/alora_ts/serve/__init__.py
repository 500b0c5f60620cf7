"""The live service: rows in, readings and incidents out, history kept, people notified."""
