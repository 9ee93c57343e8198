"""Methods: one module each, with its keys in ``keys`` under the same name."""
