"""Kinds of items, which the rows of a dataset hold: one module a kind."""
