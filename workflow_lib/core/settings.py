"""Base class of all typed settings: unknown keys are refused, values are immutable."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A block of settings read from a YAML file.

    Unknown keys are errors, so that a misspelt key is never replaced silently by a default;
    instances are immutable, so that a job reports the settings that it ran with.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @classmethod
    def others_with(cls, location: tuple) -> list[str]:
        """Return the names of classes that have a key that this class lacks; none by default."""
        return []
