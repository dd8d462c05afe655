"""Measurement of schedules on a GPU, and fitting of the cost model's constants."""
