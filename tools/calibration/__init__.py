"""Measuring schedules on a GPU, and fitting the cost model's constants to the times."""
