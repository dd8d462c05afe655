"""Measuring schedules on a GPU, and fitting the cost model's constants to what was measured."""
