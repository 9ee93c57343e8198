"""Codes of columns of names that folds learn: formulas, leaks, unusual columns, saved models."""

import csv
import sys

import numpy as np
import pandas
import pytest
from saved_model_samples import N_ROWS, Final, small_table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import TargetEncoder

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.readers.table import Options, read
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.inputs.encoded_columns import EncodedColumns, TrainingColumn, inner_folds
from workflow_lib.inputs.encoder_names import encoder_module, encoder_names
from workflow_lib.inputs.encoders import gamma_poisson
from workflow_lib.inputs.encoders.gamma_poisson import SCALE, SHAPE, activations, n_grams_of
from workflow_lib.inputs.encoders.target import MAX_CODES, Encoder, leading_outputs
from workflow_lib.protocol import features_stage

LEVELS = ("a", "b", "c", "d", "never in training")


def column(n_rows=60, n_outputs=1, seed=0, levels=LEVELS) -> TrainingColumn:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, len(levels) - 1, n_rows)
    outputs = codes[:, None] + generator.normal(size=(n_rows, n_outputs))
    return TrainingColumn(levels, codes, codes[:0], outputs, np.arange(n_rows) % 5)


def texts_of(fitted: TrainingColumn) -> np.ndarray:
    return np.array(fitted.levels, dtype=object)[fitted.codes]


# The formula


def test_codes_are_those_of_scikit_learn_for_one_output():
    data = column()
    texts, y = texts_of(data), data.outputs[:, 0]
    theirs = TargetEncoder(smooth="auto", target_type="continuous").fit(texts[:, None], y)
    new = np.array(LEVELS, dtype=object)
    expected = theirs.transform(new[:, None])
    fitted = Encoder.fit(data)
    np.testing.assert_allclose(fitted.apply(new), expected, rtol=1e-12)
    assert fitted.apply(np.array(["mauve"]))[0, 0] == pytest.approx(y.mean())
    for fold in range(5):
        own = data.folds == fold
        others = TargetEncoder(smooth="auto", target_type="continuous")
        others.fit(texts[~own, None], y[~own])
        np.testing.assert_allclose(
            fitted.training_codes[own], others.transform(texts[own, None]), rtol=1e-12
        )


def test_the_code_of_a_training_row_does_not_know_its_outputs():
    data = column(n_outputs=3)
    before = Encoder.fit(data).training_codes
    changed = data.outputs.copy()
    changed[7] += 100.0
    after = Encoder.fit(data._replace(outputs=changed)).training_codes
    np.testing.assert_array_equal(after[7], before[7])
    assert not np.array_equal(after, before)


def test_missing_outputs_do_not_count():
    data = column(n_outputs=2)
    outputs = data.outputs.copy()
    outputs[::3, 1] = np.nan
    found = Encoder.fit(data._replace(outputs=outputs)).apply(np.array(LEVELS, dtype=object))
    known = ~np.isnan(outputs[:, 1])
    alone = data._replace(
        codes=data.codes[known], outputs=outputs[known][:, 1:], folds=data.folds[known]
    )
    expected = Encoder.fit(alone).apply(np.array(LEVELS, dtype=object))
    np.testing.assert_allclose(found[:, 1:], expected, rtol=1e-12)


def test_many_outputs_are_represented_by_their_leading_components():
    generator = np.random.default_rng(1)
    outputs = generator.normal(size=(50, 3)) @ generator.normal(size=(3, 20)) * 7.0 + 2.0
    found = leading_outputs(outputs)
    assert found.shape == (50, MAX_CODES)
    standardised = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
    np.testing.assert_allclose(found @ found.T, standardised @ standardised.T, atol=1e-9)
    assert (np.diff(found.var(axis=0)) <= 1e-12).all()
    outputs[:, 4] = 3.0
    outputs[2, 5] = np.nan
    assert np.isfinite(leading_outputs(outputs)).all()


# Unusual columns


@pytest.mark.parametrize("levels", [("same", "other"), tuple(map(str, range(31)))])
def test_one_level_and_all_different_levels_have_codes(levels):
    n_rows = 30
    codes = np.zeros(n_rows, int) if len(levels) == 2 else np.arange(n_rows)
    outputs = np.random.default_rng(0).normal(size=(n_rows, 2))
    folds = np.arange(n_rows) % 5
    fitted = Encoder.fit(TrainingColumn(levels, codes, codes[:0], outputs, folds))
    # Other rows tell nothing of a row but the mean.
    expected = np.stack([outputs[folds != fold].mean(axis=0) for fold in range(5)])[folds]
    np.testing.assert_allclose(fitted.training_codes, expected, rtol=1e-12)
    np.testing.assert_allclose(fitted.apply(np.array(["new", ""]))[0], outputs.mean(axis=0))


