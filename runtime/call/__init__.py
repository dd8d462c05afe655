"""Arguments of a call become boxes, layouts and numbers."""
