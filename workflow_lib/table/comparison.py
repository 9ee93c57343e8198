"""The comparison of methods on a table from Python, without files and without Snakemake."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_lib.core.errors import UserError
from workflow_lib.table.in_process import Progress, TableRun, run_table
from workflow_lib.table.table_request import COMMAND
from workflow_lib.table.terminal_summary import headline_lines

if TYPE_CHECKING:
    import pandas

    from workflow_lib.table.proposal import Proposal
    from workflow_lib.table.saved_model import SavedModel

FIGURES = ("methods", "outputs", "curve", "calibration", "importance", "effects")

DIGITS = 3
"""Decimals of the errors that are shown."""

FRAME = "table.csv"
"""The file of a DataFrame, beside the settings."""

SHIPPED = Path(__file__).parents[1] / "run" / "settings"
"""The settings that come with the library."""


def compare(
    table: pandas.DataFrame | str | Path,
    outputs: str | Sequence[str] | None = None,
    *,
    name: str = "table",
    seed: int = 1,
    n_jobs: int = -1,
    config: str | Path | None = None,
    progress: bool | None = None,
    **request: Any,
) -> Answer:
    """Compare methods on a table, choose the best, and fit it to all rows.

    The stages are those of ``snakemake answer``, and with the same name and seed every number is
    the same: inputs are prepared, hyper-parameters chosen by cross-validation and methods fitted
    on the training rows of each split alone; errors and intervals are those of the test rows.

    Rows without outputs and rows without inputs are used by the methods that can learn from them.
    After an interruption (Ctrl-C) the answer is that of the splits or of the methods that are
    finished; `notes` say which.

    Parameters
    ----------
    table : DataFrame or path
        A row for each example; the path of a table as text, Excel, Parquet or HDF5.
    outputs : str, sequence of str or None
        The columns to predict, by names or patterns such as ``y_*``; a text may hold several,
        separated by commas. None where ``classes`` names the column of classes instead.
    name : str, default="table"
        From which random draws are derived, besides `seed`.
    seed : int, default=1
    n_jobs : int, default=-1
        Processes, each of which handles a split; -1 for as many as there are processors.
    config : path or None, default=None
        The folder of settings with the files of methods and models, which may be your own; None
        for the one that comes with the library.
    progress : bool or None, default=None
        Whether a bar shows how much remains, and the errors of the quick methods before those of
        all; None for where the errors of Python go to a terminal.
    request : values by name
        Further keys of the request, as for ``snakemake new``: ``inputs``, ``exclude``, ``classes``,
        ``group``, ``time``, ``same_group``, ``text``, ``methods``, ``splits`` and so on
        (`workflow_lib.table.table_request.REQUEST_KEYS`).

    Returns
    -------
    Answer

    Raises
    ------
    UserError
        For everything in the request or the table that prevents a comparison; it says what was
        found and what to do.

    Examples
    --------
    >>> from workflow_lib import compare
    >>> answer = compare("soil.csv", outputs=["clay", "sand"])  # doctest: +SKIP
    >>> answer.predict("new_soil.csv")  # doctest: +SKIP
    """
    # Imported here, because they take longer to load than all else.
    from workflow_lib.run.loading import load_configuration

    folder = tempfile.TemporaryDirectory(prefix="comparison-")
    settings = settings_folder(Path(folder.name), config)
    requested = {"name": name, "data": _file_of(table, Path(folder.name)), **request}
    if outputs is not None:
        requested["outputs"] = outputs if isinstance(outputs, str) else list(outputs)
    proposal = proposed(requested, settings)
    configuration = load_configuration(settings, {"name": name, "seed": seed})
    run = TableRun(configuration, name, Path(folder.name))
    shown = sys.stderr.isatty() if progress is None else progress
    notes, begin = list(proposal.notes), time.monotonic()
    try:
        for step in run_table(run, n_jobs):
            if shown:
                _show_progress(step, time.monotonic() - begin)
    except KeyboardInterrupt:
        finished = run.finished()
        if finished is None:
            raise
        n_splits, n_methods = len(run.splits()), len(run.in_order())
        notes.append(
            f"The comparison was interrupted: it has {len(finished.splits())} of {n_splits} splits "
            f"and {len(finished.in_order())} of {n_methods} methods."
        )
        run = finished
        run.compare()
    return Answer(run, notes, folder)


class Answer:
    """What a comparison found: `compare` returns it.

    In a notebook it shows the headline, the figures and the leaderboard; as text the headline and
    the leaderboard.

    Attributes
    ----------
    headline : str
        The answer in a sentence or two, with the error to expect for new rows.
    leaderboard : DataFrame
        A row for each method, the best first: ``method``, ``label``, ``mean`` and ``deviation`` of
        its error over the splits, ``n_splits``.
    outputs : DataFrame
        A row for each output or class: the relative error, R^2 and the root mean squared error in
        the unit of the output, or the recall, precision and F1 of the class.
    notes : list of str
        What was noticed in the table, and how it was read.
    content : dict
        Everything that the answer states, as in ``answer.json``.
    model : SavedModel
        The winner, fitted to all rows.
    """

    def __init__(self, run: TableRun, notes: Sequence[str], folder: Any) -> None:
        self._run, self.notes, self._folder = run, list(notes), folder
        self.content: dict[str, Any] = run.answer()

    @property
    def headline(self) -> str:
        return self.content["sentences"][0]

    @property
    def leaderboard(self) -> pandas.DataFrame:
        import pandas

        columns = ["method", "label", "mean", "deviation", "n_splits"]
        return pandas.DataFrame(self.content["leaderboard"])[columns]

    @property
    def outputs(self) -> pandas.DataFrame:
        """The errors of the winner for each output or class, in the unit of the output as well.

        As of `workflow_lib.protocol.output_errors.output_errors`.
        """
        from workflow_lib.core.artifacts import read_artifact
        from workflow_lib.protocol.output_errors import output_errors
        from workflow_lib.report.calibration_splits import splits_of

        file = self._run.result("calibration.h5")
        return output_errors(splits_of(read_artifact(file, "calibration")), self._names)

    @cached_property
    def model(self) -> SavedModel:
        from workflow_lib.table.saved_model import load_model

        trusted = self._run.stages.saved_model(self._run.step())["trusted"]
        return load_model(self._model_file, trusted=trusted)

    def predict(self, rows: Any, joint: bool = False) -> pandas.DataFrame:
        """Return new rows with the predictions of the winner.

        Parameters
        ----------
        rows : DataFrame, mapping of columns, array or path
            With the input columns of the table; of an array, all of them in their order.
        joint : bool, default=False
            Whether the sides of boxes are added, which hold all outputs of a row at once.

        Returns
        -------
        DataFrame
            The columns given, then those of `workflow_lib.table.saved_model.Predictions.columns`:
            outputs, the ends of their intervals, how unlike the training rows a row is, and notes.
            A given column with the name of one of these has an addition, as ``y (of the row)``. Of
            bags, the first rows are given.
        """
        import pandas

        from workflow_lib.table.saved_model import with_distinct_names

        table = self.model.as_table(rows)
        predicted = self.model.predict(table, joint=joint).to_frame()
        first = self.model.predicted_rows(table)
        if hasattr(rows, "iloc"):
            given = rows.iloc[first.lines - 1]
        else:
            read = {True: first.numbers, False: first.strings}
            columns = {name: read[first.is_numeric(name)](name) for name in first.names}
            given = pandas.DataFrame(columns)
        given = given.set_axis(list(with_distinct_names(given, predicted.columns)), axis=1)
        return pandas.concat([given, predicted.set_axis(given.index)], axis=1)

    def importance(self) -> pandas.DataFrame:
        """Return which inputs matter to the winner, by permutation on the test rows of all splits.

        Returns
        -------
        DataFrame
            As of `workflow_lib.protocol.importance_table.importance_frame`: for each output and
            input the increase of the error, its deviation over splits, and the p value of its test
            against zero, the most important input first.

        Raises
        ------
        UserError
            If the inputs are no columns, such as kernel values, or there is only one.

        Examples
        --------
        >>> answer.importance().query("p_adjusted < 0.05")  # doctest: +SKIP
        """
        from workflow_lib.core.artifacts import read_artifact
        from workflow_lib.protocol.importance_table import importance_frame

        tree = read_artifact(self._run.result("importance.h5"), "importance")
        return importance_frame(tree, "the importance of inputs")

    def explain(self, rows: Any, **options: Any) -> pandas.DataFrame:
        """Return the inputs that move the predictions for new rows, as Shapley values.

        `rows` are as for `predict`; `options` and the DataFrame are those of
        `workflow_lib.table.saved_model.SavedModel.explain`.
        """
        return self.model.explain(rows, **options)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, which `workflow_lib.load_model` reads.

        It holds the training rows: give it only to those who may have them.
        """
        shutil.copyfile(self._model_file, path)

    def report(self, path: str | Path) -> None:
        """Write the answer with its figures as one HTML file, which needs no network.

        It has the leaderboard, the coverage of the intervals and the description of the table.
        """
        from workflow_lib.report.html_page import write_page

        *sections, _ = self._sections()
        write_page(path, f"Predicting {self._predicted}", {"": sections})

    def __repr__(self) -> str:
        shown = self.leaderboard[["label", "mean", "deviation"]]
        board = shown.to_string(index=False, float_format=f"{{:.{DIGITS}f}}".format)
        return "\n".join([*headline_lines(self.headline), "", board])

    def _repr_html_(self) -> str:
        from workflow_lib.report.figure_words import words_of
        from workflow_lib.report.render import data_address

        pictures = (
            f'<img alt="{escape(words_of(files["svg"]))}" style="max-width: 100%" '
            f'src="{data_address(files["svg"], "image/svg+xml")}">'
            for name, files in self._figures.items()
            if name in ("methods", "outputs")
        )
        shown = self.leaderboard.drop(columns="method").round(DIGITS)
        board = shown.to_html(index=False, border=0)
        return f"<p>{escape(self.headline)}</p>{''.join(pictures)}{board}"

    @property
    def _model_file(self) -> Path:
        file = self._run.result("model.h5")
        if not file.exists():
            # An interrupted comparison has no model yet.
            self._run.save()
        return file

    @cached_property
    def _names(self) -> list[str]:
        """The names of the outputs, or of the classes."""
        from workflow_lib.core.artifacts import read_artifact

        names = read_artifact(self._run.dataset_file, "dataset")["names"]
        return json.loads(names.get("classes", names["outputs"]))

    @property
    def _predicted(self) -> str:
        """What is predicted, as the title of the page says it."""
        classes = self._run.settings.dataset_of(self._run.name).options.get("classes")
        names = [classes] if classes else self.model.output_names
        return ", ".join(names) if len(names) <= 3 else f"{len(names)} outputs"

    def _sections(self) -> list:
        from workflow_lib.table.answer_part import answer_part

        return answer_part(
            self._run.file(f"results/timings/{self._run.name}-answer.json"),
            self._run.name,
            data_profile=self._run.result("data-profile.json"),
            calibration=self._run.result("calibration.h5"),
            output_names=self._names,
            figures=self._figures,
            importance=self._run.result("importance.h5"),
        )

    @cached_property
    def _figures(self) -> dict[str, dict[str, Path]]:
        """Return the files of the figures of the answer, by name and suffix."""
        from workflow_lib.report.run_figures import answer, effects, importance

        run = self._run
        files = {
            name: {
                suffix: run.file(f"results/figures/{run.name}-answer-{name}.{suffix}")
                for suffix in ("svg", "png", "csv")
            }
            for name in FIGURES
        }
        methods = run.settings.methods_of(run.name)
        answer.run(
            scores=run.result("scores.csv"),
            answer=run.result("answer.json"),
            calibration=run.result("calibration.h5"),
            dataset=run.dataset_file,
            methods=run.stages.method_fields(methods, "label", "color", "marker"),
            metric=run.settings.shown_metric_of(run.name),
            files=files,
        )
        importance.run(
            answer=run.result("answer.json"),
            importance=self._run.result("importance.h5"),
            files=files["importance"],
        )
        effects.run(importance=self._run.result("importance.h5"), files=files["effects"])
        return files


