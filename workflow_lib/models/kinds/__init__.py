"""Kinds of generative models of the outputs, each with its embedding: one module a kind."""
