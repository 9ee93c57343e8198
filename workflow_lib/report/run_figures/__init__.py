"""Figures of a whole run; each is made by a rule of its own."""
