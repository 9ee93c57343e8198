"""The keys of a method with the regressor `most_probable_class`."""

from typing import Literal

from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """The rule of the most probable class."""

    regressor: Literal["most_probable_class"]
    """`most_probable_class`: the class of the highest probability under generative models of the
    classes."""

    requirements = (
        Requirement(
            {},
            {
                "score_kind": {"log_likelihood"},
                "standardises_scores": {False},
                "has_class_models": {True},
            },
            "the most probable class needs a score_space of models of the classes (per_class: "
            "true), with kind: log_likelihood and standardise: false",
        ),
    )
