"""Configuration of a run: it is read, completed and checked, and its data are counted."""
