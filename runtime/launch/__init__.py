"""From boxes to launches: plans, temporaries, runners of plans."""
