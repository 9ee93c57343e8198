"""A scheduler is given few jobs of minutes, not many jobs of seconds."""

import re
import subprocess

import pytest
import yaml
from small_run import ROOT, SNAKEMAKE

MAX_SUBMISSIONS = 2000


@pytest.mark.parametrize("data", ["the paper's own", "stand-ins"])
def test_the_paper_is_few_submissions(tmp_path, data):
    settings = yaml.safe_load((ROOT / "config" / "studies" / "paper.yaml").read_text())
    if data != "stand-ins":
        # As if every file were there.
        del settings["stand_ins"]
    (tmp_path / "paper.yaml").write_text(yaml.safe_dump(settings))
    # Another folder than the project's, in which nothing has been computed.
    command = [*SNAKEMAKE, "--snakefile", str(ROOT / "Snakefile"), "--directory", str(tmp_path)]
    command += ["--configfile", str(tmp_path / "paper.yaml"), "--dry-run"]
    command += ["--profile", str(ROOT / "profiles" / "slurm")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    (counts,) = re.findall(r"^jobs +([\d,]+), on a scheduler ([\d,]+) submissions$", text, re.M)
    n_jobs, n_submissions = (int(count.replace(",", "")) for count in counts)
    assert n_jobs > 1900
    assert 100 < n_submissions <= MAX_SUBMISSIONS
    # A line for each stage, not for each job.
    assert len(text.splitlines()) < 100
