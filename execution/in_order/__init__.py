"""Execution model `in_order`: a thread per pure point of an update, in order over the reduction domain."""
