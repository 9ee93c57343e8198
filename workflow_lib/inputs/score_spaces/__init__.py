"""Kinds of generative models of the inputs: what each has to offer, and how they are found."""
