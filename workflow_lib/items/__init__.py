"""Kinds of inputs that are no plain numbers: bags, sequences, images, trees of classes."""
