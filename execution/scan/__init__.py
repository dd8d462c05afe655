"""Execution model `scan`: a thread per line of a recurrence, with the last steps' results in registers."""
