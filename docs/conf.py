"""How Sphinx builds the documentation: `make docs`, without a network."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "extensions")]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Output Fisher Embedding Regression"
release = version = _PROJECT["version"]
project_copyright = "its authors, MIT licence"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    # Extensions of this project, in extensions/.
    "configuration_table",
    "fault_record",
    "figure_gallery",
    "key_reference",
    "offline_mathml",
    "plain_docstrings",
    "sphinx.ext.graphviz" if shutil.which("dot") else "graph_as_text",
]
graphviz_output_format = "svg"
# The reference of the configuration is a file of Markdown, so all pages but the API are.
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # the included part of the README has no title

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types and shapes
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = project
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["own.css"]