def test_constant_outputs_and_single_rows_have_finite_codes():
    for n_rows in (1, 2, 10):
        codes = np.zeros(n_rows, int)
        data = TrainingColumn(("a",), codes, codes[:0], np.ones((n_rows, 1)), inner_folds(codes))
        fitted = Encoder.fit(data)
        assert np.isfinite(fitted.training_codes).all()
        np.testing.assert_array_equal(fitted.apply(np.array(["a", "b"])), 1.0)


def test_two_folds_of_the_selection_leave_two_inner_folds():
    np.testing.assert_array_equal(inner_folds(np.array([1, 1, 1])), [0, 1, 0])
    np.testing.assert_array_equal(inner_folds(np.array([1, 2, 1])), [1, 2, 1])


@pytest.mark.parametrize("encoder", encoder_names())
@pytest.mark.parametrize("n_outputs", [1, 20])
def test_every_encoder_keeps_the_contract(encoder, n_outputs):
    if encoder == "gamma-poisson":
        pytest.importorskip("skrub")
    data = column(n_outputs=n_outputs, levels=("red", "green", "red green", "", "unseen"))
    fitted = EncodedColumns.fit({"x": (encoder, data)}, {"x": 0})
    again = EncodedColumns.from_tree(fitted.tree())
    texts = {"x": np.array([*data.levels, "", "never anywhere", "日本"], dtype=object)}
    codes = fitted.apply(texts)
    np.testing.assert_array_equal(again.apply(texts), codes)
    assert np.isfinite(codes).all() and codes.shape == (8, sum(fitted.widths))
    assert len(set(again.names)) == codes.shape[1]
    assert all(name.startswith("x, ") for name in again.names)
    assert fitted.training_codes().shape == (60, codes.shape[1])
    # Equal requests have equal codes, and the order of the rows is kept.
    repeated = EncodedColumns.fit({"x": (encoder, data)}, {"x": 0})
    np.testing.assert_array_equal(repeated.training_codes(), fitted.training_codes())
    assert isinstance(encoder_module(encoder).Encoder.needs_level, bool)


# Through the stages


def small_file(tmp_path, **changes):
    columns = small_table() | {
        "place": [f"place {row % 9}" if row % 10 else "" for row in range(N_ROWS)]
    }
    columns |= changes
    columns["dose, mg"] = ["" if value is None else value for value in columns["dose, mg"]]
    path = tmp_path / "small.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def options(path, **changes):
    roles = {
        "numbers": ("dose, mg", "weight"),
        "categories": ("colour",),
        "strings": ("place",),
        "outputs": ("y*",),
        "encode": {"place": "target", "colour": "target"},
    }
    return Options(file=str(path), **{**roles, **changes})


def written(tmp_path, dataset, split):
    paths = [tmp_path / f"{name}.h5" for name in ("dataset", "split", "features")]
    write_artifact(paths[0], dataset, "dataset", allow_nan=("inputs", "outputs"))
    write_artifact(paths[1], split, "split")
    features_stage.run(*paths, "standard", "rbf", "none", 3)
    return read_artifact(paths[2], "features")


def small_split():
    rows = np.random.default_rng(4).permutation(N_ROWS)
    size = N_ROWS - 15
    return {
        "train": rows[:size],
        "weak": rows[size : size + 5],
        "test": rows[size + 5 :],
        "sizes": np.array([20, size]),
        "weak_sizes": np.array([5]),
        "folds": {f"n-{n}": np.arange(n) % 4 for n in (20, size)},
    }


