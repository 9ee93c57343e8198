"""The splits that one job handles one after the other; each of them has files of its own.

Starting Python takes as long as many fits. An experiment with `splits_per_job` above one therefore
has rules whose jobs make the files of several splits; Snakemake needs a rule for each such range of
splits, because the outputs of a rule are fixed. The jobs of other experiments handle one split, the
wildcard `split`.

Snakemake records the inputs and parameters of a job for each of its outputs. Splits that were made
together therefore belong to one job until they are removed: with fewer or more splits in the
configuration, other ranges would compute them again.
"""

from collections.abc import Callable
from typing import NamedTuple

OF_SPLIT = "_of_split_"
"""What stands between the name of an item and its split; the adapter of the scripts has it too."""


class Splits(NamedTuple):
    """Splits that a job handles, and the experiments that have such jobs."""

    members: tuple[str, ...]
    """Names of the splits; none for any one split, which the wildcard `split` names."""

    experiments: set[str]

    @property
    def name(self) -> str:
        """Return the splits as they are called in paths."""
        if not self.members:
            return "{split}"
        first, last = self.members[0], self.members[-1]
        return first if first == last else f"{first}to{last}"

    def rule_name(self, name: str) -> str:
        """Return the name of the rule of these splits."""
        return f"{name}_{self.name}" if self.members else name

    def path(self, path: str) -> str:
        """Return a path or group with these splits instead of `{split}`."""
        return path.replace("{split}", self.name)

    def message(self, text: str) -> str:
        """Return the message of a job."""
        if not self.members:
            return f"{text} split {{wildcards.split}}"
        return f"{text} split{'s' * (len(self.members) > 1)} {self.name.replace('to', ' to ')}"

    def each(self, **items: str | Callable) -> dict[str, str | Callable]:
        """Return inputs, outputs or parameters of a rule for each of the splits.

        Those of a job of several splits are named after the split too; `each_split` of the adapter
        of the scripts takes them apart again.

        Parameters
        ----------
        **items : str or function
            Paths with `{split}`, or functions of the wildcards of one split.
        """
        return {
            f"{name}{OF_SPLIT}{split}": of_split(item, split)
            for split in self.members
            for name, item in items.items()
        } or items

    def each_of(self, files: Callable) -> Callable:
        """Return the function that gives what `files` does, named inputs, for each of the splits.

        Snakemake inspects every function for every job, which takes longer than most of them.
        """
        if not self.members:
            return files
        return lambda wildcards: {
            f"{name}{OF_SPLIT}{split}": paths
            for split in self.members
            for name, paths in files(with_split(wildcards, split)).items()
        }


def of_split(item, split):
    """Return a path, or a function of the wildcards, for one split."""
    if isinstance(item, str):
        return item.replace("{split}", split)
    return lambda wildcards: item(with_split(wildcards, split))


def with_split(wildcards, split):
    return SimpleNamespace(**dict(wildcards.items()), split=split)


def splits_in(name, text):
    """Return the splits at the end of a text of the form NAME0to4 or NAME0; None without any."""
    found = re.fullmatch(rf"{name}(\d+)(?:to(\d+))?", text)
    return found and range(int(found[1]), int(found[2] or found[1]) + 1)


def made_together(experiment) -> list[range]:
    """Return the splits of each job that has split the rows of an experiment, the latest first.

    The names of Snakemake's measurements tell them; those of which a split was removed are left out.
    """
    files = Path(with_prefix("results/timings/jobs/split")).glob(f"{experiment}-*.tsv")
    dates = {
        splits_in(re.escape(f"{experiment}-"), file.stem): -file.stat().st_mtime for file in files
    }
    return [
        splits
        for splits in sorted(filter(None, dates), key=dates.get)
        if all(
            Path(with_prefix(f"results/{experiment}/split-{split}/split.h5")).is_file()
            for split in splits
        )
    ]


def splits_of_submitted_jobs(experiment) -> list[range]:
    """Return the splits of the jobs that this process was started for; none in the main process.

    Files that other jobs make or remove in the meantime must not change them. The command names
    such jobs as RULE:WILDCARD=VALUE,WILDCARD=VALUE.
    """
    if workflow.is_main_process:
        return []
    jobs = [argument.partition(":") for argument in sys.argv]
    names = [rule for rule, _, values in jobs if f"experiment={experiment}" in values.split(",")]
    return list(filter(None, (splits_in(r"\w+_", rule) for rule in names)))


def splits_of_rules() -> list[Splits]:
    """Return the splits of every kind of job, any one split first, then several."""
    several = {}
    for experiment in settings.experiments:
        made = [*splits_of_submitted_jobs(experiment), *made_together(experiment)]
        ranges = [tuple(map(str, splits)) for splits in settings.splits_of_jobs(experiment, made)]
        if ranges and settings.is_user_table(experiment):
            ranges.append((FINAL,))
        for splits in ranges:
            several.setdefault(splits, set()).add(experiment)
    others = set(settings.experiments).difference(*several.values())
    return [Splits((), others), *map(Splits, several.keys(), several.values())]


SPLITS = splits_of_rules()
