"""The keys of methods: one module each, loaded without the method."""
