"""From the arguments of a call to boxes, layouts and numbers."""
