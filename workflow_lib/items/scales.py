"""The values of ``inputs.scale`` of a dataset."""

ROW_SCALES = ("none", "standard")
"""For rows of numbers."""

MARKOV_SCALE = "markov"
"""For counts of the transitions of trees."""

TEXT_SCALES = ("tf-idf", "multinomial", "dirichlet-multinomial", MARKOV_SCALE)
"""For counts of terms, transitions included, of which inner products are kept."""

PRODUCTS_SCALE = "products"
"""For inputs that are inner products already."""
