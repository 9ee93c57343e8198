"""The image of the jobs on Kubernetes and in the cloud, built and run on this machine.

The image that the recipe names cannot be fetched everywhere. A root file system of Debian stands in
for it, and buildah, which needs no service, runs its steps and the jobs in a changed root.

Without root, buildah and debootstrap, or without a network, these tests are skipped, or fail if
CONTAINER_TESTS is "required".
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import smoke
from small_run import ROOT

SPLIT = "results/measurements/split-0/split.h5"
BASE, IMAGE = "localhost/base", "localhost/jobs"
DEBIAN = ["bookworm", "--variant=minbase", "--include=ca-certificates,python3,python3-venv"]


def unavailable(reason: str):
    required = os.environ.get("CONTAINER_TESTS") == "required"
    return pytest.fail(reason) if required else pytest.skip(reason)


class Builder:
    """Buildah with its images in a folder."""

    def __init__(self, folder: Path) -> None:
        self.words = ["buildah", "--storage-driver", "vfs"]
        self.words += ["--root", str(folder / "images"), "--runroot", str(folder / "running")]

    def __call__(self, *words: str) -> str:
        done = subprocess.run([*self.words, *words], capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """Return a builder that has the image of the jobs."""
    missing = [name for name in ("buildah", "debootstrap") if not shutil.which(name)]
    if os.geteuid() or missing:
        unavailable(f"an image is built by root alone, and these are missing: {missing}")
    folder = tmp_path_factory.mktemp("images")
    system = folder / "system"
    words = ["debootstrap", *DEBIAN[1:], DEBIAN[0], str(system)]
    made = subprocess.run(words, capture_output=True, text=True, timeout=1800)
    if made.returncode:
        unavailable(f"no root file system of Debian: {made.stdout[-500:]}")
    buildah = Builder(folder)
    base = buildah("from", "scratch")
    buildah("copy", "--quiet", base, str(system), "/")
    buildah("commit", "--quiet", "--rm", base, BASE)
    shutil.rmtree(system)
    context = folder / "context"
    context.mkdir()
    shutil.copy(ROOT / "requirements.lock", context)
    buildah(
        *("build", "--isolation", "chroot", "--network", "host", "--layers=false"),
        # Certificates of this machine, through whose proxy the index of packages may be reached.
        *("--volume", "/etc/ssl/certs:/etc/ssl/certs:ro", "--build-arg", f"BASE={BASE}"),
        *("--build-arg", f"PIP_INDEX_URL={os.environ.get('PIP_INDEX_URL', '')}"),
        *("--file", str(ROOT / "envs" / "Containerfile"), "--tag", IMAGE, str(context)),
    )
    yield buildah
    shutil.rmtree(folder)


def test_jobs_of_kubernetes_run_in_the_image(builder, cloud, unrun, expected, tmp_path):
    import container_jobs
    import object_store

    container = builder("from", IMAGE)

    def inside(workdir: Path, given: dict[str, str], command: list[str]) -> list[str]:
        workdir.chmod(0o777)
        variables = [word for pair in given.items() for word in ("--env", "=".join(pair))]
        words = ["run", "--isolation", "chroot", "--volume", f"{workdir}:/workdir", *variables]
        return [*builder.words, *words, container, "--", *command]

    settings = tmp_path / "kubernetes.json"
    with object_store.served() as store, container_jobs.served(tmp_path, inside) as jobs:
        settings.write_text(container_jobs.kubernetes_settings(jobs.address))
        outcome = smoke.snakemake(
            unrun,
            *("--profile", "profiles/kubernetes", "--seconds-between-status-checks", "1"),
            *("--default-storage-prefix", f"s3://{store.bucket.name}/run", "--", SPLIT),
            cores=None,
            **store.variables(),
            KUBECONFIG=str(settings),
        )
        assert outcome.status == 0, outcome.text + jobs.text()
        content = store.contents("run")[SPLIT]
    assert hashlib.sha256(content).hexdigest() == expected[SPLIT]
    owners = {path.stat().st_uid for path in tmp_path.glob("workdir-*/*")}
    assert len(jobs.manifests) == 2 and owners == {1000}
