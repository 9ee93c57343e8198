"""The base of every typed setting: unknown keys are refused, values never change after loading."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A block of settings read from a YAML file.

    Unknown keys are errors, so that a typing mistake never passes for a default; instances are
    immutable, so that what a job reports is what it ran with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def others_with(cls, location: tuple) -> list[str]:
        """Return what has the key at a location that this class has not; none by default."""
        return []
