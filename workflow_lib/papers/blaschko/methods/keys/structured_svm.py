"""The keys of a method with the regressor `structured_svm`."""

from typing import Literal

from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import MachineMethod


class Parameters(MachineMethod):
    """Structured support vector machines."""

    regressor: Literal["structured_svm"]
    """`structured_svm`: one machine for all classes, with a joint kernel on inputs and classes."""

    rescaling: Literal["margin", "slack"] = "margin"
    """What a loss between classes rescales: the `margin` that the scores of two classes must keep
    (the default: the class of the highest score then answers for the loss itself), or the `slack`,
    the cost of a margin of 1 that is not kept, as the thesis prints it (equations 5.16 to 5.18).
    With the 0-1 loss both are one."""

    loss: Literal["zero_one", "class_losses"] = "zero_one"
    """Loss that is trained: `zero_one` (the default), or `class_losses`, the `class_costs` of the
    dataset or path lengths in its `class_tree`."""

    class_similarity: Literal["identity", "learned_tree", "fitted_tree", "given_tree"] = "identity"
    """Similarities B between the classes: `identity` (the default), none; `learned_tree`, those of
    the average linkage of the means of the classes in the feature space of the kernel;
    `fitted_tree`, those of the tree that is fitted to the covariance of the largest dependence, B*
    of the thesis; or `given_tree`, those of the tree of the dataset, with the lengths of its
    branches that maximise the dependence between inputs and classes (equation 5.34). All are
    learned from training rows alone, in every fold from its own."""

    solver: Literal["blocks", "cutting_planes"] = "blocks"
    """How the machine is found: `blocks` (the default) moves weights row by row, and
    `cutting_planes` adds the most violated constraint of all rows in each iteration, as in the
    thesis. Both have the same optimum."""

    needs_of_data = (
        Requirement(
            {"loss": {"class_losses"}},
            {"has_class_losses": {True}},
            "loss: class_losses needs a dataset with class_tree or class_costs",
        ),
        Requirement(
            {"class_similarity": {"given_tree"}},
            {"has_class_tree": {True}},
            "class_similarity: given_tree needs a dataset with class_tree",
        ),
    )
