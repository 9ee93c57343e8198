"""The wheel in an environment of its own: `pip install`, then an answer and predictions."""

import os
import subprocess
import sys
from pathlib import Path

from built_wheel import built_wheel

ROWS = [(3.0 + k % 7, k % 3, (k * k) % 11) for k in range(40)]
TABLE = "heat,dose,noise,strength,weight\n" + "\n".join(
    f"{a},{b},{c},{2.0 * a - b:.3f},{a + 3.0 * b:.3f}" for a, b, c in ROWS
)


def test_a_wheel_that_pip_installs_answers_and_predicts(tmp_path: Path):
    quiet = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command) -> str:
        words = list(map(str, command))
        done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    wheel = built_wheel(tmp_path)
    run(sys.executable, "-m", "venv", "fresh")
    run("fresh/bin/python", *quiet, "install", wheel)
    assert "snakemake" not in run("fresh/bin/python", "-m", "pip", "list")
    (tmp_path / "blend.csv").write_text(TABLE)
    (tmp_path / "new.csv").write_text("heat,dose,noise\n4,1,5\n")
    outputs = ["--outputs", "strength,weight", "--splits", "2", "--methods", "m-krr,ridge,m-mean"]
    assert "relative error" in run("fresh/bin/ofer", "run", "blend.csv", *outputs)
    assert "1 row predicted" in run("fresh/bin/ofer", "predict", "blend-model.h5", "new.csv")
    assert (tmp_path / "new-predictions.csv").is_file()
