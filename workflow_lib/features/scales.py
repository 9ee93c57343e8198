"""The values of ``inputs.scale`` of a dataset."""

ROW_SCALES = ("none", "standard")
"""For rows of numbers."""

TEXT_SCALES = ("tf-idf", "multinomial", "dirichlet-multinomial")
"""For counts of terms, of which inner products are kept."""

PRODUCTS_SCALE = "products"
"""For inputs that are inner products already."""