def proposed(request: Mapping[str, Any], settings: Path) -> Proposal:
    """Write the settings of a table to a folder, and return what they propose.

    Raises UserError as of `workflow_lib.table.new_table.write_settings`; faults of keys name the
    argument.
    """
    # Imported here, because they take longer to load than all else.
    from workflow_lib.table.new_table import write_settings

    try:
        return write_settings(request, settings)
    except UserError as error:
        location = error.location.replace(f"{COMMAND}, key ", "argument ")
        # Only a DataFrame was written beside the settings.
        location = location.replace(str(settings.parent / FRAME), "the DataFrame")
        raise UserError(location, error.found, error.expected, error.remedy) from error


def settings_folder(folder: Path, config: str | Path | None = None) -> Path:
    """Return a folder of settings with the methods of another one, and with room for a table.

    `config` is the other one; None for the one that comes with the library.
    """
    shared = Path(config or SHIPPED).resolve()
    if not (shared / "methods").is_dir():
        raise UserError(
            location=f"the folder of settings {shared}",
            found="it has no folder methods",
            expected="a folder such as config of this project",
            remedy="name it by config=PATH",
        )
    found = folder / "config"
    from workflow_lib.run.named_settings import TABLES

    own = ("datasets", "experiments", TABLES)
    for kind in own:
        (found / kind).mkdir(parents=True)
    for path in shared.iterdir():
        if path.is_dir() and path.name not in own:
            (found / path.name).symlink_to(path)
    return found


