"""federation/rotations: the longest time for which transfers between two registries are refused while one of them rotates a key.

Both registries are a `hansa serve`, and six agents of each pay the other one without a pause. Every key that rotates beside a
running process is rotated once in a round; the certificate authority in its three steps. Nothing is restarted.
"""

from bench.figures import Figures
from bench.seed import temporary_directory
from hansa.doors.startup import prepared_database
from hansa.foundation.plumbing.settings import read_settings
from hansa.rooms import auditor
from tests.operation.crossing_sides import Crossing, crossing_registries
from tests.operation.rotating_authority import rotate, rotate_key, traffic_between
from tests.registry import DatabaseFarm

ROUNDS, ROUNDS_FULL = 1, 5
COMMANDS = {
    "registry key": "rotate",
    "auditor key": "rotate-auditor",
    "witness keys": "rotate-witness",
    "licence-signing key": "rotate-licensing",
}


async def run(*, full: bool) -> Figures:
    figures = Figures()
    async with temporary_directory() as directory:
        settings = read_settings(data_dir=directory / "server", log_level="error")
        async with prepared_database(settings) as dsn:
            farm = DatabaseFarm(dsn)
            await farm.prepare()
            try:
                async with crossing_registries(farm, directory) as crossing:
                    await _measure(crossing, figures, rounds=ROUNDS_FULL if full else ROUNDS)
            finally:
                await farm.clear()
    return figures


async def _measure(crossing: Crossing, figures: Figures, *, rounds: int) -> None:
    longest: dict[str, list[float]] = {name: [] for name in (*COMMANDS, "certificate authority")}
    async with traffic_between(crossing) as traffic:
        await traffic.goes_on()
        for _ in range(rounds):
            for name, act in COMMANDS.items():
                await rotate_key(crossing.a, act)
                await traffic.goes_on()
                longest[name].append(traffic.longest_refusal())
            await rotate(crossing, traffic)
            longest["certificate authority"].append(traffic.longest_refusal())
    for name, seconds in longest.items():
        figures.add(f"longest refusal, {name}", "s", seconds)
    acknowledged, refused = traffic.acknowledged, traffic.refused
    figures.notes.append(f"{acknowledged} transfers, {refused} refused")
    await crossing.heal()
    for side in crossing.sides:
        verdict = await side.registry.database.read(auditor.audit_supply)
        figures.books_are_sound &= verdict.is_ok
