"""The measures of predictions: every module is one or a few, as `base` says."""
