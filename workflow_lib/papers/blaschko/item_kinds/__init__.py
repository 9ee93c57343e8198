"""Kinds of items of this paper."""
