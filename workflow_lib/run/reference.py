"""Write ``config/schema.json`` and ``config/README.md`` from the settings classes.

python -m workflow_lib.run.reference            write both files
python -m workflow_lib.run.reference --check    fail when they are out of date
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from workflow_lib.core.plugins import READERS
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import ADDRESS, COLOR, MOST, NAME, RELATIVE_PATH, SHA256
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import MethodFile, parameters_of
from workflow_lib.run.input_model import InputModelSettings
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentDefaults,
    ExperimentSettings,
    FigureSettings,
    InputSettings,
    ModelSettings,
    ReportSettings,
    RunSettings,
    SourceSettings,
    StudyDescription,
    TableSettings,
)
from workflow_lib.run.named_settings import LIKE
from workflow_lib.run.requests import TableRequest
from workflow_lib.tasks.found import all_measures

FILE_KINDS: dict[type[Settings], tuple[str, ...]] = {
    RunSettings: ("config.yaml", "studies/*.yaml"),
    DatasetSettings: ("datasets/*.yaml",),
    ModelSettings: ("models/*.yaml",),
    InputModelSettings: ("input_models/*.yaml",),
    MethodFile: ("methods/*.yaml",),
    ExperimentSettings: ("experiments/*.yaml",),
}
"""The classes that describe whole files, each with the files below config/ that it describes."""

SECTIONS: tuple[tuple[str, str, type[Settings]], ...] = (
    ("The run", "", RunSettings),
    ("`defaults` of the run", "defaults.", ExperimentDefaults),
    ("`report` of the run", "report.", ReportSettings),
    ("`about` of the run", "about.", StudyDescription),
    ("Settings of `snakemake new`", "", TableRequest),
    ("Datasets", "", DatasetSettings),
    ("`inputs` of a dataset", "inputs.", InputSettings),
    ("`sources` of a dataset", "sources[].", SourceSettings),
    ("Models", "", ModelSettings),
    ("Models of inputs", "", InputModelSettings),
    ("Methods", "", MethodFile),
    ("Experiments", "", ExperimentSettings),
    ("`tables` of an experiment", "tables[].", TableSettings),
    ("`figures` of an experiment", "figures[].", FigureSettings),
)

PATTERN_TYPES = {
    ADDRESS: "address",
    COLOR: "colour",
    NAME: "name",
    RELATIVE_PATH: "relative path",
    SHA256: "SHA-256",
}

INTRODUCTION = """\
# Configuration

This file and `schema.json` are generated from the classes of settings in `workflow_lib/run`, and
of methods in their modules, by `python -m workflow_lib.run.reference`.

## Precedence when a key is set twice

1. `--config KEY=VALUE` on the command line comes first.
2. Then `--configfile FILE`; the last of several files.
3. Then the study of `--config study=NAME`, the file `config/studies/NAME.yaml`.
4. Then `config/config.yaml`. Blocks are merged key by key, lists are replaced whole.
5. Then the default in the tables below.

For one experiment, its own file comes before the `defaults` of the run.

An unknown key, a wrong value or an unknown name stops the run before anything is computed.

**A configuration is code.** A method may name any class of an installed package, or of a module of
yours, and its module is run. Read a configuration from others as you would read a program.

## Adding things, one new file each

The name of a dataset, method or model is that of its file, in lower-case letters, digits, `-` and
`_`.

**A dataset** is a file in `config/datasets`:

```yaml
# config/datasets/my-table.yaml
title: My table
description: Four measurements of a sample, and two properties to predict.
reader: csv
options: {outputs: [strength, colour]}
sources:
  - path: my-table.csv
    address: https://example.org/my-table.csv
    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    size: 1234
licence: CC BY 4.0
citation: Who made it, and when
```

Run it with `snakemake --cores 2 --config experiments='[my-table]'`. The options of each reader are
listed below.

**A method** is a file in `config/methods`; with `in_default: true` it joins every experiment with
`methods: default` in which it can run:

```yaml
# config/methods/my-ridge.yaml
label: Ridge, few penalties
summary: Kernel ridge regression with few penalties.
color: "#999999"
marker: "d"
in_default: true
grid: {alpha: [0.001, 0.1], width: [1]}
```

**A model** is a file in `config/models`, which methods then name under `model`:

```yaml
# config/models/mixture-diagonal.yaml
kind: gaussian_mixture
covariance_type: diag
```

A file that differs from another one of its kind in some keys says `like: NAME` and only these keys.
Blocks are merged key by key, lists are replaced whole.

```yaml
# config/methods/my-ridge-pca.yaml
like: my-ridge
label: Ridge on PCA
summary: Kernel ridge regression with few penalties on principal components of the inputs.
color: "#777777"
marker: "D"
in_default: false
feature_learner:
  transformer: sklearn.decomposition.PCA
  grid: {n_components: [2, 5]}
```

