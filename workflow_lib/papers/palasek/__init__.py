"""Fisher vector networks."""
