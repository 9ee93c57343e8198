"""The page of a run: its sections and what they say."""
