"""Methods of this paper whose models are saved."""

SAVED_NUMBERS = {}
SAVED_CLASSES = {}
SAVED_ON_THEIR_OWN = ("most_probable_class",)
"""Its data, scores of sequences, are in separate tests."""
