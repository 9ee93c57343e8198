"""Generative models of the outputs, their Fisher scores and the pre-images."""
