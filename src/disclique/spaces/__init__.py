"""Spaces: what the distances of a file are between, one module for each kind, and what each kind can do.

Nobody outside asks of which kind a space is; a space says what it can do. Nothing here reads a file or attacks one.
"""
