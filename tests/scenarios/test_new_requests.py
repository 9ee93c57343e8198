"""Requests for new tables on the command line."""

import yaml
from small_run import snakemake

ODD_NAMES = [
    *("Sugar #2", "1158.80", "007", "2024_01", "[Ca]", "yield: total", "|", "-", "1e5", "yes", "~"),
    *(
        "a, b",
        '5" pipe',
        "it's $HOME `x`",
        "{a}",
        "*",
        "&x",
        "\u00e9 \u00a0 \u00fc",
        "back\\t",
        "#1",
    ),
]


def test_a_request_reaches_its_job_as_it_was_typed(finished):
    quoted = ['"' + name.replace('"', '""') + '"' for name in ("x", *ODD_NAMES)]
    rows = [",".join(str((row * (at + 2)) % 23) for at in range(len(quoted))) for row in range(22)]
    (finished / "odd.csv").write_text("\n".join([",".join(quoted), *rows]) + "\n")
    request = ["name=odd", "data=odd.csv", f"outputs={','.join(ODD_NAMES)}", "methods=m-mean"]
    outcome = snakemake(finished, "new", "--config", *request, cores=1).succeeded()
    written = yaml.safe_load((finished / "config/tables/datasets/odd.yaml").read_text())
    assert written["options"]["outputs"] == ODD_NAMES
    outcome = snakemake(finished, "new", "--config", *request, "outputs=x", cores=1)
    assert outcome.status == 1 and "outputs is given 2 times" in outcome.text
