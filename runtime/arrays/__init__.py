"""Arrays of a call: NumPy, CuPy, torch and others as one kind of view, and their layouts."""