def test_codes_of_a_fold_do_not_change_with_the_outputs_it_holds_out(tmp_path):
    dataset, split = read(options(small_file(tmp_path)), [], 0), small_split()
    before = written(tmp_path, dataset, split)
    train = split["train"][:20]
    heldout = train[np.arange(20) % 4 == 1]
    others = np.setdiff1d(np.arange(N_ROWS), train[np.arange(20) % 4 != 1])
    assert set(heldout) < set(others)
    dataset["outputs"][others] += 50.0
    after = written(tmp_path, dataset, split)
    for name, stored in before["n-20"]["fold-1"]["codes"].items():
        np.testing.assert_array_equal(after["n-20"]["fold-1"]["codes"][name], stored)
    assert not np.array_equal(
        after["n-20"]["fold-2"]["codes"]["train"], before["n-20"]["fold-2"]["codes"]["train"]
    )


def test_methods_get_inputs_followed_by_codes(tmp_path):
    dataset, split = read(options(small_file(tmp_path)), [], 0), small_split()
    features = written(tmp_path, dataset, split)
    folds = split["folds"]["n-20"]
    prepared = prepared_inputs(features, folds, 20)
    assert prepared.learns and prepared.n_columns == 2 + 2 * 2
    rows, heldout = list(prepared.fold_rows(weak_size=5))[1]
    assert rows.shape == (20, 6) and heldout.shape == (5, 6)
    # Every column of the table has the same expected squared distance.
    weights = features["n-20"]["all"]["weights"]
    np.testing.assert_allclose(weights**2, np.array([1, 1, 0.5, 0.5, 0.5, 0.5]) * 6 / 4)
    slices = prepared.rows_as_prepared_by(None)
    np.testing.assert_array_equal(slices[:], prepared.refit_rows()[0])
    assert prepared.test_rows().shape == (10, 6)


def test_a_table_of_names_alone_can_be_encoded(tmp_path):
    dataset = read(options(small_file(tmp_path), numbers=()), [], 0)
    assert dataset["inputs"].shape == (N_ROWS, 0)
    features = written(tmp_path, dataset, small_split())
    assert prepared_inputs(features, np.arange(20) % 4, 20).n_columns == 4


@pytest.mark.parametrize("numbers", [("dose, mg", "weight"), ()])
def test_a_saved_model_encodes_new_rows(tmp_path, numbers):
    path = small_file(tmp_path)
    final = Final(tmp_path, read(options(path, numbers=numbers), [], 0), kind="all")
    final.ridge("ridge", kind=None)
    final.forest("forest")
    lines, train = final.dataset["rows"]["line"], np.sort(final.split["train"])
    for name in ("ridge", "forest"):
        model = final.saved(name)
        found = model.predict(path)
        expected = final.predictions(name)[train]
        np.testing.assert_allclose(found.outputs[lines[train] - 2], expected, rtol=0, atol=1e-12)
    blank = {"dose, mg": [""] * 3, "weight": [""] * 3}
    new = model.predict(blank | {"colour": ["red", "mauve", ""], "place": ["place 1", "", ""]})
    assert np.isfinite(new.outputs).all()
    assert "colour: 'mauve' was never seen" in new.notes[1]
    assert "colour: was never missing before" in new.notes[2]
    np.testing.assert_array_equal(new.is_novel[2], True)


# Requests that are refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encode": {"place": "targets"}}, "target"),
        ({"encode": {"weight": "target"}}, "neither in categories nor in strings"),
        ({"strings": (), "text": "place", "encode": {"colour": "target"}}, "besides the column"),
    ],
)
def test_wrong_encoders_are_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        read(options(small_file(tmp_path), **changes), [], 0)


def test_fixed_encoders_may_be_exchanged(tmp_path):
    path = small_file(tmp_path)
    exchanged = read(options(path, encode={"colour": "n-grams", "place": "one-hot"}), [], 0)
    direct = read(options(path, categories=("place",), strings=("colour",), encode={}), [], 0)
    np.testing.assert_array_equal(exchanged["inputs"], direct["inputs"])
    assert "learned_columns" not in exchanged


# Gamma-Poisson


TITLES = (
    *("police officer", "police sergeant", "officer police", "fire fighter", "fire captain"),
    *("bus operator", "bus driver", "school nurse", "nurse", "librarian", "library aide", ""),
)


def titles(n_rows=60, seed=0) -> TrainingColumn:
    codes = np.random.default_rng(seed).integers(0, len(TITLES), n_rows)
    return TrainingColumn(TITLES, codes, codes[:9], np.zeros((n_rows, 1)), np.arange(n_rows) % 5)


def dense_counts(texts):
    counts = [n_grams_of(text) for text in texts]
    names = sorted(set().union(*counts))
    return names, np.array([[count[name] for name in names] for count in counts], dtype=float)


