"""Stages that their scripts load by name, so that a paper can add some of its own."""
