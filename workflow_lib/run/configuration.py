"""The checked configuration of a run: its settings, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from workflow_lib.core.job_needs import most_gram_rows
from workflow_lib.core.result_columns import OF_ROWS
from workflow_lib.core.values import ALL
from workflow_lib.items.scales import PRODUCTS_SCALE, TEXT_SCALES
from workflow_lib.methods.contract import file_settings
from workflow_lib.methods.contract.method_file import MethodFile
from workflow_lib.run import capabilities
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentSettings,
    InputModelSettings,
    ModelSettings,
    RunSettings,
)
from workflow_lib.run.requests import Request
from workflow_lib.tasks.base import PER_CLASS, Task
from workflow_lib.tasks.found import all_measures, tasks

MIXTURE = "gaussian_mixture"


@dataclass(frozen=True)
class Configuration:
    """The checked configuration of a run: the settings that it uses, and lookups in them.

    Names are those of files without ``.yaml``, or of variants in files. Experiments are in the
    order of the run, all other dictionaries are sorted by name.
    """

    sources: tuple[str, ...]
    """The configuration files of the run, in the order in which they were merged."""

    run: RunSettings
    """The run's own settings."""

    experiments: dict[str, ExperimentSettings]
    """The experiments of the run, with every default filled in and ``methods`` a tuple of names
    (sorted for ``default``, otherwise in the order of the file)."""

    datasets: dict[str, DatasetSettings]
    """The datasets used."""

    methods: dict[str, MethodFile]
    """The methods used."""

    models: dict[str, ModelSettings]
    """The generative models used."""

    input_models: dict[str, InputModelSettings]
    """The generative models of inputs used."""

    left_out: dict[str, dict[str, list[str]]]
    """By experiment, the methods of ``default`` that cannot run in it, each with the reasons."""

    replaced: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The experiments that do not run, with the stand-ins of each."""

    request: Request | None = None
    """The request for a new table; None without one."""

    locations: dict[str, dict[str, str]] = field(default_factory=dict)
    """How messages name settings, by kind (dataset, method, input_model) and name."""

    def dataset_of(self, experiment: str) -> DatasetSettings:
        """Return the dataset of an experiment."""
        return self.datasets[self.experiments[experiment].dataset]

    def methods_of(self, experiment: str) -> tuple[str, ...]:
        """Return the names of the methods of an experiment."""
        return self.experiments[experiment].methods

    def members_of(self, experiment: str, method: str) -> tuple[str, ...]:
        """Return the members of a stack that are methods of an experiment.

        The other members cannot run there, such as a forest on a Gram matrix, or were left out.
        """
        methods = self.methods_of(experiment)
        return tuple(name for name in self.methods[method].members if name in methods)

    def model_of(self, method: str) -> ModelSettings | None:
        """Return the generative model of a method, None when it has none."""
        name = self.methods[method].model
        return self.models[name] if name else None

    def is_user_table(self, experiment: str) -> bool:
        """Return whether the experiment is on a user table."""
        return self.dataset_of(experiment).is_user_table

    def models_of(self, experiment: str) -> tuple[str, ...]:
        """Return the names of the generative models of an experiment, sorted."""
        methods = (self.methods[name] for name in self.methods_of(experiment))
        return tuple(sorted({method.model for method in methods if method.model}))

    def splits_of(self, experiment: str) -> range:
        """Return the numbers of the splits of an experiment, from 0."""
        return range(self.experiments[experiment].n_splits)

    def splits_of_jobs(self, experiment: str, made: Iterable[range] = ()) -> list[range]:
        """Return the splits of every job, sorted; none where each job handles one.

        Parameters
        ----------
        experiment : str
        made : iterable of range, default=()
            Splits that one job each has made. They stay together, so that their results hold after
            an edit of the number of splits; of those that overlap, the first do. The last one may
            have splits beyond that number.
        """
        splits, size = self.splits_of(experiment), self.experiments[experiment].splits_per_job
        kept: list[range] = []
        for made_together in made:
            if made_together.start < len(splits) and not any(
                set(made_together) & set(others) for others in kept
            ):
                kept.append(made_together)
        others = sorted(set(splits).difference(*kept))
        # Neighbours within fixed bounds, so that these jobs are the same once some have run.
        blocks = groupby(enumerate(others), lambda item: (item[1] // size, item[1] - item[0]))
        for _, block in blocks:
            numbers = [split for _, split in block]
            kept.append(range(numbers[0], numbers[-1] + 1))
        if all(len(job) == 1 for job in kept):
            return []
        return sorted(kept, key=lambda job: job.start)

    def projections_of(self, experiment: str, method: str) -> list[bool]:
        """Return whether predicted memberships are projected on the simplex; two if it is selected.

        The task says whether they may be.
        """
        projects = self.task_of(experiment).projects_memberships
        return file_settings.projections(self.methods[method]) if projects else [False]

    def kernels_of(self, experiment: str, method: str) -> list[str] | None:
        """Return the candidate kernels of a method on the inputs of an experiment.

        None for a method that names none. A Gram matrix replaces all kernels, and the kernel
        ``tanimoto`` those with a width; texts and inner products have no ``laplacian``, and use the
        kernel of the experiment where no other is named.
        """
        kernels, own = self.methods[method].kernel, self.experiments[experiment].kernel
        if not kernels:
            return None
        if own == "precomputed":
            return [own]
        if own == "tanimoto":
            return list(dict.fromkeys(name if name == "linear" else own for name in kernels))
        by_products = self.dataset_of(experiment).inputs.scale in (*TEXT_SCALES, PRODUCTS_SCALE)
        return [name for name in kernels if not (by_products and name == "laplacian")] or [own]

    def studies_of(self, experiment: str, method: str) -> dict[str, list[float]]:
        """Return the values that a method is run with in addition to the selected ones, by study.

        Only weak rows in the embedding have the weight lambda_2 of eq. (14), and weak rows with
        true outputs have no labels that could be wrong.
        """
        settings, studies = self.methods[method], self.experiments[experiment].studies
        if not settings.weak or settings.regressor != "kernel_ridge":
            return {}
        return {
            "weak_weight": [] if settings.weak_outputs else list(studies.weak_weight),
            "weak_noise": list(studies.weak_noise) if settings.model else [],
        }

    def landmarks_of(self, experiment: str) -> dict[str, int] | None:
        """Return the training rows above which landmarks are used, and their number, or None.

        The limit may depend on the machine. It is None unless an experiment has a size above it or
        the size `ALL`, or is on a user table, where the saved model learns from all rows.
        """
        limit, values = self.run.gram_limit, self.experiments[experiment]
        may_exceed = self.is_user_table(experiment) or ALL in values.training_sizes
        if not may_exceed and not capabilities.exceeds(values, limit):
            return None
        return {"max_gram_rows": limit, "n_landmarks": self.run.n_landmarks}

    def gram_rows_of(self, experiment: str) -> int:
        """Return an upper bound on the rows of the largest Gram matrix of an experiment."""
        values = self.experiments[experiment]
        return most_gram_rows(
            values.training_sizes,
            values.weak_sizes,
            self.run.gram_limit,
            per_class=values.split == "per_class",
            is_user_table=self.is_user_table(experiment),
        )

    def task_of(self, experiment: str) -> Task:
        """Return the task of the dataset of an experiment."""
        return tasks()[self.dataset_of(experiment).task]

    def shown_metric_of(self, experiment: str) -> str:
        """Return the key of the description of the metric, which says what training sizes count."""
        values = self.experiments[experiment]
        by_rows = self.task_of(experiment).may_split_per_class and values.split != PER_CLASS
        return f"{values.metric}{OF_ROWS}" if by_rows else values.metric

    def selection_metric_of(self, experiment: str) -> str:
        """Return the error that selection minimises; for classes, that of their class vectors."""
        return all_measures()[self.experiments[experiment].metric].selects_by

    def counts_components(self, method: str) -> bool:
        """Return whether the method has a number of components: of its mixture, or its own."""
        model = self.model_of(method)
        own = "n_components" in type(self.methods[method]).model_fields
        return own or (model is not None and model.kind == MIXTURE)

    def components_of(self, experiment: str, method: str) -> tuple[str, ...]:
        """Return the component labels a method runs with: ("selected",) or ("2", "4", "10")."""
        components = self.experiments[experiment].components
        if components == "selected" or not self.counts_components(method):
            return ("selected",)
        return tuple(str(number) for number in components)

    def component_candidates(self, method: str, components: str) -> tuple[int, ...]:
        """Return the numbers of components compared under a label of :meth:`components_of`."""
        if components != "selected":
            return (int(components),)
        return file_settings.component_counts(self.methods[method])

    def component_counts(self, experiment: str, model: str) -> tuple[int, ...]:
        """Return every number of components that a model is fitted with in an experiment."""
        counts = {
            number
            for method in self.methods_of(experiment)
            if self.methods[method].model == model
            for label in self.components_of(experiment, method)
            for number in self.component_candidates(method, label)
        }
        return tuple(sorted(counts))

    def merged_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold (an infinite penalty as ".inf")."""
        kinds = {
            "experiments": self.experiments,
            "datasets": self.datasets,
            "methods": self.methods,
            "models": self.models,
            "input_models": self.input_models,
        }
        return {
            "sources": list(self.sources),
            "run": _plain(self.run.model_dump(mode="json")),
            **{
                kind: {name: _plain(item.model_dump(mode="json")) for name, item in items.items()}
                for kind, items in kinds.items()
            },
            "replaced": {name: list(others) for name, others in self.replaced.items()},
            "left_out": {name: dict(methods) for name, methods in self.left_out.items()},
        }


def _plain(value: Any) -> Any:
    """Return `value` with infinite numbers, which JSON does not have, in YAML's notation."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return ".inf" if isinstance(value, float) and math.isinf(value) else value