def test_n_grams_are_those_of_scikit_learn():
    texts = [*TITLES[:-1], "Two  Blanks\tand capitals"]
    theirs = CountVectorizer(analyzer="char", ngram_range=(2, 4))
    names, counts = dense_counts(texts)
    np.testing.assert_array_equal(theirs.fit_transform(texts).toarray(), counts)
    assert theirs.get_feature_names_out().tolist() == names


def test_activations_are_the_mode_of_the_posterior():
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.ones(12), size=3)
    counts = generator.poisson(2.0, size=(5, 12)).astype(float)
    counts[4] = 0.0
    rows, columns = np.nonzero(counts)
    shape, scale = 1.4, 2.0

    def posterior(h):
        means = h @ topics
        return (counts * np.log(means) - means).sum(axis=1) + (
            (shape - 1) * np.log(h) - h / scale
        ).sum(axis=1)

    steps = []
    for most in (1, 2, 5, 20, 3000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gamma_poisson, "MAX_STEPS", most)
            patch.setattr(gamma_poisson, "TOLERANCE", 1e-14)
            found = activations(rows, columns, counts[rows, columns], topics, 5, shape, scale)
        steps.append(posterior(found))
    assert (np.diff(steps, axis=0) >= -1e-12).all()
    # The gradient vanishes, and the empty text has the mode of the prior.
    gradient = (counts / (found @ topics)) @ topics.T - 1 + (shape - 1) / found - 1 / scale
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)
    np.testing.assert_allclose(found[4], (shape - 1) / (1 + 1 / scale))


def test_topics_are_stored_and_named_by_their_n_grams():
    pytest.importorskip("skrub")
    data = titles()
    fitted = gamma_poisson.Encoder.fit(data, 1)
    again = gamma_poisson.Encoder.from_tree(fitted.tree())
    new = np.array(["police officers", "nurses", "", "日本", *TITLES], dtype=object)
    np.testing.assert_array_equal(again.apply(new), fitted.apply(new))
    np.testing.assert_allclose(again.apply(new)[2:4], (SHAPE - 1) / (1 + 1 / SCALE))
    np.testing.assert_allclose(again.apply(new[4:])[data.codes], fitted.training_codes)
    assert fitted.labels[0].startswith("topic 1 ('") and len(set(fitted.labels)) == 10
    np.testing.assert_allclose(fitted.topics.sum(axis=1), 1.0)
    # Neither outputs nor other rows are used.
    other = data._replace(outputs=data.outputs + 1, levels=(*TITLES[:11], "", "unseen"))
    np.testing.assert_array_equal(gamma_poisson.Encoder.fit(other, 1).topics, fitted.topics)


def test_codes_are_those_of_skrub():
    skrub = pytest.importorskip("skrub")
    data = titles()
    texts = texts_of(data)
    theirs = skrub.GapEncoder(n_components=10, random_state=1)
    theirs.fit(pandas.Series(texts[np.r_[: len(texts), :9]], dtype=str))
    # A hundred updates of skrub end at a change of a thousandth.
    expected = theirs.transform(pandas.Series(texts, dtype=str)).to_numpy()
    found = gamma_poisson.Encoder.fit(data._replace(others=data.codes[:9]), 1).training_codes
    np.testing.assert_allclose(found, expected * theirs.scaling_factor_, rtol=0.03, atol=0.3)


@pytest.mark.parametrize("levels", [("same", "x"), ("", "x"), ("a", "b"), tuple(TITLES)])
def test_few_texts_have_fewer_topics(levels):
    pytest.importorskip("skrub")
    codes = np.zeros(6, int) if len(levels) == 2 else np.arange(6)
    data = TrainingColumn(levels, codes, codes[:0], np.zeros((6, 1)), np.arange(6) % 3)
    fitted = gamma_poisson.Encoder.fit(data, 0)
    assert fitted.training_codes.shape == (6, len(fitted.labels))
    assert np.isfinite(fitted.training_codes).all()
    assert len(fitted.labels) == (1 if len(levels) == 2 else 6)


def test_the_extra_is_named_where_skrub_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "skrub", None)
    with pytest.raises(UserError, match=r"skrub cannot be imported.*'\.\[encoders\]'"):
        gamma_poisson.Encoder.fit(titles(), 0)
