"""Tables in, tables out; preparation; windows."""
