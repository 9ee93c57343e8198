"""Digests as inputs and outputs of jobs, where Snakemake keeps all files in a storage.

A job writes the digest of each output next to it. In the folder of a run it stays there; in a storage
it has to be named as a file of its own, so that a job on any machine gets it with the file.
"""

from snakemake.io import apply_wildcards, is_callable, is_flagged, strip_wildcard_constraints

from workflow_lib.core.file_digests import FOLDERS, digest_path


def digests_of(paths):
    """Return the digests of those paths that jobs make, without the folder of local copies."""
    made = [
        Path(path.removeprefix(PREFIX))
        for path in paths
        if not is_flagged(path, "local") and path.removeprefix(PREFIX).startswith(FOLDERS)
    ]
    return [digest_path(path).as_posix() for path in dict.fromkeys(made)]


def flat(paths):
    """Return a path, or paths in lists or by name, as one list."""
    if isinstance(paths, str):
        return [paths]
    return list(chain.from_iterable(map(flat, getattr(paths, "values", lambda: paths)())))


def digests_of_inputs(user):
    """Return the function that gives the digests of all inputs of a job of a rule."""
    own = list(user.input)

    def digests(wildcards):
        known = dict(wildcards.items())
        return digests_of(
            path
            for item in own
            for path in (
                flat(user.apply_input_function(item, known)[0])
                if is_callable(item)
                else [apply_wildcards(item, known)]
            )
        )

    return digests


# As a module, the rules would be those of the whole workflow.
if IN_STORAGE and not IS_MODULE:
    for made_by in workflow.rules:
        if made_by.output:
            made_by.set_input(digests_of_inputs(made_by))
            # A storage takes a question mark in a constraint for one of an address.
            made_by.set_output(*digests_of(map(strip_wildcard_constraints, made_by.output)))
