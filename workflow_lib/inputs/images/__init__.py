"""Features of images."""
