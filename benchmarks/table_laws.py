"""Laws (distributions) from which users' tables are drawn, unknown to the library; real tables."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import ROOT
from workflow_lib.core.optional_packages import is_installed

N_FRESH = 500
"""Fresh rows of a law."""

METHODS = ("ofer-gmm", "m-krr", "m-mean")
FEW_METHODS = METHODS[1:]
"""Methods for the laws and tables where only the intervals are of interest."""

GROUP = "group"
"""Column of the groups of weak rows."""


class Rows(NamedTuple):
    """Columns of the table that are not outputs; the true regression function at these inputs
    (n, d), None for a real table; and outputs (n, d), these means plus noise."""

    inputs: dict[str, Sequence]
    means: np.ndarray | None
    outputs: np.ndarray


class Law(NamedTuple):
    """A way to draw tables."""

    draw: Callable[[int, np.random.Generator], Rows]
    """From a number of rows and a generator to `Rows`."""

    n_rows: int
    """Of a user's table."""

    n_splits: int = 10
    """As for a table of at most 500 rows."""

    package: str | None = None
    """An optional package that it needs."""

    methods: tuple[str, ...] = METHODS
    """Methods that are compared."""

    n_draws: int = 20
    """Number of tables that are drawn."""

    lacking: str | None = None
    """{"outputs", "inputs"} or None: what as many more rows of the table lack: weak rows, of which
    only the column `GROUP` tells of the outputs, or outputs without inputs."""

    is_real = False

    @property
    def request(self) -> dict[str, str]:
        """Further keys of the request for the table."""
        return {"same_group": GROUP} if self.lacking == "outputs" else {}

    def is_here(self) -> bool:
        """Return whether its package is installed."""
        return self.package is None or is_installed(self.package)

    def tables(self, generator: np.random.Generator) -> tuple[Rows, Rows]:
        """Return the rows of a user's table, and fresh rows."""
        if self.lacking is None:
            return self.draw(self.n_rows, generator), self.draw(N_FRESH, generator)
        known, fresh = self.draw(2 * self.n_rows, generator), self.draw(N_FRESH, generator)
        lacks = np.arange(2 * self.n_rows) >= self.n_rows
        inputs, outputs = dict(known.inputs), known.outputs
        if self.lacking == "outputs":
            # As many groups as there are signs of the first two outputs.
            signs = (outputs[:, :2] > np.median(outputs[:, :2], axis=0)) @ [1, 2]
            inputs[GROUP] = [f"group {sign}" for sign in signs]
            outputs = np.where(lacks[:, None], np.nan, outputs)
        else:
            inputs = {
                name: [None if lack else value for lack, value in zip(lacks, values, strict=True)]
                for name, values in inputs.items()
            }
        return known._replace(inputs=inputs, outputs=outputs), fresh


class RealTable(NamedTuple):
    """A dataset of the catalogue, some rows of which are a user's table and the others fresh.

    Its reader is ``arff``; the attributes are those of `Law`.
    """

    name: str
    n_rows: int
    n_splits: int = 10
    methods: tuple[str, ...] = FEW_METHODS
    n_draws: int = 3

    is_real = True
    request = None

    def is_here(self) -> bool:
        """Return whether its file is in a mirror."""
        return self._file() is not None

    def tables(self, generator: np.random.Generator) -> tuple[Rows, Rows]:
        """Return the rows of a user's table, drawn at random, and the others.

        Outputs that are the same in all rows of the table are left out.
        """
        from workflow_lib.data.reading import read_dataset

        tree = read_dataset("arff", self._settings()["options"], [self._file()], 0)
        inputs, outputs = tree["inputs"], tree["outputs"]
        order = generator.permutation(len(outputs))
        known, fresh = order[: self.n_rows], order[self.n_rows :]
        varies = np.ptp(outputs[known], axis=0) > 0
        return tuple(
            Rows(
                {
                    name: [None if np.isnan(value) else value for value in column]
                    for name, column in _named(inputs[rows]).items()
                },
                None,
                outputs[np.ix_(rows, varies)],
            )
            for rows in (known, fresh)
        )

    def _settings(self) -> dict:
        from workflow_lib.run.named_settings import SettingsFolder

        return SettingsFolder(ROOT / "config" / "datasets").keys(self.name)

    def _file(self) -> Path | None:
        from workflow_lib.core.mirrors import mirrors_from_environment

        name = self._settings()["sources"][0]["path"]
        paths = [mirror / name for mirror in mirrors_from_environment()]
        return next((path for path in paths if path.is_file()), None)


