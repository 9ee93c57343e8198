"""Gaussian mixtures, from all rows at once and from a stream, and their Fisher scores."""
