"""Methods of this paper whose models are saved."""

SAVED_NUMBERS = {}
SAVED_CLASSES = {}
SAVED_ON_THEIR_OWN = ("fisher_vector_network", "map_network")
"""Their data, bags, are in separate tests."""