def _named(x: np.ndarray) -> dict[str, list]:
    return {f"x{column}": values.tolist() for column, values in enumerate(x.T, start=1)}


def draw_numbers(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of six numbers, with waves, a product, a step, and noise that grows with inputs.

    With x normal, the means are sin(2 x_1) + x_2 x_3 / 2, x_1^2 / 2 - x_4 and 2 tanh(x_2 + x_5),
    and the standard deviations of the normal noise 0.2 + 0.4 |x_1|, 0.3 exp(x_2 / 2) and 0.3 or,
    where x_3 is positive, 0.8. The sixth number has no effect.
    """
    x = generator.standard_normal((n, 6))
    a, b, c, d, e, _ = x.T
    means = np.column_stack([np.sin(2.0 * a) + 0.5 * b * c, 0.5 * a**2 - d, 2.0 * np.tanh(b + e)])
    deviations = np.column_stack(
        [0.2 + 0.4 * np.abs(a), 0.3 * np.exp(0.5 * b), np.where(c > 0, 0.8, 0.3)]
    )
    return Rows(_named(x), means, means + deviations * generator.standard_normal((n, 3)))


def draw_skewed(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of six numbers whose outputs are log-normal, with multiplicative noise.

    With x normal, the logarithms of the outputs are normal with the means 1 + 0.7 x_1 + 0.3 x_2,
    sin(x_2) + 0.4 x_3 and 0.5 x_1 - 0.5 x_4, and the standard deviations 0.4, 0.3 and 0.6; so the
    noise of an output grows with its mean. The sixth number has no effect.
    """
    x = generator.standard_normal((n, 6))
    a, b, c, d, *_ = x.T
    logarithms = np.column_stack([1.0 + 0.7 * a + 0.3 * b, np.sin(b) + 0.4 * c, 0.5 * a - 0.5 * d])
    deviations = np.array([0.4, 0.3, 0.6])
    outputs = np.exp(logarithms + deviations * generator.standard_normal((n, 3)))
    return Rows(_named(x), np.exp(logarithms + 0.5 * deviations**2), outputs)


def draw_noise(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of five numbers and three outputs, skewed ones among them, that depend on none.

    The means are 1 and the outputs are drawn from gamma distributions with the shapes 1, 4 and 100.
    """
    x = generator.standard_normal((n, 5))
    shapes = np.array([1.0, 4.0, 100.0])
    return Rows(_named(x), np.ones((n, 3)), generator.gamma(shapes, 1.0 / shapes, (n, 3)))


def draw_counts(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of five numbers whose outputs are counts, the third with many zeros.

    With x normal, the means are exp(1.5 + 0.6 x_1), exp(2 + 0.4 x_2 - 0.3 x_3) and
    exp(-0.5 + 0.8 x_1 + 0.3 x_4). The first and the third output are Poisson; the second is
    negative binomial with the variance m + m^2 / 4 at the mean m.
    """
    x = generator.standard_normal((n, 5))
    a, b, c, d, _ = x.T
    logarithms = [1.5 + 0.6 * a, 2.0 + 0.4 * b - 0.3 * c, -0.5 + 0.8 * a + 0.3 * d]
    means = np.exp(np.column_stack(logarithms))
    rates = means.copy()
    rates[:, 1] *= generator.gamma(4.0, 0.25, n)
    return Rows(_named(x), means, generator.poisson(rates).astype(float))


N_TOPICS, WORDS_OF_TOPIC, COMMON_WORDS = 4, 25, 40
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")


def draw_texts(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of a text and two numbers, with Laplace noise.

    A text mixes four topics, with shares w from a Dirichlet distribution of 0.5 each: each of its
    20 to 60 words is a common word with probability 0.4, else a word of a topic drawn by w. The
    three outputs are linear in w and the first number and oscillate with the second.
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
    # The coefficients are part of the law, so they are the same in every table.
    of_topics = np.array([[2.0, -1.0, 0.0], [0.0, 2.0, -2.0], [-2.0, 0.0, 1.0], [1.0, 1.0, 3.0]])
    waves = np.column_stack([np.sin(day * math.pi / 12.0), np.zeros(n), np.cos(day * math.pi / 12)])
    means = shares @ of_topics + 0.15 * dose[:, None] * np.array([1.0, -1.0, 0.0]) + waves
    inputs = {"notes": texts, "dose": dose.tolist(), "day": day.tolist()}
    return Rows(inputs, means, means + generator.laplace(scale=0.5, size=(n, 3)))


CORES = (
    *("c1cc([*:1])ccc1[*:2]", "c1cc([*:1])cc([*:2])c1", "c1cc([*:1])ncc1[*:2]"),
    *("C1CC([*:1])CCN1[*:2]", "C1CN([*:1])CCN1[*:2]", "c1c([*:1])sc([*:2])c1"),
    *("c1ccc2c(c1)c([*:1])cn2[*:2]", "C1CCC([*:1])C1[*:2]", "c1nc([*:1])oc1[*:2]"),
    *("c1ccc2nc([*:1])cc([*:2])c2c1",),
)
LINKERS = (
    *("[*:2]CC[*:3]", "[*:2]C(=O)N[*:3]", "[*:2]S(=O)(=O)C[*:3]", "[*:2]COC[*:3]"),
    *("[*:2]CC(C)C[*:3]", "[*:2]C(=O)OC[*:3]"),
)
ENDS = (
    *("C", "CC", "C(C)C", "C(C)(C)C", "CCCC", "C1CC1", "C1CCCCC1", "c1ccccc1"),
    *("c1ccncc1", "c1ccco1", "Cc1ccccc1", "CO", "CCO", "CN(C)C", "CCN", "CC#N"),
    *("CC(=O)O", "CC(N)=O", "CCCl", "CC(F)(F)F", "c1ccc(F)cc1", "c1ccc(Cl)cc1"),
    *("c1ccc(OC)cc1", "c1ccc(C#N)cc1"),
)
"""End groups of a molecule, bound by their first atom."""


def draw_molecules(n: int, generator: np.random.Generator) -> Rows:
    """Return rows of a structure, as SMILES, with two kinds of noise.

    A molecule is an end, a core, a linker and an end, drawn uniformly. The means are its
    octanol-water partition coefficient by Crippen, its polar surface and its molar refractivity, in
    units of 1.5, 25 and 20; the noise of the first two is normal with the standard deviations 0.3
    and 0.5, that of the third uniform between -1 and 1.
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
    "numbers": Law(draw_numbers, 200),
    "texts": Law(draw_texts, 150),
    "molecules": Law(draw_molecules, 150, package="rdkit"),
    "skewed": Law(draw_skewed, 200, methods=FEW_METHODS),
    "counts": Law(draw_counts, 200, methods=FEW_METHODS),
    "few-counts": Law(draw_counts, 50),
    "noise": Law(draw_noise, 50),
    "weak": Law(
        draw_numbers, 200, methods=("wofer-gmm", "m-krr", "m-mean"), n_draws=6, lacking="outputs"
    ),
    "unpaired": Law(draw_numbers, 200, lacking="inputs"),
}

MULAN = ("atp1d", "oes97", "edm", "jura", "wq", "enb", "slump", "sf1", "sf2")
REAL_TABLES = {name: RealTable(name, {"edm": 107, "slump": 72}.get(name, 200)) for name in MULAN}
"""Of small tables, seven tenths of the rows."""
