"""The stages of a run on a user's table, without a scheduler.

They are those of the workflow, with the same paths and settings (`workflow_lib.run.stages`), so
that they write the same artifacts. Splits are independent, and may be computed at the same time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from workflow_lib.core.plugins import STAGES
from workflow_lib.run.stages import ANNOTATED, FINAL, Stages
from workflow_lib.table.proposed_methods import STACK
from workflow_lib.table.run_costs import split_seconds

if TYPE_CHECKING:
    from workflow_lib.run.loading import Configuration

QUICK = 0.05
"""Largest share of the time of all methods that a method takes whose errors are shown first."""

USUAL_SIZES, USUAL_INPUTS, SECONDS_OF_SPLIT = (20, 50, 100), 50, 0.1
"""Rows and inputs by which methods are told to be quick; seconds of a split without methods."""

FIRST_SPLITS = 2
"""Splits after which the errors of the quick methods are shown for the first time."""

MIN_SPLITS = 3
"""Splits without which an interrupted comparison rather keeps all splits and fewer methods."""


@dataclass(frozen=True)
class TableRun:
    """The stages of the experiment on one table, whose artifacts lie in a folder.

    ``name`` is that of the experiment and of its dataset. The ``folder`` holds ``results/`` and
    ``logs/``, as that of the workflow does.
    """

    settings: Configuration
    name: str
    folder: Path

    @property
    def stages(self) -> Stages:
        return Stages(self.settings, f"{self.folder}/")

    def file(self, path: str) -> Path:
        """Return where a file of the run lies; its folder is made."""
        found = self.folder / path
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def result(self, name: str) -> Path:
        """Return where a result of the experiment lies."""
        return self.file(f"results/{self.name}/{name}")

    def answer(self) -> dict[str, Any]:
        """Return the answer, once it has been written."""
        return json.loads(self.result("answer.json").read_text("utf-8"))

    def read(self) -> None:
        """Read the table, and describe it."""
        from workflow_lib.data import read_stage
        from workflow_lib.table import data_profile_stage

        dataset = self.settings.experiments[self.name].dataset
        file = self.settings.datasets[dataset].options["file"]
        with self._log("read"):
            read_stage.run(**self.stages.reading(dataset), output=self.dataset_file, files=[file])
            data_profile_stage.run(
                dataset=self.dataset_file,
                file=file,
                output=self.result("data-profile.json"),
                **self.stages.data_profile(self.step()),
            )
            self._align()

    def _align(self) -> None:
        """Write the values of kernels between all series, where methods need them."""
        from workflow_lib.protocol import alignments

        for method in self.methods():
            path = self.stages.alignment_file(self.step(method=method))
            if path and (target := self._missing(path)):
                kernel = self.settings.methods[method].output_kernel
                alignments.run(
                    dataset=self.dataset_file,
                    output=target,
                    kernel=kernel,
                    output_widths=self.stages.alignment_widths(self.step(alignment=kernel)),
                )

    def splits(self) -> list[str]:
        """Return the names of the splits by which methods are compared."""
        return [str(split) for split in self.settings.splits_of(self.name)]

    def learn(self, split: str, methods: list[str] | None = None, n_jobs: int = 1) -> None:
        """Fit methods on a split and predict its test rows.

        `methods` are all of the experiment where they are None, and each of `n_jobs` processes fits
        one method at a time, stacks after all others.
        """
        from sklearn.utils.parallel import Parallel, delayed

        methods = self.in_order() if methods is None else methods
        stacks = [name for name in methods if self.settings.members_of(self.name, name)]
        with self._log(f"split-{split}"):
            self._prepare(split, methods)
        Parallel(n_jobs)(
            delayed(_learn_method)(self, split, method)
            for method in methods
            if method not in stacks
        )
        for method in stacks:
            _learn_method(self, split, method)

    def in_order(self) -> list[str]:
        """Return the methods of the experiment, stacks after their members."""
        names = self.methods()
        return sorted(names, key=lambda name: bool(self.settings.members_of(self.name, name)))

    def score(self) -> None:
        """Compute the errors of all methods in all splits."""
        from workflow_lib.protocol import evaluation

        common = self._predictions()
        dataset = self.settings.experiments[self.name].dataset
        with self._log("compare"):
            evaluation.run_scores(
                **common,
                output=self.result("scores.csv"),
                choices=self.result("choices.csv"),
                coordinates=self.result("coordinates.csv"),
                experiment=self.name,
                dataset_name=dataset,
                positive_class=self.settings.datasets[dataset].positive_class,
            )

    def compare(self, n_jobs: int = 1) -> None:
        """Compute the errors of all splits, the answer, the intervals and the important inputs."""
        from workflow_lib.protocol import evaluation
        from workflow_lib.table import calibration_stage, importance_stage, leaderboard

        stages, step, common = self.stages, self.step(), self._predictions()
        seconds = stages.files_of_methods(step, stages.regression_seconds, stages.preimage_seconds)
        self.score()
        with self._log("compare"):
            evaluation.run_timings(
                splits=common["splits"],
                predictions=common["predictions"],
                seconds=evaluation.by_method(common["predictions"], stages.prefixed(seconds)),
                output=self.file(f"results/timings/{self.name}.csv"),
                experiment=self.name,
                dataset_name=self.settings.experiments[self.name].dataset,
            )
            leaderboard.run(
                scores=self.result("scores.csv"),
                choices=self.result("choices.csv"),
                timings=[self.file(f"results/timings/{self.name}.csv")],
                data_profile=self.result("data-profile.json"),
                output=self.result("answer.json"),
                output_with_seconds=self.file(f"results/timings/{self.name}-answer.json"),
                **stages.leaderboard(step),
            )
            answer = self.result("answer.json")
            features = stages.prefixed(stages.files_of_splits(step, stages.feature_file))
            calibration_stage.run(
                answer=answer,
                features=features,
                output=self.result("calibration.h5"),
                table=self.result("outputs.csv"),
                **common,
                **stages.calibration(step),
            )
            importance_stage.run(
                answer=answer,
                dataset=self.dataset_file,
                splits=common["splits"],
                features=features,
                output=self.result("importance.h5"),
                table=self.result("importance.csv"),
                n_jobs=n_jobs,
                **stages.importance(step),
            )

    def save(self, n_jobs: int = 1) -> None:
        """Fit the winner to all rows, and write the saved model."""
        from workflow_lib.table import saved_model_stage

        winner = self.answer()["winner"]
        needed = [*self.settings.members_of(self.name, winner), winner]
        self.learn(FINAL, [name for name in self.in_order() if name in needed], n_jobs)
        last = self.step(split=FINAL)
        with self._log("saved_model"):
            saved_model_stage.run(
                answer=self.result("answer.json"),
                calibration=self.result("calibration.h5"),
                importance=self.result("importance.h5"),
                dataset=self.dataset_file,
                split=self.file(self.stages.split_file(last)),
                features=self.file(self.stages.feature_file(last)),
                output=self.result("model.h5"),
                **self.stages.saved_model(last),
            )

    def errors(self) -> dict[str, float]:
        """Return the mean errors by the labels of methods, once they are scored, the best first."""
        from workflow_lib.report.labels import method_label
        from workflow_lib.report.quantities import errors_by_size
        from workflow_lib.report.results import outside_studies, read_scores

        scores = outside_studies(read_scores(self.result("scores.csv")))
        sizes = errors_by_size(scores, self.settings.shown_metric_of(self.name))
        methods = self.stages.method_fields(self.methods(), "label")
        means = {
            method_label(variant.method, methods): fmean(by_split.values())
            for variant, by_split in sizes[max(sizes)].items()
        }
        return dict(sorted(means.items(), key=lambda item: item[1]))

    def restricted(
        self, n_splits: int | None = None, methods: Collection[str] | None = None
    ) -> TableRun:
        """Return the run of the first splits, or of some methods; None keeps all."""
        experiment = self.settings.experiments[self.name]
        kept = [name for name in experiment.methods if methods is None or name in methods]
        changes = {"n_splits": n_splits or experiment.n_splits, "methods": tuple(kept)}
        changed = {self.name: experiment.model_copy(update=changes)}
        return replace(self, settings=replace(self.settings, experiments=changed))

    def finished(self) -> TableRun | None:
        """Return the run of what is finished; None where no method is finished in all splits.

        It has the methods that are finished in all splits, or all methods and the splits in which
        they are finished, if these are at least `MIN_SPLITS`.
        """
        splits, methods, is_done = self.splits(), self.methods(), self.is_done
        complete = [all(is_done(split, method) for method in methods) for split in splits]
        n_splits = (complete + [False]).index(False)
        if n_splits >= min(MIN_SPLITS, len(splits)):
            return self.restricted(n_splits=n_splits)
        done = {name for name in methods if all(is_done(split, name) for split in splits)}
        stacks = {
            name for name in done if not done.issuperset(self.settings.members_of(self.name, name))
        }
        return self.restricted(methods=done - stacks) if done - stacks else None

    def methods(self) -> list[str]:
        """Return the methods of the experiment."""
        return list(self.settings.methods_of(self.name))

    def is_done(self, split: str, method: str) -> bool:
        """Return whether a method has predicted the test rows of a split."""
        path = self.stages.prediction_file(self.step(split=split, method=method))
        return Path(self.folder, path).exists()

    def scored(self) -> dict[str, float]:
        """Return `errors`, computed now; nothing where a method is not finished in a split."""
        if not all(self.is_done(*each) for each in product(self.splits(), self.methods())):
            return {}
        self.score()
        return self.errors()

    def _predictions(self) -> dict[str, Any]:
        """Return the artifacts of the dataset, the splits and the predictions."""
        from workflow_lib.protocol import evaluation

        stages, step = self.stages, self.step()
        files = stages.files_of_methods(step, stages.prediction_file)
        return {
            "dataset": self.dataset_file,
            "splits": stages.prefixed(stages.files_of_splits(step, stages.split_file)),
            "predictions": evaluation.by_method(self.methods(), stages.prefixed(files)),
        }

    @property
    def dataset_file(self) -> Path:
        return self.file(self.stages.dataset_file(self.step()))

    def step(self, **names: str) -> SimpleNamespace:
        return SimpleNamespace(experiment=self.name, **names)

    def _missing(self, path: str) -> Path | None:
        """Return where a file of the run will lie; None where it has been written."""
        found = self.file(path)
        return None if found.exists() else found

    def _files(self, paths: Any) -> Any:
        """Return where artifacts lie, one or several; None for none."""
        return self.stages.prefixed(paths) if paths else None

    @contextmanager
    def _log(self, name: str) -> Iterator[None]:
        """Append what is printed in a block to a file, warnings included."""
        path = self.file(f"logs/{name}.log")
        with path.open("a", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
            yield

    def _prepare(self, split: str, methods: list[str]) -> None:
        """Split the rows, prepare the inputs and fit the models of outputs of these methods."""
        from workflow_lib.protocol import annotation, features_stage, generative_models, splitting

        stages, step = self.stages, self.step(split=split)
        rows = {"dataset": self.dataset_file, "split": self.file(stages.split_file(step))}
        if split_file := self._missing(stages.split_file(step)):
            splitting.run(
                dataset=rows["dataset"],
                output=split_file,
                experiment=self.name,
                **stages.splitting(step),
                **stages.numbered_split(step),
            )
        if features := self._missing(stages.feature_file(step)):
            features_stage.run(
                **rows,
                output=features,
                seed=stages.seed_of(step, "encoders"),
                **stages.features(step),
            )
        chosen = [self.settings.methods[method] for method in methods]
        annotated = {method.model for method in chosen if method.weak}
        folder = Path(stages.split_file(step)).parent
        for model in sorted({method.model for method in chosen if method.model}):
            if models := self._missing(f"{folder}/{model}/models.h5"):
                generative_models.run(
                    **rows,
                    output=models,
                    seed=stages.seed_of(step, "training", model),
                    **stages.models(self.step(split=split, model=model)),
                )
            with_labels = f"{folder}/{model}{ANNOTATED}"
            if model in annotated and (labelled := self._missing(f"{with_labels}/models.h5")):
                annotation.run(
                    **rows,
                    models=self.file(f"{folder}/{model}/models.h5"),
                    output_models=labelled,
                    output_labels=self.file(f"{with_labels}/weak_labels.h5"),
                    label_kind=self.settings.experiments[self.name].weak_labels,
                    seed=stages.seed_of(step, "annotation", model),
                )

    def _learn_method(self, step: SimpleNamespace) -> None:
        """Fit a method and predict the test rows."""
        from workflow_lib.protocol import output_predictions, preimages, regression

        stages = self.stages
        self._embed(step)
        self._score_inputs(step)
        written = self.file(stages.regression_file(step))
        predictions = self.file(stages.prediction_file(step))
        seconds = self.file(stages.preimage_seconds(step))
        regression.run(
            stages.module_of(step).name,
            artifacts={
                name: self._files(paths) for name, paths in stages.artifact_files(step).items()
            },
            settings=stages.method_settings(step),
            output=written,
            timings=self.file(stages.regression_seconds(step)),
        )
        if stages.has_preimages(step.method):
            preimages.run(
                regression=written,
                models=self._files(stages.embedding_model_file(step)),
                output=predictions,
                timings=seconds,
                dataset=self._files(stages.class_vector_file(step)),
                **stages.preimages(step),
            )
        else:
            output_predictions.run(
                regression=written,
                output=predictions,
                timings=seconds,
                of_classes=stages.predicts_scores(step),
                dataset=self.dataset_file if stages.predicts_vectors(step) else None,
            )

    def _embed(self, step: SimpleNamespace) -> None:
        """Write the embedding of the outputs that a method regresses."""
        from workflow_lib.protocol import embedding

        stages = self.stages
        path = stages.embedding_file(step)
        if path and (target := self._missing(path)):
            embedding.run(
                dataset=self.dataset_file,
                split=self.file(stages.split_file(step)),
                models=self.file(stages.embedding_model_file(step)),
                output=target,
                **stages.embeddings(self.step(form=stages.embedding_name(step.method))),
            )

    def _score_inputs(self, step: SimpleNamespace) -> None:
        """Write the scores of the inputs under a model of them, where a method has such."""
        stages = self.stages
        if not (path := stages.input_score_file(step)):
            return
        common = {
            "dataset": self.dataset_file,
            "split": self.file(stages.split_file(step)),
            "features": self.file(stages.feature_file(step)),
        }
        name = stages.method_of(step).score_space.models
        if models := self._missing(stages.input_model_file(step)):
            STAGES.load("input_models").run(
                **common,
                output=models,
                seed=stages.seed_of(step, "training", name),
                **stages.input_models(self.step(input_model=name)),
            )
        STAGES.load("input_scores").run(
            **common,
            models=self.file(stages.input_model_file(step)),
            output=self.file(path),
            keeps_map=step.split == FINAL,
            **stages.scores_of_inputs(step),
        )


class Progress(NamedTuple):
    """How far a run is: ``done``, the share of its expected seconds, and ``errors``, the mean ones
    of the quick methods, once `FIRST_SPLITS` splits have them."""

    done: float
    errors: dict[str, float]


def run_table(table: TableRun, n_jobs: int = 1) -> Iterator[Progress]:
    """Run all stages of a table up to the saved model, the quick methods before the others.

    Each of `n_jobs` processes handles one split at a time, with one thread of the linear algebra,
    as the jobs of the workflow do. The progress is yielded after each step: reading, the quick
    methods of each split, the others, the comparison and the saved model.
    """
    from sklearn.utils.parallel import Parallel, delayed
    from threadpoolctl import threadpool_limits

    splits, methods = table.splits(), table.in_order()
    limit = QUICK * expected_seconds(methods)
    quick = [name for name in methods if name != STACK and expected_seconds([name]) <= limit]
    others = [name for name in methods if name not in quick]
    seconds = [SECONDS_OF_SPLIT + expected_seconds(names) for names in (quick, others)]
    once = SECONDS_OF_SPLIT + expected_seconds(methods) / 2
    total, done, errors = sum(seconds) * len(splits) + 3 * once, once, {}
    with threadpool_limits(1):
        table.read()
        yield Progress(done / total, errors)
        for names, of_split in zip((quick, others), seconds):
            finished = Parallel(n_jobs, return_as="generator_unordered")(
                delayed(_learn)(table, split, names) for split in splits if names
            )
            for number, _ in enumerate(finished, start=1):
                done += of_split
                if names is quick and others and number in (FIRST_SPLITS, len(splits)):
                    errors = table.restricted(number, quick).scored() or errors
                yield Progress(done / total, errors)
        table.compare(n_jobs)
        yield Progress(1 - once / total, errors)
        table.save(n_jobs)
        yield Progress(1.0, errors)


def expected_seconds(methods: Sequence[str]) -> float:
    """Return the expected CPU seconds of methods on a split of a table of usual size."""
    return split_seconds(methods, USUAL_SIZES, USUAL_INPUTS)


def _learn(table: TableRun, split: str, methods: list[str]) -> None:
    """Fit methods on a split, in a process with one thread of the linear algebra."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        table.learn(split, methods)


def _learn_method(table: TableRun, split: str, method: str) -> None:
    """Fit a method, in a process with one thread of the linear algebra."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), table._log(f"split-{split}"):
        table._learn_method(table.step(split=split, method=method))
