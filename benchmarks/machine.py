"""The machine and the libraries with which the benchmarks ran."""

import datetime
import json
import os
import platform
from importlib import metadata
from pathlib import Path

from benchmarks.measuring import THREADS

LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "pykalman",
    "statsmodels",
    "dynamax",
    "hmmlearn",
    "jax",
    "catboost",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "autogluon.tabular",
)
FILE_NAME = "machine.json"


def description() -> dict[str, str]:
    """Return the description for the page: processor, memory, BLAS, versions, and load."""
    found = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "processors": str(os.cpu_count()),
        "memory": f"{memory_gb():.0f} GB" if memory_gb() else "unknown",
        "system": platform.platform(),
        "Python": platform.python_version(),
        "libraries": ", ".join(_versions()),
        "BLAS": "; ".join(blas()),
        "threads of BLAS": str(THREADS),
    }
    if hasattr(os, "getloadavg"):
        # Other processes make times longer and noisier, above all where all processors are busy.
        found["load before"] = f"{os.getloadavg()[0]:.1f} processes (mean of a minute)"
    return found


def write_description(folder: Path) -> None:
    """Write the description to the folder of the tables, for pages made on other machines."""
    from workflow_lib.core.whole_files import write_text

    write_text(folder / FILE_NAME, json.dumps(description(), indent=2) + "\n")


def read_description(folder: Path) -> dict[str, str]:
    """Return the description in the folder of the tables; empty where there is none."""
    path = folder / FILE_NAME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def processor() -> str:
    """Return the model of the processor."""
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def memory_gb() -> float:
    """Return the memory of the machine, in gigabytes (0 where the system hides it)."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return 0.0
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9


def blas() -> list[str]:
    """Return the BLAS libraries of numpy and scipy, with the kernels they use on this processor.

    The wheels of both include a library of their own.
    """
    import numpy  # noqa: F401  (loads its BLAS)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    found = []
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            owners = (name for name in ("numpy", "scipy") if f"{name}.libs" in pool["filepath"])
            owner = next(owners, "")
            words = (
                owner and f"{owner}:",
                pool["internal_api"],
                pool["version"] or "",
                pool.get("architecture"),
            )
            found.append(" ".join(word for word in words if word))
    return sorted(set(found))


def _versions() -> list[str]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found
