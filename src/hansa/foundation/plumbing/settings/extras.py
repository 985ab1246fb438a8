"""Packages that an installation adds for one setting: the extras of the distribution hansa."""

import shlex
import sys
from importlib.metadata import requires


def command_to_install(extra: str) -> str:
    """Return the command line that adds the packages of an extra to the environment that runs.

    It names the packages instead of `hansa[extra]`, so that no index is asked for a package of that name.
    """
    stated = [one.partition(";") for one in requires("hansa") or ()]
    wanted = [
        requirement.strip()
        for requirement, _, marker in stated
        if f"extra == '{extra}'" in marker.replace('"', "'")
    ]
    assert wanted, extra
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])
