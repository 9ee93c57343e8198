"""Steps before a method, which change its inputs in every fold."""
