"""Takes memory from one job of a run, as a limit or the kernel would. Python loads it by itself.

The variable LIMITED_JOB holds the rule, the module before whose import it happens, and how much
more memory the job may then take: ``features:adapter:100`` (MiB), or ``features:adapter:kill``.
"""

import os
import resource
import signal
import sys

UNREACHED = 1 << 40


def take_memory(more: str) -> None:
    """Let this process have so many MiB more, or none at all."""
    if more == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    with open("/proc/self/statm") as numbers:
        limit = int(numbers.read().split()[0]) * resource.getpagesize() + (int(more) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


class Watch:
    """Sees the imports of a job; it finds no module itself."""

    def __init__(self, module: str, more: str) -> None:
        self.module = module
        self.more = more

    def find_spec(self, name, path=None, target=None) -> None:
        if name == self.module:
            take_memory(self.more)


if "LIMITED_JOB" in os.environ:
    rule, module, more = os.environ["LIMITED_JOB"].split(":")
    if sys.orig_argv[-1].endswith(f".{rule}.py"):
        # A job with a limit has it from its start, and may prepare for it.
        resource.setrlimit(resource.RLIMIT_AS, (UNREACHED, UNREACHED))
        sys.meta_path.insert(0, Watch(module, more))
