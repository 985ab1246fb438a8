"""The guide of the client, followed exactly with its own distribution and nothing else."""

from pathlib import Path

from tests.client.terminal import commands_of
from tests.doors.guides import follow
from tests.registry import TestRegistry


async def test_the_guide_of_the_client_works_in_an_environment_of_its_own(
    programs: Path, address: str, registry: TestRegistry, tmp_path: Path
):
    await registry.indexed()
    forks = tmp_path / "forks"
    forks.mkdir()
    commands_of(programs).put_program(forks)
    around = {"PATH": f"{forks}:{programs}:/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    printed = await follow("client.md", address, tmp_path, **around)
    for line in (
        "98.4925",
        "0.05025 AVT: 0.05 and a fee of 0.00025",
        "1 completed, 0 refused",
        "approved  4  Sketch",
        "OPEN  POOR_QUALITY  The frame is broken.",
        "fee 0.0125 balance 91.4575",
        "INSUFFICIENT_BALANCE 91.4575",
        "contract COMPLETED paid 10",
        "token released",
        "lines 1",
        "received 2.5",
    ):
        assert line in printed, printed
