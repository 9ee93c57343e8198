"""Comparisons of this project with other libraries, and with the limits of the machine."""
