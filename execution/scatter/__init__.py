"""Execution model `scatter`: blocks share the domain of an update, and accumulate in private tables."""
