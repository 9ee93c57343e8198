"""What the page states of a dataset, from its settings and its artifact."""

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.report.labels import count_of, format_share
from workflow_lib.report.reproduced_tables import RECIPE, data_kind

MAX_NAMES = 20
"""Rows that were left out for one reason are named up to this number, and only counted above."""


def is_made(dataset: Mapping) -> bool:
    """Return whether the data are simulated, not observed."""
    return data_kind({**dataset, "stand_in_for": None}) == RECIPE


def dataset_record(name: str, settings: Mapping, artifact: str | Path) -> dict:
    """Return what the page states of a dataset; counts come from its artifact.

    Raises UserError if the artifact is missing or damaged.
    """
    data = read_artifact(artifact, "dataset")
    report, outputs = data["report"], data["outputs"]
    n_missing = int(report.get("missing_outputs", 0))
    if is_made(settings):
        kind = "Simulated"
    elif settings["sources"]:
        kind = "Observed, from the source below"
    elif settings.get("options", {}).get("file"):
        kind = "Your table"
    elif any(map(settings.get("options", {}).get, ("folder", "collection"))):
        kind = "Observed, files fetched by hand by the user"
    else:
        kind = "Observed, shipped with a library"
    if settings["stand_in_for"]:
        kind += "; a stand-in"
    return {
        "name": name,
        "title": settings["title"],
        "description": settings["description"],
        "kind": kind,
        "stand_in_for": settings["stand_in_for"],
        "sources": [source["address"] for source in settings["sources"]],
        "licence": settings["licence"],
        "citation": settings["citation"],
        "rows_read": report["rows_read"],
        "rows_dropped": report["rows_dropped"],
        "exclusions": dict(report.get("exclusions", {})),
        "excluded_names": {
            reason: names
            for reason, names in report.get("excluded_names", {}).items()
            if report["exclusions"][reason] <= MAX_NAMES
        },
        "n_inputs": inputs_of(data).shape[1],
        "n_outputs": outputs.shape[1],
        "n_classes": len(data["classes"]["vectors"]) if "classes" in data else 0,
        "positive_class": settings.get("positive_class"),
        "unknown_letters": int(report.get("unknown_letters", 0)),
        "missing_outputs": n_missing,
        "missing_share": n_missing / outputs.size,
    }


def dataset_facts(record: Mapping) -> list[tuple[str, object]]:
    """Return the rows of the table of a dataset, (name, value), without empty values."""
    links = Markup("<br>").join(
        Markup('<a href="{0}">{0}</a>').format(address) for address in record["sources"]
    )
    left_out, names = [], record["excluded_names"]
    for reason, count in record["exclusions"].items():
        if count:
            named = f" ({names[reason]})" if reason in names else ""
            left_out.append(f"{reason}: {count}{named}")
    missing = ""
    if record["missing_outputs"]:
        values = count_of(record["missing_outputs"], "value")
        missing = f"{values} ({format_share(record['missing_share'])})"
    facts = [
        ("Kind", record["kind"]),
        ("Stands in for", record["stand_in_for"]),
        ("Rows", f"{record['rows_read']} read, {record['rows_dropped']} dropped"),
        ("Left out", "; ".join(left_out)),
        ("Columns", f"{record['n_inputs']} inputs, {record['n_outputs']} outputs"),
        ("Classes", record["n_classes"]),
        ("Positive class", record.get("positive_class")),
        ("Unknown letters", record.get("unknown_letters")),
        ("Missing outputs", missing),
        ("Licence", record["licence"]),
        ("Citation", record["citation"]),
        ("Source", links),
    ]
    return [(name, value) for name, value in facts if value]
