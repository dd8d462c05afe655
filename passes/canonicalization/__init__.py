"""Canonicalization patterns of the img dialect's ops, one file per family of ops."""
