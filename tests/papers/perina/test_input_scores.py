"""The stages of generative models of inputs and of their scores, and the methods on these."""

import numpy as np
import pytest

from workflow_lib import HiddenMarkovModel, ScoreSpace
from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.inputs.score_columns import ScoreColumns
from workflow_lib.items.group_names import fold_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.items.kinds.letters import letter_rows, sequences_in
from workflow_lib.items.kinds.vectors import pack
from workflow_lib.papers.perina.input_steps.stored_scores import scores_of
from workflow_lib.papers.perina.score_space_storage import model_from_tree, models_from_tree
from workflow_lib.papers.perina.stages import input_models, input_scores
from workflow_lib.protocol import features_stage, regression, splitting
from workflow_lib.run.models import InputModelSettings

N, N_FOLDS = 60, 3
ITEMS = {"kind": "letters", "n_symbols": 4}
GRID = {"n_states": [1, 2]}


def sequences(longest: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Return letters in rows, and classes of which the second has more of the first letter."""
    random = np.random.default_rng(0)
    labels = np.arange(N) % 2
    texts = [
        "".join(random.choice(list("ACGT"), random.integers(5, longest + 1), p=share))
        for share in np.where(labels[:, None], [0.6, 0.2, 0.1, 0.1], 0.25)
    ]
    return letter_rows(texts, "ACGT"), labels


class Run:
    """The artifacts of one split, as the rules make them."""

    def __init__(self, folder, rows, labels, items, size=40, kind="hidden_markov", grid=GRID):
        self.folder, self.kind, self.grid, self.size = folder, kind, grid, size
        self.rows, self.labels = rows, labels
        tree = {
            "inputs": rows,
            "outputs": np.eye(2)[labels],
            "classes": {"labels": labels, "vectors": np.eye(2)},
            "names": {"classes": '["a", "b"]'},
            "items": items,
        }
        write_artifact(self.path("dataset"), tree, "dataset")
        split = splitting.split_rows(N, [size], [], 0.3, N_FOLDS, 1, strata=labels)
        write_artifact(self.path("split"), split, "split")
        self.partition = split
        paths = [self.path(name) for name in ("dataset", "split", "features")]
        features_stage.run(*paths, "none", "linear", "none")

    def path(self, name):
        return self.folder / f"{name}.h5"

    def models(self, per_class=True, seed=3):
        inputs = {name: self.path(name) for name in ("dataset", "split", "features")}
        input_models.run(
            **inputs,
            output=self.path("input_models"),
            kind=self.kind,
            per_class=per_class,
            settings={},
            grid=self.grid,
            seed=seed,
            model_file="config/input_models/tried.yaml",
        )
        return read_artifact(self.path("input_models"), "input_models")[f"n-{self.size}"]

    def scores(self, space, standardise=True, keeps_map=True):
        inputs = {name: self.path(name) for name in ("dataset", "split", "features")}
        input_scores.run(
            **inputs,
            models=self.path("input_models"),
            output=self.path("input_scores"),
            space=space,
            standardise=standardise,
            keeps_map=keeps_map,
            method_file="config/methods/tried.yaml",
        )
        return read_artifact(self.path("input_scores"), "input_scores")[f"n-{self.size}"]

    def regression(self, module, **settings):
        names = ("dataset", "split", "features", "input_scores")
        scores = {"grid": self.grid, "method_file": "config/methods/tried.yaml"}
        regression.run(
            module,
            {name: self.path(name) for name in names},
            settings | {"score_space": scores},
            self.path("regression"),
            self.folder / "timings.json",
        )
        return read_artifact(self.path("regression"), "regression")

    @property
    def train(self):
        return self.partition["train"][: self.size]

    @property
    def folds(self):
        return self.partition["folds"][f"n-{self.size}"]


@pytest.fixture
def letters(tmp_path):
    return Run(tmp_path, *sequences(), ITEMS)


def test_models_are_those_of_the_training_rows_of_each_fold_and_class(letters):
    stored = letters.models()["point-1"]
    assert list(stored) == ["all", *(f"fold-{fold}" for fold in range(N_FOLDS))]
    fold = 1
    kept = letters.train[(letters.folds != fold) & (letters.labels[letters.train] == 1)]
    model = model_from_tree(stored[fold_group(fold)]["model-000"])
    fitted = HiddenMarkovModel(2, n_symbols=4, n_init=3, max_iter=1)
    for name in ("initial_", "transitions_", "emissions_"):
        setattr(fitted, name, getattr(model, name))
    own = sequences_in(letters.rows[kept])
    # A further iteration from the fitted model stays there; it is a maximum of these rows.
    before = model.score_samples(own).sum()
    other = letters.train[(letters.folds != fold) & (letters.labels[letters.train] == 0)]
    swapped = model_from_tree(stored[fold_group(fold)]["model-001"])
    assert before > swapped.score_samples(own).sum()
    theirs = sequences_in(letters.rows[other])
    assert swapped.score_samples(theirs).sum() > model.score_samples(theirs).sum()


def test_one_model_is_fitted_to_the_training_rows_of_all_classes_without_labels(tmp_path):
    rows, labels = sequences()
    runs = [Run(tmp_path / name, rows, labels, ITEMS) for name in "ab"]
    # The same rows in the same split, with other labels.
    tree = read_artifact(runs[1].path("dataset"), "dataset")
    tree["classes"] = {"labels": 1 - labels, "vectors": np.eye(2)}
    write_artifact(runs[1].path("dataset"), tree, "dataset")
    one, other = (run.models(per_class=False)["point-0"] for run in runs)
    kept = runs[0].train[runs[0].folds != 1]
    assert set(labels[kept]) == {0, 1}
    for name in one:
        assert list(one[name]) == ["model-000"]
        first, second = (model_from_tree(each[name]["model-000"]) for each in (one, other))
        np.testing.assert_array_equal(first.emissions_, second.emissions_)
    # The emissions of a single state are the shares of the letters.
    fitted = model_from_tree(one[fold_group(1)]["model-000"])
    counts = np.bincount(np.concatenate(sequences_in(rows[kept])).astype(int), minlength=4)
    np.testing.assert_allclose(fitted.emissions_[0], counts / counts.sum(), atol=5e-3)
    for space in ({"kind": "free_energy", "level": "state"}, {"kind": "fisher"}):
        assert np.isfinite(runs[0].scores(space)["point-1"]["all"]["test"]).all()


def test_held_out_rows_change_no_model_and_no_score_of_their_fold(tmp_path):
    rows, labels = sequences()
    first = Run(tmp_path / "a", rows, labels, ITEMS)
    changed = rows.copy()
    held_out = first.train[first.folds == 2]
    changed[held_out] = np.where(changed[held_out] >= 0, 3 - changed[held_out], -2)
    second = Run(tmp_path / "b", changed, labels, ITEMS)
    one, other = first.models(), second.models()
    for name, same in (("fold-2", True), ("fold-0", False), ("all", False)):
        pairs = [
            (np.asarray(one[point][name][model]["emissions_"]), other[point][name][model])
            for point in one
            for model in one[point][name]
        ]
        assert same == all(np.allclose(own, tree["emissions_"], rtol=1e-6) for own, tree in pairs)
    one, other = (run.scores({"kind": "free_energy"}) for run in (first, second))
    known = first.folds != 2
    for point in one:
        pair = (tree[point]["fold-2"]["train"][known] for tree in (one, other))
        np.testing.assert_allclose(*pair, rtol=1e-5, atol=1e-5)


def test_held_out_vectors_change_no_model_of_their_fold(tmp_path):
    random = np.random.default_rng(3)
    series, labels = random.normal(size=(N, 4, 2)), np.arange(N) % 2
    items = {"kind": "vectors", "n_numbers": 2}
    first = Run(tmp_path / "a", pack(series)["inputs"], labels, items)
    held_out = first.train[first.folds == 2]
    series[held_out] = 100.0 + 5.0 * series[held_out]
    second = Run(tmp_path / "b", pack(series)["inputs"], labels, items)
    one, other = (run.models()["point-1"] for run in (first, second))
    for name in ("means_", "variances_", "transitions_"):
        own, changed = (tree["fold-2"]["model-000"][name] for tree in (one, other))
        np.testing.assert_allclose(own, changed, rtol=1e-5, atol=1e-7)
    assert not np.allclose(
        one["fold-0"]["model-000"]["means_"], other["fold-0"]["model-000"]["means_"]
    )


@pytest.mark.parametrize("kind", ["free_energy", "fisher", "top"])
def test_scores_are_the_standardised_columns_of_the_space(letters, kind):
    trees = letters.models()["point-1"]["fold-0"]
    found = letters.scores({"kind": kind})["point-1"]["fold-0"]["train"]
    space = ScoreSpace(models_from_tree(trees), kind)
    columns = space.transform(sequences_in(letters.rows[letters.train]))
    kept = letters.folds != 0
    varies = columns[kept].std(axis=0) > 1e-9
    expected = (columns - columns[kept].mean(axis=0))[:, varies] / columns[kept].std(axis=0)[varies]
    unit = np.sqrt((found[kept] ** 2).sum() / kept.sum() / found.shape[1])
    np.testing.assert_allclose(unit, 1.0, rtol=1e-8)
    scale = expected.shape[1] / found.shape[1]
    products = found @ found[kept].T * scale
    np.testing.assert_allclose(products, expected @ expected[kept].T, rtol=1e-7, atol=1e-7)


def test_the_map_of_a_saved_model_gives_the_stored_scores(letters):
    letters.models()
    stored = letters.scores({"kind": "free_energy", "level": "symbol"})["point-1"]["all"]
    rows = letters.rows[letters.partition["test"]]
    np.testing.assert_allclose(scores_of(rows, stored["map"]), stored["test"], rtol=1e-5, atol=1e-5)
    assert "map" not in letters.scores({"kind": "fisher"}, keeps_map=False)["point-0"]["all"]


def test_fewer_columns_keep_products_and_distances_with_training_rows():
    random = np.random.default_rng(1)
    train, others = random.normal(size=(9, 30)), random.normal(size=(5, 30))
    train[:, 3] = 2.0
    columns = ScoreColumns.fit(train)
    Z, Z_others = columns.standardised(train), columns.standardised(others)
    found, found_others = columns.of(train), columns.of(others)
    assert found.shape == (9, 10)
    unit = 29 / 10
    np.testing.assert_allclose(found @ found.T * unit, Z @ Z.T, atol=1e-9)
    np.testing.assert_allclose(found_others @ found.T * unit, Z_others @ Z.T, atol=1e-9)
    lengths = (found_others**2).sum(axis=1) * unit
    np.testing.assert_allclose(lengths, (Z_others**2).sum(axis=1), rtol=1e-9)
    again = ScoreColumns.from_tree(columns.tree())
    np.testing.assert_array_equal(again.of(others), found_others)
    constant = ScoreColumns.fit(np.ones((4, 2)))
    np.testing.assert_array_equal(constant.of(np.ones((3, 2))), np.zeros((3, 1)))


def test_machines_and_the_most_probable_class_select_the_number_of_states(letters):
    letters.models()
    letters.scores({"kind": "free_energy"})
    machines = letters.regression(
        "support_vector_machine",
        kernel="linear",
        kernels=None,
        grid={"cost": [0.1, 1.0], "width": [1.0]},
        one_example={},
    )
    assert next(iter(machines.values()))["score_space__n_states"] in (1, 2)
    letters.scores({"kind": "log_likelihood"}, standardise=False)
    rule = letters.regression("most_probable_class")["n-40_w-0_C-selected"]
    point = f"point-{GRID['n_states'].index(rule['score_space__n_states'])}"
    trees = read_artifact(letters.path("input_models"), "input_models")["n-40"][point]["all"]
    test = letters.partition["test"]
    tested = sequences_in(letters.rows[test])
    log_p = [model.score_samples(tested) for model in models_from_tree(trees)]
    shares = np.bincount(letters.labels[letters.train]) / 40
    odds = log_p[0] + np.log(shares[1]) - log_p[1] - np.log(shares[0])
    np.testing.assert_allclose(rule["test_targets"], np.column_stack([-odds, odds]), rtol=1e-6)


def test_sequences_of_vectors_and_bags_have_models_too(tmp_path):
    random = np.random.default_rng(2)
    labels = np.arange(N) % 2
    series = [random.normal(label, 1, (random.integers(2, 6), 3)) for label in labels]
    rows = pack(series)["inputs"]
    items = {"kind": "vectors", "n_numbers": 3}
    for own, other in zip(items_in(rows, items), series, strict=True):
        np.testing.assert_array_equal(own, other)
    run = Run(tmp_path / "vectors", rows, labels, items)
    run.models(per_class=False)
    assert np.isfinite(run.scores({"kind": "fisher"})["point-1"]["all"]["test"]).all()
    counts = random.poisson(2.0 + labels[:, None], (N, 6)).astype(float)
    items, grid = {"kind": "counts", "n_words": 6}, {"n_topics": [2]}
    run = Run(tmp_path / "bags", counts, labels, items, kind="topic_model", grid=grid)
    run.models()
    assert np.isfinite(run.scores({"kind": "free_energy"})["point-0"]["all"]["test"]).all()


def test_what_cannot_be_scored_is_refused(tmp_path):
    run = Run(tmp_path / "lengths", *sequences(), ITEMS)
    run.models()
    with pytest.raises(UserError, match="level='position' needs sequences of one length"):
        run.scores({"kind": "free_energy", "level": "position"})
    rows, labels = sequences()
    rows[rows == 3] = 5
    with pytest.raises(UserError, match="config/input_models/tried.yaml"):
        Run(tmp_path / "letters", rows, labels, ITEMS).models()
    labels = np.zeros(N, dtype=int)
    labels[:2] = 1
    run = Run(tmp_path / "classes", sequences()[0], labels, ITEMS)
    run.labels[:] = 0
    with pytest.raises(UserError, match="class 'b' has no row among those that train"):
        run.models()


def test_unknown_arguments_of_a_model_are_named_before_anything_runs():
    values = {"summary": "A model.", "kind": "hidden_markov", "grid": {"n_states": [2]}}
    assert InputModelSettings(**values).faults() == []
    wrong = {"n_state": 2, "emission": "gaussian", "n_states": 3}
    faults = InputModelSettings(**values, settings=wrong).faults()
    assert [key for key, *_ in faults] == [f"settings.{name}" for name in wrong]
    assert faults[0][3] == "write 'n_states'"
