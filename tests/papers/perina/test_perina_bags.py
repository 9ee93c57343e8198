"""Methods of this paper for bags of words in a user table."""

from small_assay import config_with_methods
from test_table_bags import written

from workflow_lib.run.loading import load_configuration
from workflow_lib.table.new_table import run


def test_new_makes_a_run_with_methods_of_topics(tmp_path):
    config = config_with_methods(tmp_path / "config")
    request = {"name": "bags", "data": written(tmp_path), "classes": "kind", "bags": "w*"}
    run(request | {"exclude": "id"}, config)
    methods = load_configuration(config, {"experiments": ["bags"]}).methods_of("bags")
    assert {"lda-fess", "map-lda"} < set(methods)
