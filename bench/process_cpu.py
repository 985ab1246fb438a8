"""CPU time of a running process, of those below it, and of their children that have ended."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def used_by(top: int) -> float:
    """CPU seconds of a process and of its family."""
    parents, used = _processes()
    family, generation = set(), {top}
    while generation:
        family |= generation
        generation = {child for child, parent in parents.items() if parent in generation}
    return sum(used[pid] for pid in family) / TICKS


def used_alone(pid: int) -> float:
    """CPU seconds of a process, without its children."""
    return sum(map(int, _fields(Path(f"/proc/{pid}/stat"))[11:13])) / TICKS


def seconds_run(pid: int) -> float:
    """CPU seconds of a process to the nanosecond, as far as it is at rest."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _processes() -> tuple[dict[int, int], dict[int, int]]:
    """The parent of each process, and the ticks that it and its ended children have used."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = _fields(entry)
        except OSError:
            continue
        parents[int(entry.parent.name)] = int(fields[1])
        used[int(entry.parent.name)] = sum(map(int, fields[11:15]))
    return parents, used


def _fields(entry: Path) -> list[str]:
    """The fields of a stat file behind the name of the command, which may hold blanks."""
    return entry.read_text().rpartition(")")[2].split()
