"""The seconds that the README states: `python -m benchmarks.demo_times` writes them into it.

The README's command and `make demo` run in a copy of the project, with the environment of this
one, on processors that are otherwise idle.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.job_graph import write_copy
from benchmarks.measuring import ROOT

SENTENCE = re.compile(r"On (\w+) cores, `ofer run`[^.]*\.")
"""The sentence of the README with the seconds."""

COMMANDS = {
    "ofer run": "ofer run examples/wines.csv --splits 3 "
    "--outputs flavanoids,color_intensity,proline",
    "make demo": "make demo",
}
"""What is measured, in a shell in the copy."""


def measured(cores: int) -> dict[str, float]:
    """Return the seconds of each command on so many processors, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        copy = write_copy(Path(folder, "project"))
        (copy / ".venv").symlink_to(ROOT / ".venv")
        path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(copy)}
        seconds = {}
        for name, command in COMMANDS.items():
            begin = time.perf_counter()
            bound = ["taskset", "--cpu-list", f"0-{cores - 1}", "sh", "-c", command]
            subprocess.run(bound, cwd=copy, env=environment, check=True, stdout=sys.stderr)
            seconds[name] = time.perf_counter() - begin
    return seconds


def main() -> None:
    """Measure on two processors, and rewrite the sentence."""
    found = measured(2)
    readme = ROOT / "README.md"
    sentence = (
        f"On two cores, `ofer run` takes {found['ofer run']:.0f} s and `make demo` "
        f"{found['make demo']:.0f} s."
    )
    text, count = SENTENCE.subn(sentence, readme.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"error: {readme} has {count} sentences of the form {SENTENCE.pattern}")
    readme.write_text(text, encoding="utf-8")
    print(sentence)


if __name__ == "__main__":
    main()
