"""A table of the user: its proposal, the answer, the saved model and its predictions."""
