"""Varoquaux (2019): representation learning in limited-data settings."""
