"""A saved model: one file that predicts the outputs of new rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.data.bags_of_rows import all_bags
from workflow_lib.data.table_encoding import EncodedRows, TableEncoding
from workflow_lib.inputs.encoded_columns import EncodedColumns
from workflow_lib.methods.contract.saved_method import SavedMethod
from workflow_lib.models.class_decoding import nearest_scores
from workflow_lib.solvers.stored.estimator import trusting
from workflow_lib.table.input_groups import LIMIT
from workflow_lib.table.saved_inputs import SavedInputs
from workflow_lib.tabular.delimited_text import DELIMITERS
from workflow_lib.tabular.table_file import MISSING_VALUES, Table, read_table
from workflow_lib.tabular.tables import listed
from workflow_lib.uncertainty.class_sets import ClassSets
from workflow_lib.uncertainty.joint_regions import JointRegions, RegionsOfRows
from workflow_lib.uncertainty.novelty import NoveltyScale
from workflow_lib.uncertainty.row_intervals import RowIntervals

if TYPE_CHECKING:
    import pandas

SEPARATOR = "|"
"""Separates the classes of a set."""

OF_THE_INTERVAL, OF_THE_ROW = " (of the interval)", " (of the row)"
"""Appended to the name of a column, of an end of an interval and of any other, as often as an
earlier column has that name."""

# Kernel values of one block of new rows (128 MB).
BLOCK_NUMBERS = 2**24

# Of a Gram matrix of inner products, the column that holds x'x.
SQUARED_LENGTH = "squared_length"

# Decoder of methods that predict scores of the classes.
SCORES = "scores"

# Most missing columns for which a similar name is searched.
MAX_GUESSES = 5


@dataclass(frozen=True)
class Predictions:
    """The predictions of a saved model for new rows.

    Attributes
    ----------
    output_names : list of d str
        Names of the columns of `outputs`.
    outputs : array (m, d)
        Predicted outputs; where classes are predicted, the vector of the class of each row, or
        scores of the classes (`class_scores`), named as the classes.
    lower, upper : array (m, d)
        Ends of the calibrated intervals, clipped to the ranges of the outputs where the dataset
        gives them, as predictions are; -inf and inf where none could be calibrated.
    level : float or None
        Share of new rows whose interval, or set of classes, should hold the true output, 0.9 for
        example; None without these.
    novelty : array (m,)
        Distance to the nearest training row, in units of a typical distance among the training
        rows (`workflow_lib.uncertainty.novelty`).
    is_novel : bool array (m,)
        Whether the novelty exceeds the limit, or all inputs of the row are missing and replaced by
        the training means: predictions are then unreliable.
    notes : list of m str
        Missing and unknown values of the row; empty for most rows.
    classes : list of m str, or None
        Names of the predicted classes.
    class_scores : array (m, K) or None
        Higher is nearer; not probabilities.
    class_probabilities : array (m, K) or None
        Calibrated on test rows; None where the scores of the classes were not.
    class_sets : list of m lists of str, or None
        Names of the classes of each set, the most probable first; None without sets.
    method : str
        Label of the method that predicts, as in the report.
    joint : RegionsOfRows or None
        Regions that hold all outputs of a row with the level, where they were asked for.
    """

    output_names: list[str]
    outputs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float | None
    novelty: np.ndarray
    is_novel: np.ndarray
    notes: list[str]
    classes: list[str] | None = None
    class_scores: np.ndarray | None = None
    class_probabilities: np.ndarray | None = None
    class_sets: list[list[str]] | None = None
    method: str = ""
    joint: RegionsOfRows | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table of the predictions, each with m values, by their names.

        Each output, with ``NAME lower`` and ``NAME upper`` if intervals are calibrated, and
        ``NAME joint lower`` and ``NAME joint upper``, the sides of the box, with `joint`; or
        ``class``, with its ``probability`` and the ``set`` if sets of classes are calibrated,
        classes joined by ``|``, the most probable first; then ``novelty``, ``unlike_training``,
        ``note`` and ``method``. Outputs keep their names; any other column whose name is taken has
        an addition (`OF_THE_INTERVAL`, `OF_THE_ROW`).
        """
        outputs: dict[str, Any] = {} if self.classes is None else {"class": self.classes}
        if self.class_probabilities is not None:
            outputs["probability"] = self.class_probabilities.max(axis=1)
        if self.class_sets is not None:
            outputs["set"] = [SEPARATOR.join(names) for names in self.class_sets]
        names = self.output_names if self.classes is None else []
        taken = {*outputs, *names}
        for position, name in enumerate(names):
            outputs[name] = self.outputs[:, position]
            if self.level is not None:
                ends = {"lower": self.lower, "upper": self.upper}
                if self.joint is not None:
                    ends |= {"joint lower": self.joint.lower, "joint upper": self.joint.upper}
                ends = {f"{name} {end}": values[:, position] for end, values in ends.items()}
                ends = with_distinct_names(ends, taken, OF_THE_INTERVAL)
                outputs |= ends
                taken |= set(ends)
        of_rows = {
            "novelty": self.novelty,
            "unlike_training": self.is_novel,
            "note": self.notes,
            "method": [self.method] * len(self.notes),
        }
        return outputs | with_distinct_names(of_rows, taken)

    def to_frame(self) -> pandas.DataFrame:
        """Return the predictions as a frame of pandas, one line per row, with the `columns`.

        Ends of intervals are -inf and inf for an output for which there were too few rows.
        """
        import pandas

        return pandas.DataFrame(self.columns())


