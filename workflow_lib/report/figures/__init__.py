"""The figures of an experiment: a module for each kind."""
