"""Execution model `scatter`: blocks share out the domain of an update, and count in tables of their own."""
