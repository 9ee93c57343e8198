"""Fitted estimators as arrays and texts of an HDF5 file."""
