"""The keys that single kinds of tables have: one module each, loaded without the kind."""
