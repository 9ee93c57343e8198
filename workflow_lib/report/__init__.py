"""Results as tables, sentences and figures."""
