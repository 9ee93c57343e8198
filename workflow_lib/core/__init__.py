"""Files, digests, errors, seeds and settings, and the finder of every kind of plug-in."""
