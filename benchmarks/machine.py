"""The machine and the libraries with which the benchmarks ran."""

import datetime
import json
import os
import platform
import re
from importlib import metadata
from pathlib import Path

import psutil

from benchmarks.measuring import THREADS

LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "pykalman", "hmmlearn", "catboost"),
    *("lightgbm", "xgboost", "xgboost-cpu", "autogluon.tabular"),
)
FILE_NAME = "machine.json"


def description() -> dict[str, str]:
    """Return the description for the page: processor, memory, BLAS, versions, and load."""
    import numpy  # noqa: F401  (loads its BLAS)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    cpus = Path("/proc/cpuinfo")
    model = re.search(r"^model name\s*: (.*)", cpus.read_text(), re.M) if cpus.exists() else None
    installed = {each.name.lower(): each.version for each in metadata.distributions()}
    found = {
        "date": datetime.date.today().isoformat(),
        "processor": model[1] if model else platform.processor() or platform.machine(),
        "processors": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "system": platform.platform(),
        "Python": platform.python_version(),
        "libraries": ", ".join(
            f"{name} {installed[name]}" for name in LIBRARIES if name in installed
        ),
        "BLAS": "; ".join(
            sorted({_blas(pool) for pool in threadpool_info() if pool["user_api"] == "blas"})
        ),
        "threads of BLAS": str(THREADS),
    }
    if hasattr(os, "getloadavg"):
        # Other processes make times longer and noisier, above all where all processors are busy.
        found["load before"] = f"{os.getloadavg()[0]:.1f} processes (mean of a minute)"
    return found


def _blas(pool: dict) -> str:
    """Return a BLAS with the library that brings it and the kernels that it uses here."""
    owner = re.search(r"(numpy|scipy)\.libs", pool["filepath"])
    words = (
        owner and f"{owner[1]}:",
        pool["internal_api"],
        pool["version"],
        pool.get("architecture"),
    )
    return " ".join(word for word in words if word)


def write_description(folder: Path) -> None:
    """Write the description to the folder of the tables, for pages made on other machines."""
    from workflow_lib.core.whole_files import write_text

    write_text(folder / FILE_NAME, json.dumps(description(), indent=2) + "\n")


def read_description(folder: Path) -> dict[str, str]:
    """Return the description in the folder of the tables; empty where there is none."""
    path = folder / FILE_NAME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
