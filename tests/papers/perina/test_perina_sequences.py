"""Methods of this paper for a column of sequences in a user table."""

from small_assay import config_with_methods
from test_table_sequences import sequences, written

from workflow_lib.run.loading import load_configuration
from workflow_lib.table.new_table import run


def methods_of(folder, data) -> tuple[str, ...]:
    """Return the methods of the run that `new` makes of a file."""
    config = config_with_methods(folder / "config")
    run({"name": "dna", "data": data, "classes": "kind", "sequence": "dna"}, config)
    return load_configuration(config, {"experiments": ["dna"]}).methods_of("dna")


def test_methods_that_compare_positions_are_for_sequences_of_one_length(tmp_path):
    methods = methods_of(tmp_path, written(tmp_path))
    assert {"nfess", "map-hmm"} < set(methods)
    assert "fess" not in methods


def test_sequences_of_one_length_are_compared_by_position_too(tmp_path, capsys):
    rows = [f"{'ab'[row % 2]},{dna * 2}" for row, dna in enumerate(sequences())]
    rows = [row[:12] for row in rows]
    assert "fess" in methods_of(tmp_path, written(tmp_path, ["kind,dna", *rows]))
    assert "10 to 10 long" in capsys.readouterr().out
