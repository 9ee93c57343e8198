"""Prediction intervals, regions and sets, and how unlike the training rows a row is."""