def _file_of(table: Any, folder: Path) -> str:
    """Return the path of a table, which is written to a folder unless it is a file already."""
    if isinstance(table, (str, Path)):
        return str(Path(table).resolve())
    if not hasattr(table, "to_csv"):
        raise UserError(
            location="compare, argument table",
            found=f"an object of type {type(table).__name__}",
            expected="a DataFrame, or the path of a table",
            remedy="pandas.DataFrame(...) makes one of arrays, lists and mappings",
        )
    path = folder / FRAME
    table.to_csv(path, index=False)
    return str(path)


def _show_progress(step: Progress, seconds: float) -> None:
    """Show a bar, the time that remains, and the errors of the methods that are done."""
    width = 20
    filled = int(width * step.done)
    remaining = seconds * (1 / step.done - 1)
    left = f"about {remaining:.0f} s left" if step.done < 1 else f"{seconds:.0f} s"
    best = [f"{label} {error:.3g}" for label, error in list(step.errors.items())[:3]]
    so_far = f"   so far: {', '.join(best)}" if best and step.done < 1 else ""
    line = f"[{'#' * filled}{'-' * (width - filled)}] {left}{so_far}"
    print(f"\r{line:<98}", end="\n" if step.done == 1 else "", file=sys.stderr, flush=True)
