"""The tasks of datasets: every module is one, as `base` says."""