def with_codes(encoded: EncodedRows, encoders: EncodedColumns | None) -> EncodedRows:
    """Return encoded rows whose inputs are followed by the codes of their `texts`."""
    if encoders is None:
        return encoded
    inputs = np.hstack([encoded.inputs, encoders.apply(encoded.texts)])
    return replace(encoded, inputs=inputs, names=[*encoded.names, *encoders.names])


def with_distinct_names(
    columns: Mapping[str, Any], taken: Collection[str], addition: str = OF_THE_ROW
) -> dict[str, Any]:
    """Return columns under names that are not `taken`, with as many additions as that needs."""
    named: dict[str, Any] = {}
    for name, values in columns.items():
        while name in taken or name in named:
            name += addition
        named[name] = values
    return named


class SavedModel:
    """A fitted method with everything needed to predict new rows.

    Made by `load_model`. The attributes describe the fitted method and its accuracy.

    Parameters
    ----------
    tree : mapping
        Tree of a "predictor" artifact, as `workflow_lib.table.saved_model_stage` makes it.
    location : str
        The file, for messages.

    Attributes
    ----------
    title, method, label : str
        Title of the dataset; name and label of the fitted method.
    training_size : int
        Number of labelled training rows.
    row_counts : dict
        Number of rows of each kind that the method learned from: ``labelled``, ``weak`` and
        ``unpaired`` (outputs without inputs).
    metric : str
    score : float or None
        Mean of the metric over the test rows of the numbered splits.
    output_names : list of str
    level : float or None
        Level of the intervals, or of the sets of classes.
    coverage : float or None
        Share of the outputs, or of the classes, of test rows that intervals or sets from other rows
        hold; None where it was not measured.
    set_size : float or None
        Mean number of classes in these sets.
    joint_regions : JointRegions or None
        Regions for all outputs at once; None for classes, one output, and models without intervals.
    joint_coverage : float or None
        Share of test rows of which a box from other rows holds all outputs; None where it was not
        measured.
    half_widths : array (d,)
        Half the width of the interval of each output, the mean over test rows before clipping to
        the range of the output; infinite without intervals.
    ranges : OutputRanges
        The values that each output can take, within which predictions and intervals lie.
    warning : str or None
        The headline of the answer if no method beats the training mean.
    novelty_scale : NoveltyScale
    row_word : str
        What is predicted: ``row``, or ``bag`` of rows.
    row_name : str or None
        Column that names the rows, where the table of the training rows had one.
    versions : dict
        Of the software that made the file.
    dataset_digest : str
        Digest of the dataset that it was fitted to.
    """

    def __init__(self, tree: Mapping, location: str) -> None:
        self._location = location
        self.title, self.method, self.label = tree["title"], tree["method"], tree["label"]
        self.training_size = int(tree["training_size"])
        # Models of earlier versions hold no counts.
        counts = tree.get("row_counts", {"labelled": self.training_size})
        self.row_counts = {name: int(count) for name, count in counts.items()}
        self.metric, self.score = tree["metric"], tree.get("score")
        self.output_names: list[str] = json.loads(tree["names"]["outputs"])
        self.level, self.half_widths = tree.get("level"), tree["half_widths"]
        self.coverage, self.set_size = tree.get("coverage"), tree.get("set_size")
        self._intervals = (
            RowIntervals.from_tree(tree["intervals"])
            if "intervals" in tree
            else RowIntervals.constant(self.half_widths, self.level)
        )
        self.ranges = self._intervals.ranges
        joint = tree.get("joint")
        self.joint_regions = joint and JointRegions.from_tree(joint, self._intervals)
        self.joint_coverage = joint and joint.get("coverage")
        self._sets = ClassSets.from_tree(tree["sets"]) if "sets" in tree else None
        self.warning = tree.get("warning")
        self.novelty_scale = NoveltyScale(**tree["novelty"])
        self.versions: dict[str, str] = json.loads(tree["versions"])
        self.dataset_digest = tree["dataset_digest"]
        self._inputs = SavedInputs(tree["inputs"])
        self._method = SavedMethod(tree["regressor"])
        self._classes = tree.get("classes")
        self._importance = tree.get("importance")
        self._names = {name: json.loads(text) for name, text in tree["names"].items()}
        if self._classes is not None and self._classes["decoder"] == SCORES:
            self.output_names = self._names["classes"]
        encoding = tree.get("encoding")
        self._encoding = None if encoding is None else TableEncoding.from_tree(encoding)
        of_bags = tree.get("bag_columns")
        self._bag = None if of_bags is None else of_bags["bag"]
        self.row_word = "row" if of_bags is None else "bag"
        self._bag_numbers = [] if of_bags is None else json.loads(of_bags["numbers"])
        self._encoders = EncodedColumns.from_tree(tree["encoders"]) if "encoders" in tree else None
        reading = json.loads(tree["reading"])
        self.row_name: str | None = reading["row_name"]
        self._missing_values = tuple(reading["missing_values"] or MISSING_VALUES)
        # The usual delimiters are detected in the header, and new rows may have another.
        self._formats: dict[str, str] = reading.get("number_formats") or {}
        given = reading["delimiter"]
        self._delimiter = None if given in DELIMITERS else given
        self._sheet: str | None = reading.get("sheet")

    def __repr__(self) -> str:
        names = listed(self.output_names)
        return f"<SavedModel: {self.label} of {names}, {self.training_size} training rows>"

    @classmethod
    def load(cls, path: str | Path, trusted: Iterable[str] = ()) -> SavedModel:
        """Read a model; as `load_model`."""
        if not Path(path).is_file():
            raise UserError(
                location=str(path),
                found="there is no such file",
                expected="the path of a saved model, which usually ends with model.h5",
                remedy="fix the path, or make a model with compare(...).save(PATH)",
            )
        tree = read_artifact(path, "predictor")
        with trusting(trusted), _named(str(path), "the file is no saved model"):
            return cls(tree, str(path))

    def predict(self, table: Any, joint: bool = False) -> Predictions:
        """Return the predictions for the rows of a table.

        Parameters
        ----------
        table : Table, path, mapping from column names to values, DataFrame or array (m, q)
            With the input columns of the table that the model was made from, in any order; those
            of an array are in the order of that table. Other columns are ignored. Of bags, each
            gets one prediction, in the order of their first rows. For a model of a table of kernel
            values: one column for each row that the model was made from, in their order or by
            their names, with the value of the kernel between the new row and that row.
        joint : bool, default=False
            Whether to return regions for all outputs at once, too.

        Raises
        ------
        UserError
            If columns are missing, values cannot be read, or the model has no joint regions.
        """
        if joint and self.joint_regions is None:
            raise UserError(
                location=f"{self._location}, joint",
                found="classes"
                if self._classes is not None
                else "one output"
                if len(self.output_names) == 1
                else "a model without calibrated intervals",
                expected="a model of two outputs or more, with intervals",
                remedy="leave out joint, or make the model again with snakemake answer",
            )
        table = self.as_table(table)
        with _named(self._location, "the model cannot predict"):
            found = self.predict_inputs(self.encoded(table))
            if not joint:
                return found
            regions = RegionsOfRows.of(self.joint_regions, found.outputs, found.novelty)
            return replace(found, joint=regions)

    def explain(
        self, rows: Any, n_background: int = 50, correlation: float = LIMIT, seed: int = 0
    ) -> pandas.DataFrame:
        """Return the inputs that move the predictions of rows, as Shapley values.

        See `workflow_lib.table.shapley`. The contributions of all inputs to a prediction sum to
        this prediction minus the mean prediction of training rows.

        Parameters
        ----------
        rows : as for `predict`
            Of many rows, explain those of interest: with g inputs each takes 2 g `n_background`
            predictions.
        n_background : int, default=50
            Training rows with which a row is compared; all where the method is linear, or adds up
            functions of single inputs.
        correlation : float, default=0.7
            Columns that correlate at least so strongly in the training rows move together
            (`workflow_lib.table.input_groups.correlated_groups`); above 1 every column alone.
        seed : int, default=0
            Of the training rows and the orders of the inputs that are drawn.

        Returns
        -------
        DataFrame
            ``row``, its number from 1; ``output``, or the class whose probability (or score, where
            it was not calibrated) is explained; ``input``, a column or a group, with its
            ``columns``; its ``value`` in the row, "" of groups; ``contribution``; ``prediction``
            and ``mean_prediction``. Of each row and output the largest contribution comes first.

        Raises
        ------
        UserError
            As `predict`, or if the inputs are no columns that can be exchanged.

        Examples
        --------
        >>> model = load_model("results/assay/model.h5")      # doctest: +SKIP
        >>> model.explain("new_rows.csv").groupby(["row", "output"]).head(3)  # doctest: +SKIP
        """
        if self.why_no_columns:
            raise UserError(
                location=self._location,
                found=f"predictions that cannot be explained: {self.why_no_columns}",
                expected="a model of a table with several input columns",
                remedy="predict without an explanation",
            )
        # Imported here, because only few models are explained.
        from workflow_lib.table.explanation import explanation_frame

        table = self.as_table(rows)
        with _named(self._location, "the model cannot explain"):
            return explanation_frame(self, table, n_background, correlation, seed)

    def explained_outputs(self, encoded: EncodedRows) -> np.ndarray:
        """Return what `explain` explains: outputs (m, d), or probabilities or scores (m, K)."""
        outputs = self.predicted_outputs(encoded)
        if self._classes is None:
            return outputs
        scores = self.class_scores(outputs)
        return scores if self._sets is None else self._sets.probabilities(scores)

    @property
    def explained_names(self) -> list[str]:
        """The names of the columns of `explained_outputs`."""
        return self.output_names if self._classes is None else self._names["classes"]

    def training_rows(self) -> EncodedRows:
        """Return the encoded inputs of the labelled training rows."""
        inputs, lagged = self._inputs.training_rows()
        return EncodedRows(inputs, [], lagged, [], [""] * self.training_size)

    def importance(self) -> pandas.DataFrame:
        """Return which inputs matter, as `workflow_lib.table.comparison.Answer.importance`.

        Raises
        ------
        UserError
            If the inputs are no columns, or the file was made by a version that did not measure it.
        """
        from workflow_lib.protocol.importance_table import importance_frame

        unknown = {"reason": "it was not measured when the model was made"}
        return importance_frame(self._importance or unknown, self._location)

    def as_table(self, table: Any) -> Table:
        """Return `table` of any kind that `predict` takes as a Table."""
        if isinstance(table, Table):
            return table.with_formats(self._formats)
        if isinstance(table, (str, Path)):
            # Rows without any value are kept, so that predictions match the rows of the file.
            read = read_table(
                table, self._missing_values, self._delimiter, keep_empty=True, sheet=self._sheet
            )
            return read.with_formats(self._formats)
        if isinstance(table, np.ndarray):
            columns = self._columns_of_array(table)
        else:
            columns = {str(name): table[name] for name in getattr(table, "columns", table)}
        given = Table.from_columns(columns, "the given table", self._missing_values)
        return given.with_formats(self._formats)

    def _columns_of_array(self, array: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of an array by name, which has one for each input column."""
        if self._inputs.kind in ("gram", "products"):
            names = [f"value {column}" for column in range(1, self._inputs.n_known + 1)]
        else:
            names = self._columns_needed(None)
        if array.ndim != 2 or array.shape[1] != len(names):
            raise UserError(
                location="the given array",
                found=f"the shape {array.shape}",
                expected=f"a row for each prediction, and {len(names)} columns: {listed(names)}",
                remedy="give these columns in this order, or a DataFrame with their names",
            )
        return dict(zip(names, array.T, strict=True))

    def columns_used(self, table: Table) -> list[str]:
        """Return the columns of a table that the model uses, in the order of the table.

        Raises UserError if columns that it needs are missing.
        """
        needed = dict.fromkeys(self._columns_needed(table))
        present = set(table.names)
        missing = [name for name in needed if name not in present]
        if missing:
            others = [name for name in table.names if name not in needed]
            # Searching for similar names of very many columns would take minutes.
            guesses = {name: nearest_name(name, others) for name in missing[:MAX_GUESSES]}
            guessed = [f"'{guess}' is '{name}'" for name, guess in guesses.items() if guess]
            raise UserError(
                location=f"{table.location}, columns",
                found=f"{len(missing)} of {len(needed)} inputs are missing: {listed(missing)}",
                expected="every input column of the table that the model was made from",
                remedy=(f"rename columns, if {listed(guessed)}" if guessed else "add the columns")
                + "; where a value is not known, leave its cell empty",
            )
        return [name for name in table.names if name in needed]

    def predicted_rows(self, table: Table) -> Table:
        """Return the table with the row of each prediction: of bags, the first of their rows."""
        if self._bag is None:
            return table
        return all_bags(table, self._bag, self._bag_numbers).table

    def encoded(self, table: Table) -> EncodedRows:
        """Return the rows of a table as inputs."""
        names = self.columns_used(table)
        if self._bag is not None:
            found = all_bags(table, self._bag, self._bag_numbers)
            inputs = found.table.matrix(found.pooled)
            return EncodedRows(inputs, found.pooled, None, [], found.notes, items=found.bags)
        is_kernel = self._inputs.kind in ("gram", "products")
        if self._encoding is not None and not is_kernel:
            return with_codes(self._encoding.encode(table), self._encoders)
        needed = self._columns_needed(table)
        values = table.matrix(needed)
        if is_kernel and np.isnan(values).any():
            row, column = np.argwhere(np.isnan(values))[0]
            raise UserError(
                location=table.where(int(row), needed[column]),
                found="no kernel value",
                expected=f"a number in each of the {len(names)} columns",
                remedy="fill the cell, or leave the row out",
            )
        return EncodedRows(values, list(needed), None, [], [""] * table.n_rows)

    def _columns_needed(self, table: Table | None) -> list[str]:
        """Return the input columns, in the order of the table that the model was made from.

        Those of kernel values follow from the `table`, which no other model needs.
        """
        if self._inputs.kind in ("gram", "products"):
            return self._kernel_columns(table)
        if self._bag is not None:
            return [self._bag, *self._bag_numbers]
        if self._encoding is not None:
            return list(self._encoding.columns)
        if "inputs" not in self._names:
            raise UserError(
                location=self._location,
                found="the inputs of this model do not come from the columns of a table",
                expected="a model of a dataset that was read from a table",
                remedy="make the model from a dataset with the reader 'table'",
            )
        return self._names["inputs"]

    def _kernel_columns(self, table: Table) -> list[str]:
        """Return the columns of kernel values, in the order of the rows of the dataset."""
        named = self._names.get("known_rows", [])
        last = [SQUARED_LENGTH] if self._inputs.kind == "products" else []
        n_columns = self._inputs.n_known
        if set(named) & set(table.names):
            return [*named, *last]
        # Columns with other names are taken in the order of the rows.
        others = [name for name in table.names if name not in (*last, self.row_name)]
        if len(others) != n_columns:
            raise UserError(
                location=f"{table.location}, columns",
                found=f"{len(others)} columns of kernel values",
                expected=f"{n_columns}: one for every row that the model was made from, in the "
                "order of that table, or with the names of its rows",
                remedy="give the kernel values with all of these rows, and with no others",
            )
        return [*others, *last]

    def predict_inputs(self, encoded: EncodedRows) -> Predictions:
        """Return the predictions for encoded rows.

        They have ``inputs`` (m, q), dense or sparse, NaN where missing; ``lagged_values`` (m, k) or
        None; the names of their columns; a note for each row; and ``items`` that are not in
        ``inputs``, such as bags.
        """
        blocks = [(self._method.predict(rows), rows.distances()) for rows in self._blocks(encoded)]
        outputs, distances = zip(*blocks)
        predicted = self._within(np.concatenate(outputs))
        novelty = self.novelty_scale.novelty(np.concatenate(distances))
        lower, upper = self._intervals.ends(predicted, novelty)
        return Predictions(
            self.output_names,
            predicted,
            lower,
            upper,
            self.level,
            novelty,
            (novelty > self.novelty_scale.limit) | self._is_blank(encoded),
            self._notes(encoded),
            *self._classes_of(predicted),
            self.label,
        )

    def predicted_outputs(self, encoded: EncodedRows) -> np.ndarray:
        """Return the outputs (m, d) of `predict_inputs` alone, which takes less time."""
        blocks = [self._method.predict(rows) for rows in self._blocks(encoded)]
        return self._within(np.concatenate(blocks))

    def _blocks(self, encoded: EncodedRows) -> Iterator[Any]:
        """Return the rows against the training rows, in blocks that fit into the memory."""
        n_rows = encoded.inputs.shape[0]
        step = max(BLOCK_NUMBERS // self._inputs.n_known, 256)
        for begin in range(0, n_rows, step):
            block = slice(begin, min(begin + step, n_rows))
            lagged_values = None if encoded.lagged_values is None else encoded.lagged_values[block]
            items = None if encoded.items is None else encoded.items[block]
            yield self._inputs.new_rows(encoded.inputs[block], lagged_values, items)

    def _within(self, outputs: np.ndarray) -> np.ndarray:
        return outputs if self._classes is not None else self.ranges.within(outputs)

    @property
    def why_no_columns(self) -> str:
        """Why inputs cannot be exchanged between rows column by column; "" where they can."""
        if self._inputs.kind in ("gram", "products"):
            return "its inputs are values of a kernel between rows"
        if self._bag is not None or self._encoding is None and "inputs" not in self._names:
            return "its inputs are no columns of numbers or names"
        if self._inputs.kind == "rows" and self._inputs.lagged_values != "none":
            return "its inputs contain earlier outputs"
        return "" if len(self.positions) > 1 else "the table has one input column"

    @property
    def positions(self) -> dict[str, tuple[list[int], list[int]]]:
        """The positions of each column in the inputs and the lagged values of encoded rows."""
        if self._encoding is None:
            return {name: ([index], []) for index, name in enumerate(self._names["inputs"])}
        widths = self._encoders.widths if self._encoders is not None else ()
        return self._encoding.positions(widths)

    @property
    def numbers(self) -> set[str]:
        """The input columns of numbers."""
        return set(self.positions if self._encoding is None else self._encoding.numbers)

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of the input columns that are categories, "" for missing values."""
        categories = {} if self._encoding is None else self._encoding.categories
        return {name: levels.all_texts for name, levels in categories.items()}

    def class_scores(self, outputs: np.ndarray) -> np.ndarray:
        """Return the scores (m, K) of the classes, given predicted outputs."""
        decoder = self._classes["decoder"]
        if decoder == SCORES:
            return outputs
        return nearest_scores(outputs, self._classes["vectors"], decoder)

    def _is_blank(self, encoded: EncodedRows) -> np.ndarray:
        """Return for each row whether it has no input: no number, no level, no word."""
        is_dense = isinstance(encoded.inputs, np.ndarray)
        is_blank = np.ones(encoded.inputs.shape[0], dtype=bool)
        for texts in encoded.texts.values():
            is_blank &= texts == ""
        if not is_dense:
            is_blank &= np.diff(encoded.inputs.tocsr().indptr) == 0
        values = encoded.inputs if is_dense else encoded.lagged_values
        if values is not None:
            n_learned = sum(self._encoders.widths) if encoded.texts else 0
            values = values[:, : values.shape[1] - n_learned]
            n_columns = values.shape[1]
            n_numbers = n_columns if self._encoding is None else len(self._encoding.numbers)
            n_indicators = 0 if self._encoding is None else len(self._encoding.missing_indicators)
            is_blank &= np.isnan(values[:, :n_numbers]).all(axis=1)
            is_blank &= (values[:, n_numbers + n_indicators :] == 0).all(axis=1)
        return is_blank

    def _notes(self, encoded: EncodedRows) -> list[str]:
        """Return the notes of the rows, with the missing inputs, which training means replace."""
        notes = list(encoded.notes)
        parts = (
            []
            if self._inputs.lagged_values == "none"
            else [(encoded.lagged_values, encoded.lagged_names)]
        )
        if isinstance(encoded.inputs, np.ndarray):
            parts.insert(0, (encoded.inputs, encoded.names))
        missing: dict[int, list[str]] = {}
        for values, names in parts:
            for row, column in np.argwhere(np.isnan(values)):
                missing.setdefault(int(row), []).append(names[column])
        for row, names in missing.items():
            note = f"missing, replaced by the training mean: {listed(names, 5)}"
            notes[row] = f"{notes[row]}; {note}" if notes[row] else note
        return notes

    def _classes_of(self, outputs: np.ndarray) -> tuple:
        """Return ``classes``, ``class_scores``, ``class_probabilities`` and ``class_sets``."""
        if self._classes is None:
            return None, None, None, None
        scores, names = self.class_scores(outputs), self._names["classes"]
        classes = [names[index] for index in scores.argmax(axis=1)]
        if self._sets is None:
            return classes, scores, None, None
        sets = None
        if self._sets.has_sets:
            sets = [
                [names[index] for index in ranked if chosen[index]]
                for ranked, chosen in zip(
                    np.argsort(-scores, axis=1, kind="stable"), self._sets.members(scores)
                )
            ]
        return classes, scores, self._sets.probabilities(scores), sets


@contextmanager
def _named(path: str, fault: str) -> Iterator[None]:
    """Raise what a file that no run wrote leads to as an error that names the file."""
    try:
        yield
    except (UserError, MemoryError) as error:
        if isinstance(error, MemoryError) or not error.location.startswith("the saved model"):
            raise
        raise UserError(path, error.found, error.expected, error.remedy) from error
    except Exception as error:
        raise UserError(
            location=path,
            found=f"{fault} ({type(error).__name__}: {error})",
            expected="a model that this version of the workflow saved, unchanged",
            remedy="make it again with snakemake answer; do not use a model from a source that you "
            "do not trust",
        ) from error


def load_model(path: str | Path, trusted: Iterable[str] = ()) -> SavedModel:
    """Return the model in a file ``results/NAME/model.h5``.

    The file is data: objects are made of it only where their classes are in an exact list
    (`workflow_lib.solvers.stored.classes`), and no function is called that it names. A damaged
    or foreign file ends in one message, after bounded time.

    Parameters
    ----------
    path : str or path
    trusted : iterable of str, default=()
        Further classes that you allow the file to hold, with their modules, such as
        ``lightgbm.LGBMRegressor``: packages other than scikit-learn read their own bytes. The
        workflow allows those that the configuration names.

    Raises
    ------
    UserError
        If the file is missing, damaged, no saved model, made by another version, or holds objects
        of other classes.
    ImportError
        If a trusted class cannot be imported.

    Examples
    --------
    >>> model = load_model("results/assay/model.h5")      # doctest: +SKIP
    >>> model.predict("new_rows.csv").to_frame()          # doctest: +SKIP
    """
    return SavedModel.load(path, trusted)
