"""Structured machines, rankings, boxes in images, graphs and taxonomies."""
