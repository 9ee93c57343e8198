"""The kinds of tables of an experiment, one module each, as `base` describes them."""
