"""Execution model `scan`: a thread per line of a recurrence, with what the last steps gave in registers."""
