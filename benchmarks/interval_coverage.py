"""Coverage: how many new outputs lie in the intervals of a model on a user's own table.

Tables are drawn from laws that are known here and nowhere in the product. Each goes the whole way
of a user's table: it is looked at and its configuration written, read, split, learned from by
OFER-GMM, m-KRR and the mean with their own grids, scored, the winner chosen, calibrated and saved.
The saved model then predicts 500 fresh rows of the same law, and what its intervals hold of them is
counted. Nothing is timed.

There are fewer methods than a table is given. Two more things differ from a run of the workflow,
and change no interval: of the learning curve there is the largest size alone, and only the winner
learns from all rows.

The ideal half width is the one that holds as many of the fresh rows around the true regression
function, which no method knows. The promise of an interval is one on average over tables: the
half width of one table is a quantile of its own few rows, and its coverage varies with them.
"""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measuring import ROOT, Measurement, in_own_process, is_installed
from workflow_lib.seeds import derive_seed

METHODS = ("ofer-gmm", "m-krr", "m-mean")

N_SIMULATIONS, N_QUICK_SIMULATIONS = 20, 3
N_FRESH = 500

BAND = (0.87, 0.93)
"""Where the mean coverage of intervals of 90 % must lie."""

COLUMNS = (
    "law",
    "simulation",
    "output",
    "winner",
    "coverage",
    "half_width_over_ideal",
    "measured_by_product",
)
"""Columns of ``interval_coverage.csv``: one row an output of a simulated table."""

LAW_COLUMNS = (
    "law",
    "rows",
    "splits",
    "simulations",
    "outputs",
    "level",
    "coverage",
    "deviation",
    "share_in_band",
    "share_of_outputs_in_band",
    "met",
    "half_width_over_ideal",
    "measured_by_product",
    "winners",
)
"""Columns of ``interval_coverage_by_law.csv``: one row a law."""

SHARES = (
    "coverage",
    "deviation",
    "share_in_band",
    "share_of_outputs_in_band",
    "measured_by_product",
)
"""Columns of the laws that are shares of 1."""

BY_LAW = "interval_coverage_by_law"
FINAL = "final"


# --- laws ----------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows of a law.

    Attributes
    ----------
    inputs : dict of str to sequence
        Columns of the table that are no outputs.
    means : array (n, d)
        The true regression function at these inputs.
    outputs : array (n, d)
        The means plus noise.
    """

    inputs: dict[str, Sequence]
    means: np.ndarray
    outputs: np.ndarray


class Law(NamedTuple):
    """A way to draw tables.

    Attributes
    ----------
    title : str
    draw : callable
        From a number of rows and a generator to `Rows`.
    n_rows : int
        Of a user's table.
    n_splits : int
        Ten is what a table of at most 500 rows is given.
    package : str or None
        What it needs beside the requirements.
    """

    title: str
    draw: Callable[[int, np.random.Generator], Rows]
    n_rows: int
    n_splits: int
    package: str | None = None


def draw_numbers(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of six numbers, with waves, a product, a step, and noise that grows with inputs.

    With x normal, the means are sin(2 x_1) + x_2 x_3 / 2, x_1^2 / 2 - x_4 and 2 tanh(x_2 + x_5),
    and the standard deviations of the normal noise 0.2 + 0.4 |x_1|, 0.3 exp(x_2 / 2) and 0.3 or,
    where x_3 is positive, 0.8. The sixth number is of no use.
    """
    x = generator.standard_normal((n, 6))
    means = np.column_stack(
        [
            np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2],
            0.5 * x[:, 0] ** 2 - x[:, 3],
            2.0 * np.tanh(x[:, 1] + x[:, 4]),
        ]
    )
    deviations = np.column_stack(
        [
            0.2 + 0.4 * np.abs(x[:, 0]),
            0.3 * np.exp(0.5 * x[:, 1]),
            np.where(x[:, 2] > 0, 0.8, 0.3),
        ]
    )
    inputs = {f"x{column}": values.tolist() for column, values in enumerate(x.T, start=1)}
    return Rows(inputs, means, means + deviations * generator.standard_normal((n, 3)))


N_TOPICS, WORDS_OF_TOPIC, COMMON_WORDS = 4, 25, 40
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")


