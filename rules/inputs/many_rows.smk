"""A table with more rows than memory holds: its request, and the tree in which sums are added."""

FAN_IN = 8
"""Sums that one job adds up."""

OF_RESULTS = ("outputs", "inputs", "exclude", "components", "landmarks")
"""Keys of the request on which results depend."""


def learned_request():
    """Return the request of `snakemake learn`, as plain values; without one nothing."""
    return settings.request.model_dump(exclude_none=True) if settings.request else {}


def learned_settings(wildcards):
    """Return what of the request the results depend on."""
    return {key: value for key, value in learned_request().items() if key in OF_RESULTS}


def learned_tables():
    """Return the name of the table that is learned from."""
    return [learned_request()["name"]] if settings.request else []


def n_blocks(wildcards=None):
    """Return the number of blocks of rows."""
    blocks = learned_request().get("blocks", "1")
    if not blocks.isdecimal() or int(blocks) < 1:
        refuse(
            "snakemake learn, key blocks",
            f"'{blocks}'",
            "a number of blocks of rows, 1 or more",
            "write blocks=8, for example",
        )
    return int(blocks)


def n_landmarks():
    """Return the number of landmarks, by which matrices of sums have their size; 0 without any."""
    landmarks = learned_request().get("landmarks", "1000") if settings.request else "0"
    return int(landmarks) if landmarks.isdecimal() else 0


def sizes_of_levels():
    """Return the number of files of sums at each level, from the blocks to the one of all rows."""
    sizes = [n_blocks()]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN_IN))
    return sizes


def learned_file(wildcards):
    """Return the file of the table that is learned from."""
    return present_file("snakemake learn, key data", learned_request()["data"])


def parts_of_sums(wildcards):
    """Return the sums that a job adds up, by its level and its number."""
    below, number = int(wildcards.level) - 1, int(wildcards.number)
    numbers = range(number * FAN_IN, min((number + 1) * FAN_IN, sizes_of_levels()[below]))
    return [f"results/{wildcards.table}/rows/sums-{below}-{part}.h5" for part in numbers]


def sums_of_all_rows(wildcards):
    """Return the sums of all rows."""
    return f"results/{wildcards.table}/rows/sums-{len(sizes_of_levels()) - 1}-0.h5"


def errors_of_all_blocks(wildcards):
    """Return the errors of all blocks; none where they follow from the sums."""
    blocks = range(n_blocks()) if "components" in learned_request() else ()
    return [f"results/{wildcards.table}/rows/errors-{block}.h5" for block in blocks]


def learned_model(wildcards):
    """Return the model that is asked for; refuse a command that names no table."""
    if not learned_request().get("outputs"):
        refuse(
            "snakemake learn",
            "no table, or no columns to predict",
            "a name, a Parquet or HDF5 file, and the columns to predict",
            "snakemake --cores 2 learn --config name=NAME data=FILE outputs=COLUMNS",
        )
    n_blocks()
    others = sorted(set(learned_request()) - {"name", "data", "blocks", *OF_RESULTS})
    if others:
        refuse(
            "snakemake learn",
            f"the key {others[0]}",
            f"some of {', '.join(OF_RESULTS)} and blocks: there are no groups, classes, weak rows "
            "or texts where memory does not hold the table",
            f"leave out {others[0]}, or take some of the rows and `snakemake new`",
        )
    return [f"results/{table}/model.h5" for table in learned_tables()]
