"""Which methods can be saved as one file that predicts new rows, and why the others cannot.

On a table of the user only such a method may win, so that the recommended method is the one that
predicts. `snakemake new`, the leaderboard and the stage that saves the winner use this module.
"""

from __future__ import annotations

from collections.abc import Mapping

SAVED_PACKAGES = ("sklearn", "workflow_lib", "lightgbm", "xgboost", "catboost")
"""Packages whose estimators are saved in a file. Which classes are loaded from one is another
question (`workflow_lib.solvers.stored.classes`)."""


def why_not_saved(name: str, methods: Mapping[str, Mapping]) -> str:
    """Return why a method cannot be saved, as the end of a sentence about it; "" where it can.

    Parameters
    ----------
    name : str
    methods : mapping from the names of methods
        ``weak_outputs``, ``estimator`` and ``members`` of each, as in `config/methods`; the members
        of a stack are among them. A method of which a key is not given counts as one that can be
        saved in this respect.
    """
    method = methods.get(name, {})
    if method.get("weak_outputs") == "true":
        return "it learns from outputs of weak rows, which are hidden in use"
    package = (method.get("estimator") or SAVED_PACKAGES[0]).partition(".")[0]
    if package not in SAVED_PACKAGES:
        return (
            f"an estimator of the package {package} is not saved in a file: only those of "
            f"{', '.join(SAVED_PACKAGES)} are"
        )
    for member in method.get("members") or ():
        reason = why_not_saved(member, methods)
        if reason:
            return f"its member {member} cannot be saved: {reason}"
    return ""