def draw_texts(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of a text and two numbers, with Laplace noise.

    A text mixes four topics, with shares w from a Dirichlet distribution of 0.5 each: of its 20 to
    60 words each is a common one with the probability 0.4, else one of a topic drawn by w. The
    three outputs are linear in w and the first number and wave with the second one.
    """
    words = [f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
    shares = generator.dirichlet(np.full(N_TOPICS, 0.5), n)
    dose, day = generator.uniform(0.0, 10.0, n), generator.uniform(0.0, 24.0, n)
    texts = []
    for row in range(n):
        length = generator.integers(20, 61)
        topics = generator.choice(N_TOPICS, length, p=shares[row])
        is_common = generator.random(length) < 0.4
        numbers = np.where(
            is_common,
            generator.integers(0, COMMON_WORDS, length),
            COMMON_WORDS + WORDS_OF_TOPIC * topics + generator.integers(0, WORDS_OF_TOPIC, length),
        )
        texts.append(" ".join(words[number] for number in numbers))
    # The coefficients belong to the law, so they are the same in every table.
    of_topics = np.array([[2.0, -1.0, 0.0], [0.0, 2.0, -2.0], [-2.0, 0.0, 1.0], [1.0, 1.0, 3.0]])
    waves = np.column_stack([np.sin(day * math.pi / 12.0), np.zeros(n), np.cos(day * math.pi / 12)])
    means = shares @ of_topics + 0.15 * dose[:, None] * np.array([1.0, -1.0, 0.0]) + waves
    inputs = {"notes": texts, "dose": dose.tolist(), "day": day.tolist()}
    return Rows(inputs, means, means + generator.laplace(scale=0.5, size=(n, 3)))


CORES = (
    "c1cc([*:1])ccc1[*:2]",
    "c1cc([*:1])cc([*:2])c1",
    "c1cc([*:1])ncc1[*:2]",
    "C1CC([*:1])CCN1[*:2]",
    "C1CN([*:1])CCN1[*:2]",
    "c1c([*:1])sc([*:2])c1",
    "c1ccc2c(c1)c([*:1])cn2[*:2]",
    "C1CCC([*:1])C1[*:2]",
    "c1nc([*:1])oc1[*:2]",
    "c1ccc2nc([*:1])cc([*:2])c2c1",
)
LINKERS = (
    "[*:2]CC[*:3]",
    "[*:2]C(=O)N[*:3]",
    "[*:2]S(=O)(=O)C[*:3]",
    "[*:2]COC[*:3]",
    "[*:2]CC(C)C[*:3]",
    "[*:2]C(=O)OC[*:3]",
)
ENDS = (
    "C",
    "CC",
    "C(C)C",
    "C(C)(C)C",
    "CCCC",
    "C1CC1",
    "C1CCCCC1",
    "c1ccccc1",
    "c1ccncc1",
    "c1ccco1",
    "Cc1ccccc1",
    "CO",
    "CCO",
    "CN(C)C",
    "CCN",
    "CC#N",
    "CC(=O)O",
    "CC(N)=O",
    "CCCl",
    "CC(F)(F)F",
    "c1ccc(F)cc1",
    "c1ccc(Cl)cc1",
    "c1ccc(OC)cc1",
    "c1ccc(C#N)cc1",
)
"""Groups that close a molecule; their first atom binds."""


def draw_molecules(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of a structure, as SMILES, with two kinds of noise.

    A molecule is an end, a core, a linker and an end, drawn evenly. The means are its octanol-water
    partition coefficient by Crippen, its polar surface and its molar refractivity, in units of
    1.5, 25 and 20; the noise of the first two is normal with the standard deviations 0.3 and 0.5,
    that of the third uniform between -1 and 1.
    """
    from rdkit import Chem
    from rdkit.Chem import Crippen, rdMolDescriptors

    names, means = [], np.empty((n, 3))
    for row in range(n):
        first, last = generator.integers(0, len(ENDS), 2)
        core, linker = generator.integers(0, len(CORES)), generator.integers(0, len(LINKERS))
        parts = (f"[*:1]{ENDS[first]}", CORES[core], LINKERS[linker], f"[*:3]{ENDS[last]}")
        molecule = Chem.molzip(Chem.MolFromSmiles(".".join(parts)))
        Chem.SanitizeMol(molecule)
        names.append(Chem.MolToSmiles(molecule))
        means[row] = (
            Crippen.MolLogP(molecule) / 1.5,
            rdMolDescriptors.CalcTPSA(molecule) / 25.0,
            Crippen.MolMR(molecule) / 20.0,
        )
    noise = np.column_stack(
        [generator.standard_normal((n, 2)) * (0.3, 0.5), generator.uniform(-1.0, 1.0, n)]
    )
    return Rows({"smiles": names}, means, means + noise)


LAWS = {
    "numbers": Law("numbers, with noise that varies", draw_numbers, 200, 10),
    "texts": Law("a text and two numbers, Laplace noise", draw_texts, 150, 10),
    "molecules": Law("structures of molecules", draw_molecules, 150, 10, "rdkit"),
}


# --- the way of a user's table -------------------------------------------------------------------


@dataclass(frozen=True)
class OwnTable:
    """An experiment on a user's table, all its artifacts in a folder.

    The stages of the workflow are called with the arguments that the rules give them.
    """

    folder: Path
    name: str
    settings: Any

    @classmethod
    def new(
        cls,
        folder: Path,
        name: str,
        columns: Mapping[str, Sequence],
        outputs: Sequence[str],
        n_splits: int,
        seed: int,
        config: Path = ROOT / "config",
    ) -> OwnTable:
        """Write a table, look at it and write its configuration, with `METHODS` as methods.

        Parameters
        ----------
        folder : path
        name : str
        columns : mapping of str to sequence
        outputs : sequence of str
        n_splits, seed : int
        config : path
            The folder with ``methods/`` and ``models/``.
        """
        from workflow_lib.config.loading import load_configuration
        from workflow_lib.datasets.proposal_text import dataset_text, experiment_text
        from workflow_lib.datasets.table_file import read_table
        from workflow_lib.datasets.table_proposal import propose

        for kind in ("methods", "models"):
            shutil.copytree(config / kind, folder / "config" / kind)
        table = folder / f"{name}.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        request = {"name": name, "data": str(table), "outputs": list(outputs)}
        proposal = propose(request, read_table(str(table)), folder / "config")
        summaries = dict(proposal.methods)
        proposal.methods = [(method, summaries[method]) for method in METHODS]
        proposal.training_sizes = proposal.training_sizes[-1:]
        proposal.n_splits = n_splits
        texts = {"datasets": dataset_text, "experiments": experiment_text}
        for kind, text in texts.items():
            (folder / "config" / kind).mkdir()
            (folder / "config" / kind / f"{name}.yaml").write_text(text(proposal), encoding="utf-8")
        settings = load_configuration(folder / "config", {"name": name, "seed": seed})
        return cls(folder, name, settings)

    def answer(self) -> None:
        """Run all stages up to the saved model."""
        from workflow_lib.experiments import calibration_stage, evaluation, saved_model_stage
        from workflow_lib.report import leaderboard

        self._read()
        splits = [str(split) for split in self.settings.splits_of(self.name)]
        methods = self.settings.methods_of(self.name)
        for split in splits:
            self._prepare(split)
            for method in methods:
                self._predict(split, method)
        predictions = {
            method: [self._file(split, f"{method}-predictions") for split in splits]
            for method in methods
        }
        partitions = [self._file(split, "split") for split in splits]
        scores = self.folder / "scores.csv"
        evaluation.run_scores(
            dataset=self._dataset,
            splits=partitions,
            predictions=predictions,
            output=scores,
            coordinates=self.folder / "coordinates.csv",
            experiment=self.name,
            dataset_name=self.name,
        )
        experiment = self.settings.experiments[self.name]
        leaderboard.run(
            scores=scores,
            timings=[],
            methods={method: self._compared(method) for method in methods},
            experiment_settings={
                "title": self.name,
                "metric": experiment.metric,
                "split": experiment.split,
            },
            n_folds=self.settings.run.n_folds,
            output=self._answer,
            output_with_seconds=self.folder / "answer-with-seconds.json",
        )
        calibration_stage.run(
            answer=self._answer,
            dataset=self._dataset,
            splits=partitions,
            features=[self._file(split, "features") for split in splits],
            predictions=predictions,
            output=self.folder / "calibration.h5",
            level=self.settings.run.interval_level,
            seed=derive_seed(self.settings.run.seed, "calibration", self.name),
        )
        winner = self.told()["winner"]
        self._prepare(FINAL)
        self._predict(FINAL, winner)
        dataset = self.settings.datasets[self.name]
        saved_model_stage.run(
            answer=self._answer,
            dataset=self._dataset,
            split=self._file(FINAL, "split"),
            features=self._file(FINAL, "features"),
            calibration=self.folder / "calibration.h5",
            methods={winner: self._saved_parts(winner)},
            output=self.folder / "model.h5",
            title=dataset.title,
            options=dict(dataset.options),
        )

    def told(self) -> dict[str, Any]:
        """Return the answer."""
        return json.loads(self._answer.read_text(encoding="utf-8"))

    def measured_coverage(self) -> np.ndarray:
        """Return the coverage (d,) that the product tells its user: the mean over splits.

        NaN where the test rows of all splits are too few to measure any.
        """
        from workflow_lib.artifacts import read_artifact

        measured = read_artifact(self.folder / "calibration.h5", "calibration")["coverage"]
        known = (~np.isnan(measured)).sum(axis=0)
        return np.where(known > 0, np.nansum(measured, axis=0) / np.maximum(known, 1), np.nan)

    def predict(self, columns: Mapping[str, Sequence]) -> Any:
        """Return what the saved model says of new rows."""
        from workflow_lib.experiments.saved_model import load_model

        return load_model(self.folder / "model.h5").predict(columns)

    @property
    def _dataset(self) -> Path:
        return self.folder / "dataset.h5"

    @property
    def _answer(self) -> Path:
        return self.folder / "answer.json"

    def _file(self, split: str, name: str) -> Path:
        return self.folder / f"split-{split}" / f"{name}.h5"

    def _seed(self, axis: str, split: str, *more: str) -> int:
        return derive_seed(self.settings.run.seed, axis, self.name, split, *more)

    def _read(self) -> None:
        from workflow_lib.artifacts import write_artifact
        from workflow_lib.datasets.reading import read_dataset

        dataset = self.settings.datasets[self.name]
        seed = derive_seed(self.settings.run.seed, "dataset", self.name)
        tree = read_dataset(dataset.reader, dataset.options, [], seed)
        allowed = ("inputs", "outputs", "past/values")
        write_artifact(self._dataset, tree, "dataset", seed=seed, allow_nan=allowed)

    def _prepare(self, split: str) -> None:
        """Split the rows and learn the preparation of the inputs."""
        from workflow_lib.experiments import features_stage, splitting

        experiment = self.settings.experiments[self.name]
        self._file(split, "split").parent.mkdir()
        splitting.run(
            dataset=self._dataset,
            output=self._file(split, "split"),
            training_sizes=list(experiment.training_sizes),
            weak_sizes=list(experiment.weak_sizes),
            test_size=experiment.test_size,
            n_folds=self.settings.run.n_folds,
            seed=self._seed("split", split),
            experiment=self.name,
            kind="all" if split == FINAL else experiment.split,
        )
        features_stage.run(
            dataset=self._dataset,
            split=self._file(split, "split"),
            output=self._file(split, "features"),
            scale=self.settings.datasets[self.name].inputs.scale,
            kernel=experiment.kernel,
            past=experiment.past,
        )

    def _predict(self, split: str, method: str) -> None:
        """Learn a method on a split and predict its test rows."""
        from workflow_lib.experiments import mean_stage, output_predictions, preimages

        settings = self.settings.methods[method]
        regression = self._file(split, f"{method}-regression")
        predictions = self._file(split, f"{method}-predictions")
        seconds = self._file(split, method).with_suffix(".json")
        source = (self._dataset, self._file(split, "split"))
        if settings.regressor == "training_mean":
            metric = self.settings.experiments[self.name].metric
            mean_stage.run(*source, regression, seconds, metric)
            output_predictions.run(regression, predictions, seconds)
            return
        self._embed(split, method)
        self._regress(split, method, seconds)
        preimages.run(
            regression=regression,
            models=self._models(split, method),
            output=predictions,
            timings=seconds,
            form=settings.form,
            covariance_block=settings.covariance_block or "constrained",
            preimage=settings.preimage,
            start=settings.start,
        )

    def _models(self, split: str, method: str) -> Path | None:
        return self._file(split, "models") if self.settings.methods[method].model else None

    def _embed(self, split: str, method: str) -> None:
        from workflow_lib.experiments import embedding, generative_models

        settings, model = self.settings.methods[method], self.settings.model_of(method)
        if model is None:
            return
        source = (self._dataset, self._file(split, "split"), self._file(split, "models"))
        generative_models.run(
            *source,
            kind=model.kind,
            covariance_type=model.covariance_type,
            variance_floor=model.variance_floor,
            n_init=model.n_init,
            component_counts=list(self.settings.component_counts(self.name, settings.model)),
            output_scale=self.settings.datasets[self.name].outputs.scale,
            seed=self._seed("training", split, settings.model),
        )
        block = settings.covariance_block or "constrained"
        embedding.run(*source, self._file(split, "embeddings"), settings.form, block)

    def _regress(self, split: str, method: str, seconds: Path) -> None:
        from workflow_lib.experiments import kernel_ridge_stage

        settings, run = self.settings.methods[method], self.settings.run
        models, landmarks = self._models(split, method), self.settings.landmarks_of(self.name)
        kernel_ridge_stage.run(
            dataset=self._dataset,
            split=self._file(split, "split"),
            features=self._file(split, "features"),
            embeddings=models and self._file(split, "embeddings"),
            models=models,
            weak_labels=None,
            output=self._file(split, f"{method}-regression"),
            timings=seconds,
            components=self.settings.components_of(self.name, method)[0],
            component_counts=list(self.settings.component_candidates(method, "selected")),
            combine=settings.combine,
            kernel=self.settings.experiments[self.name].kernel,
            widths=list(settings.grid.width),
            penalties=list(settings.grid.penalty),
            penalty=settings.penalty,
            weak=settings.weak,
            weak_weights=list(settings.grid.weak_weight),
            weak_outputs=settings.weak_outputs,
            projections=self.settings.projections_of(self.name, method),
            studies=self.settings.studies_of(self.name, method),
            center=settings.center,
            metric=self.settings.selection_metric_of(self.name),
            one_example=self.settings.one_example_of(method),
            landmarks=landmarks and {**landmarks, "seed": self._seed("landmarks", split)},
            precision=run.selection_precision,
        )

    def _compared(self, method: str) -> dict[str, Any]:
        """Return what the leaderboard must know of a method."""
        keys = ("label", "regressor", "penalty", "center", "form", "preimage", "weak")
        settings, model = self.settings.methods[method], self.settings.model_of(method)
        return {key: getattr(settings, key) for key in (*keys, "weak_outputs")} | {
            "model": model and {"kind": model.kind, "covariance_type": model.covariance_type},
            "grid": {"projection": list(settings.grid.projection)},
        }

    def _saved_parts(self, method: str) -> dict[str, Any]:
        """Return what a saved model must know of a method."""
        settings = self.settings.methods[method]
        keys = ("regressor", "form", "covariance_block", "preimage", "start", "center", "decoder")
        return {key: getattr(settings, key) for key in keys} | {
            "members": [],
            "seed": self._seed("training", FINAL, method),
            "kernel": self.settings.experiments[self.name].kernel,
            "regression": self._file(FINAL, f"{method}-regression"),
            "predictions": self._file(FINAL, f"{method}-predictions"),
            "models": self._models(FINAL, method) if settings.form else None,
        }


# --- measuring -----------------------------------------------------------------------------------


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every law whose packages are installed."""
    n_simulations = N_QUICK_SIMULATIONS if quick else N_SIMULATIONS
    return [
        Measurement("coverage", {"law": name, "n_simulations": n_simulations})
        for name, law in LAWS.items()
        if is_installed(law.package)
    ]


def coverage(law: str, n_simulations: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of one law: all outputs of all simulated tables.

    Parameters
    ----------
    law : str
        Of `LAWS`.
    n_simulations : int
    seed : int, default=0
    """
    rows = []
    for simulation in range(n_simulations):
        with tempfile.TemporaryDirectory() as folder:
            found = simulated(
                LAWS[law], Path(folder), derive_seed(seed, "interval coverage", law, simulation)
            )
        rows += [{"law": law, "simulation": simulation + 1} | each for each in found]
    return rows


def simulated(
    law: Law, folder: Path, seed: int, config: Path = ROOT / "config"
) -> list[dict[str, Any]]:
    """Return the rows of one simulated table, without the name of the law.

    Parameters
    ----------
    law : Law
    folder : path
        Where the table and all artifacts go.
    seed : int
    config : path, default=config/ of the checkout
        The folder with ``methods/`` and ``models/``.
    """
    generator = np.random.default_rng(seed)
    known, fresh = law.draw(law.n_rows, generator), law.draw(N_FRESH, generator)
    names = [f"y{output}" for output in range(1, known.outputs.shape[1] + 1)]
    columns = known.inputs | dict(zip(names, known.outputs.T.tolist()))
    table = OwnTable.new(folder, "simulated", columns, names, law.n_splits, seed, config)
    table.answer()
    predicted = table.predict(fresh.inputs)
    held = (predicted.lower <= fresh.outputs) & (fresh.outputs <= predicted.upper)
    half_widths = (predicted.upper - predicted.lower)[0] / 2.0
    ideal = np.quantile(np.abs(fresh.outputs - fresh.means), predicted.level, axis=0)
    measured = table.measured_coverage()
    return [
        {
            "output": name,
            "winner": table.told()["winner"],
            "level": float(predicted.level),
            "coverage": float(held[:, output].mean()),
            "half_width_over_ideal": float(half_widths[output] / ideal[output]),
            "measured_by_product": float(measured[output]),
        }
        for output, name in enumerate(names)
    ]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a law from those of its simulated tables.

    The coverage of a table is the mean over its outputs. ``deviation`` is the standard deviation
    over tables, ``share_in_band`` the share of tables, and ``share_of_outputs_in_band`` that of
    single outputs, with a coverage in `BAND`.
    """
    by_table: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(row["simulation"], []).append(row)
    tables = np.array([np.mean([row["coverage"] for row in each]) for each in by_table.values()])
    winners = [each[0]["winner"] for each in by_table.values()]
    law = LAWS[rows[0]["law"]]
    return {
        "law": rows[0]["law"],
        "rows": law.n_rows,
        "splits": law.n_splits,
        "simulations": len(tables),
        "outputs": len(rows) // len(tables),
        "level": rows[0]["level"],
        "coverage": float(tables.mean()),
        "deviation": float(tables.std(ddof=1)) if len(tables) > 1 else math.nan,
        "share_in_band": float(_is_in_band(tables).mean()),
        "share_of_outputs_in_band": float(
            _is_in_band(np.array([row["coverage"] for row in rows])).mean()
        ),
        "met": "yes" if _is_in_band(tables.mean()) else "no",
        "half_width_over_ideal": float(np.mean([row["half_width_over_ideal"] for row in rows])),
        "measured_by_product": float(np.mean([row["measured_by_product"] for row in rows])),
        "winners": ", ".join(
            f"{winners.count(name)} {name}" for name in METHODS if name in winners
        ),
    }


def _is_in_band(values: np.ndarray) -> np.ndarray:
    return (values >= BAND[0]) & (values <= BAND[1])


def run(quick: bool, folder: Path) -> list[str]:
    """Measure all laws, each in a process of its own, and write both tables.

    Parameters
    ----------
    quick : bool
        Only a few simulated tables.
    folder : path
        Where the tables go; they are written anew after every law.

    Returns
    -------
    list of str
        The measurements that failed, and the laws whose mean coverage is outside of `BAND`; what
        went wrong in a process stands on the error stream.
    """
    for name, law in LAWS.items():
        if not is_installed(law.package):
            print(f"interval_coverage: {name} left out, {law.package} is not installed")
    everything, failed = [], []
    for measurement in measurements(quick):
        place = f"interval_coverage {measurement}"
        print(f"{place} ...", flush=True)
        rows = in_own_process("interval_coverage", measurement)
        if rows is None:
            failed.append(place)
            print(f"{place}: failed", flush=True)
            continue
        everything.append(rows)
        laws = [summary(each) for each in everything]
        _write(folder / "interval_coverage.csv", COLUMNS, sum(everything, []))
        _write(folder / f"{BY_LAW}.csv", LAW_COLUMNS, laws)
        print(in_words(laws[-1]), flush=True)
        # A few tables say too little of the mean.
        if laws[-1]["met"] == "no" and not quick:
            failed.append(f"{place}: mean coverage {laws[-1]['coverage']:.1%}")
    return failed


def in_words(law: Mapping[str, Any]) -> str:
    """Return the line that is printed of a law."""
    return (
        f"{law['law']}: {law['coverage']:.1%} of fresh outputs in intervals of {law['level']:.0%} "
        f"(deviation over {law['simulations']} tables {law['deviation']:.1%}; "
        f"{law['share_in_band']:.0%} of the tables between {BAND[0]:.0%} and {BAND[1]:.0%}; the "
        f"product told {law['measured_by_product']:.1%}; half widths "
        f"{law['half_width_over_ideal']:.2f} times the ideal; winners: {law['winners']})"
    )


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    from workflow_lib.report.files import write_text

    content = io.StringIO()
    writer = csv.DictWriter(content, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _shown(value) for key, value in row.items()})
    write_text(path, content.getvalue())


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
