"""The public names: importable, documented, with the promised defaults, and lazy."""

import inspect
import subprocess
import sys

import pytest

import workflow_lib


def test_all_names_are_importable_and_documented():
    assert {
        "FisherEmbedding",
        "GaussianMixtureModel",
        "GaussianModel",
        "KernelRidgeRegressor",
        "OutputFisherRegressor",
    } <= set(workflow_lib.__all__)
    for name in workflow_lib.__all__:
        member = getattr(workflow_lib, name)
        assert member.__name__ == name
        assert inspect.getdoc(member)
        assert name in dir(workflow_lib)


def defaults(name):
    parameters = inspect.signature(getattr(workflow_lib, name)).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GaussianModel", {"covariance_type": "spherical", "variance_floor": 0.05}),
        (
            "GaussianMixtureModel",
            {"n_components": 4, "variance_floor": 0.05, "n_init": 5, "random_state": 0},
        ),
        (
            "OutputFisherRegressor",
            {
                "form": "reduced",
                "kernel": "rbf",
                "gamma": None,
                "alpha": 1.0,
                "weak_weight": 1.0,
                "preimage": "projected",
                "center": True,
            },
        ),
        ("KernelRidgeRegressor", {"kernel": "rbf", "gamma": None, "alpha": 1.0, "center": True}),
    ],
)
def test_defaults(name, expected):
    found = defaults(name)
    assert {key: found[key] for key in expected} == expected


def test_public_methods_are_documented():
    for name in workflow_lib.__all__:
        for attribute, member in inspect.getmembers(getattr(workflow_lib, name)):
            own = getattr(member, "__module__", "") or ""
            if inspect.isfunction(member) and own.startswith("workflow_lib"):
                if not attribute.startswith("_"):
                    assert inspect.getdoc(member), f"{name}.{attribute}"


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="'workflow_lib' has no attribute 'NoSuchName'"):
        _ = workflow_lib.NoSuchName
    with pytest.raises(ImportError):
        from workflow_lib import NoSuchName  # noqa: F401


def test_importing_the_package_imports_nothing_else():
    program = (
        "import sys, workflow_lib; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'h5py') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr
