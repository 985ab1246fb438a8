"""wrk drives the measured requests over HTTP: a script of this directory, and its report at the end."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from bench.figures import Figures

_REPORT = re.compile(r"ANSWERED (\d+) REFUSED (\d+) SECONDS ([0-9.]+) P99MS ([0-9.]+)(?: P50MS ([0-9.]+))?")


@dataclass(frozen=True)
class Driven:
    """Outcome of one run; `refused` are errors of any kind, of the answered ones too.

    A request that timed out may have been answered later: of those sent, between `answered - refused` and `answered` with one
    more for each connection were carried out.
    """

    answered: int
    refused: int
    seconds: float
    p99_ms: float
    p50_ms: float | None = None

    @property
    def per_second(self) -> float:
        return self.answered / self.seconds


def is_missing(figures: Figures) -> bool:
    """Return whether wrk is missing, which the figures then say."""
    if which("wrk") is not None:
        return False
    figures.faults.append("wrk is not on the PATH: this bench needs it (Debian's package wrk)")
    return True


async def drive(
    script: str, url: str, *arguments: object, connections: int, seconds: int, threads: int = 2
) -> Driven:
    """Send the requests of the script for so many seconds."""
    process = await asyncio.create_subprocess_exec(
        "wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout=20s",
        "-s", str(Path(__file__).parent / script), url, "--", *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    found = _REPORT.search(output.decode())
    assert found, output.decode()
    median = float(found[5]) if found[5] else None
    return Driven(int(found[1]), int(found[2]), float(found[3]), float(found[4]), median)