**A study** is a run: a file in `config/studies` with keys of the run, of which `about` is shown by
`snakemake studies`:

```yaml
# config/studies/my-study.yaml
about: {topic: My table and two others}
experiments: [my-table, enb, slump]
n_splits: 10
```

Run it with `snakemake --cores 2 --config study=my-study`; its tables and where its data are follow
from the files of its experiments and datasets.

Which parts can be combined is declared in `workflow_lib/run/capabilities.py` and, for a single
method, in its module. If an experiment names a method that cannot run in it, the run stops with the
reason; such a method of `default` is left out, and the run reports it.
"""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of all file kinds, one definition per settings class."""
    models = [(model, "validation") for _, _, model in SECTIONS]
    definitions = models_json_schema(models)[1]["$defs"]
    readers = reader_options()
    dataset = definitions["DatasetSettings"]
    dataset["properties"]["reader"]["enum"] = sorted(readers)
    dataset["allOf"] = []
    for reader, options in sorted(readers.items()):
        add_definition(definitions, f"options-{reader}", options)
        dataset["allOf"].append(
            {
                "if": {"properties": {"reader": {"const": reader}}},
                "then": {"properties": {"options": {"$ref": f"#/$defs/options-{reader}"}}},
            }
        )
    regressors = keys_of_regressors()
    for regressor, parameters in regressors.items():
        add_definition(definitions, f"method-{regressor}", parameters)
    names = [model.__name__ for model in FILE_KINDS if model is not MethodFile]
    names += [f"method-{regressor}" for regressor in regressors]
    for name in names:
        if name != RunSettings.__name__:
            may_be_like_another(definitions[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration files",
        "description": "Generated by `python -m workflow_lib.run.reference`.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in names],
        "$defs": dict(sorted(definitions.items())),
    }


def may_be_like_another(definition: dict[str, Any]) -> None:
    """Add the key `LIKE` to the schema of a kind of file; with it no other key is required."""
    definition["properties"][LIKE] = {
        "type": "string",
        "pattern": NAME,
        "description": "Another file of this kind, whose keys count where this file has none.",
    }
    required = definition.pop("required", [])
    definition["else"] = {"required": required}
    definition["if"] = {"required": [LIKE]}


def add_definition(definitions: dict[str, Any], name: str, model: type[Settings]) -> None:
    """Add the schema of a class, and those of its blocks, which must be at the root.

    Raises
    ------
    ValueError
        If a block has the name of another class, which would be overwritten.
    """
    definition = model.model_json_schema()
    for block, nested in definition.pop("$defs", {}).items():
        if definitions.setdefault(block, nested) != nested:
            raise ValueError(f"two classes of settings are named {block}: rename that of {name}")
    definitions[name] = definition


def reader_options() -> dict[str, type[Settings]]:
    """Return the options class of each reader of datasets."""
    from workflow_lib.data.reading import options_model

    return {reader: options_model(reader) for reader in READERS.paths}


def keys_of_regressors() -> dict[str, type[MethodFile]]:
    """Return the class of the methods of each regressor."""
    return {regressor: parameters_of(regressor) for regressor in method_modules()}


def readme() -> str:
    """Return the text of config/README.md."""
    definitions = schema()["$defs"]
    parts = [INTRODUCTION]
    for title, prefix, model in SECTIONS:
        level = "###" if prefix else "##"
        parts.append(section(f"{level} {title}", prefix, definitions[model.__name__]))
        if model is MethodFile:
            parts += sections_of_regressors(definitions)
    measures = all_measures().items()
    rows = [f"| `{name}` | {measure.description} |" for name, measure in measures]
    parts.append("\n".join(["## Errors", "", "| name | error |", "|---|---|", *rows, ""]))
    parts.append("## Options of the readers\n\nThe keys of `options` of a dataset.\n")
    for reader in sorted(reader_options()):
        parts.append(section(f"### `{reader}`", "options.", definitions[f"options-{reader}"]))
    return "\n".join(parts)


def sections_of_regressors(definitions: dict[str, Any]) -> list[str]:
    """Return the tables of the keys of regressors: first the shared keys, then those of each.

    Keys are shared if they have the same description in several classes of methods; of several such
    descriptions the most common one is.
    """
    modules = dict.fromkeys(module.regressors for module in method_modules().values())
    tables = {
        names: rows_of_keys(definitions[f"method-{names[0]}"], definitions) for names in modules
    }
    counts = Counter(row for rows in tables.values() for row in rows.items())
    most = reversed(counts.most_common())
    shared = {key: row for (key, row), count in most if count > 1}
    parts = [f"### Keys of several regressors\n\n{table_of(shared.values())}"]
    for names, rows in tables.items():
        heading = " or ".join(f"`regressor: {name}`" for name in names)
        description = " ".join(definitions[f"method-{names[0]}"]["description"].split())
        lines = [f"### {heading}", "", description, ""]
        also = [f"`{key}`" for key, row in rows.items() if shared.get(key) == row]
        if also:
            lines += [f"It also has these keys of several regressors: {', '.join(also)}.", ""]
        own = [row for key, row in rows.items() if shared.get(key) != row]
        parts.append("\n".join([*lines, table_of(own)]))
    return parts


def rows_of_keys(definition: dict[str, Any], definitions: dict[str, Any]) -> dict[str, str]:
    """Return the rows of a method's keys by their paths, those of its blocks after them."""
    rows = {}
    for key, field in definition["properties"].items():
        if key not in (*MethodFile.model_fields, LIKE):
            rows |= key_rows("", definition | {"properties": {key: field}})
            if "$ref" in field:
                rows |= key_rows(f"{key}.", definitions[field["$ref"].rpartition("/")[2]])
    return rows


def section(heading: str, prefix: str, definition: dict[str, Any]) -> str:
    """Return a heading, the description of a settings class and the table of its keys."""
    description = " ".join(definition.get("description", "").split())
    lines = [heading, ""]
    lines += [description, ""] if description else []
    return "\n".join([*lines, table_of(key_rows(prefix, definition).values())])


def table_of(rows: Iterable[str]) -> str:
    """Return a table of keys."""
    rows = list(rows)
    if not rows:
        return "It has no keys.\n"
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def key_rows(prefix: str, definition: dict[str, Any]) -> dict[str, str]:
    """Return the row of each key of a settings class in its table, by the path of the key."""
    rows = {}
    required = definition.get("required") or definition.get("else", {}).get("required", [])
    for key, field in definition.get("properties", {}).items():
        if key == LIKE:
            continue
        default = "required" if key in required else default_in_words(field)
        meaning = " ".join(field.get("description", "").split())
        cells = [f"`{prefix}{key}`", type_in_words(field), default, meaning]
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        rows[f"{prefix}{key}"] = f"| {row} |"
    return rows


def type_in_words(field: dict[str, Any]) -> str:
    """Return what the JSON Schema of a key allows, in words."""
    if "$ref" in field:
        return "block of keys"
    if "const" in field:
        return code(field["const"])
    if "enum" in field:
        return ", ".join(code(value) for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(type_in_words(option) for option in field["anyOf"]))
    if "allOf" in field:
        return " and ".join(type_in_words(option) for option in field["allOf"])
    if field.get("type") == "array":
        return f"list of {type_in_words(field.get('items', {}))}"
    if "pattern" in field:
        return PATTERN_TYPES.get(field["pattern"], "text")
    names = {
        "boolean": "`true` or `false`",
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "null": "null",
        "object": "block of keys",
    }
    words = names.get(field.get("type", ""), "any value")
    bounds = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    # The upper bound of all counts is left out: it is irrelevant in practice.
    limits = [
        f"{sign} {field[name]:g}" for name, sign in bounds.items() if field.get(name, MOST) != MOST
    ]
    return f"{words} {' and '.join(limits)}".strip()


def default_in_words(field: dict[str, Any]) -> str:
    """Return the default of a key as in YAML, or where to find that of a block."""
    value = field.get("default")
    if isinstance(value, dict):
        return "see its table" if value else "`{}`"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "see meaning"
    return code(value)


def code(value: Any) -> str:
    """Return a value in YAML's notation between backticks."""
    if value == "":
        return '`""`'
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def documents() -> dict[str, str]:
    """Return the generated files: name below config/ -> text."""
    return {
        "schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
        "README.md": readme(),
    }


def differences(folder: Path) -> list[str]:
    """Return the lines in which the files of `folder` differ from the generated text."""
    lines: list[str] = []
    for name, text in documents().items():
        path = folder / name
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        lines += difflib.unified_diff(
            present.splitlines(),
            text.splitlines(),
            f"{name} (present)",
            f"{name} (new)",
            n=0,
            lineterm="",
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; return the exit status."""
    parser = argparse.ArgumentParser(description="Write config/schema.json and config/README.md.")
    parser.add_argument("--check", action="store_true", help="compare only; fail on a difference")
    parser.add_argument("--folder", type=Path, default=Path("config"), help="default: config")
    options = parser.parse_args(arguments)
    if options.check:
        lines = differences(options.folder)
        if lines:
            print("\n".join(lines))
            print("Out of date. Run: python -m workflow_lib.run.reference")
        return 1 if lines else 0
    for name, text in documents().items():
        (options.folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
