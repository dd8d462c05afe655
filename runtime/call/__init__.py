"""Conversion of a call's arguments to boxes, layouts and numbers."""
