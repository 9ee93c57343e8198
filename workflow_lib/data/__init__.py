"""Datasets: downloads, and what readers share."""
