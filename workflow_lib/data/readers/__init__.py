"""Readers of datasets, one module each."""
