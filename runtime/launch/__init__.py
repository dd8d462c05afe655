"""Launches: plans, temporaries, runners of plans."""
