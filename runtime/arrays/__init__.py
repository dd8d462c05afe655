"""Arrays of a call: a common view of NumPy, CuPy, torch and other arrays, and their layouts."""
