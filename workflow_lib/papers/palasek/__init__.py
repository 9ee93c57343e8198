"""Fisher vector networks."""

PUBLIC_NAMES = {"FisherVectorNetwork": "fisher_network"}
