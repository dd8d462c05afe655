"""Strips of rows, from top to bottom: a few rows of every stage are kept, each computed once."""
