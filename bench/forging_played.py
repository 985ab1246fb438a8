"""`python -m bench.forging_played [--owners N]`: the forging of a mark played against a registry with default limits, as a table of the guide."""

import argparse
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hansa.doors.startup import prepared_database
from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.rooms.catalogue.marks import GRADES as MARKS
from tests.founded import open_copy
from tests.hostile.forged_marks import Forger, Played, table
from tests.registry import DatabaseFarm

ATTACK_OF_GRANTS = 252
PER_HOUR = Settings.model_fields["genesis_grants_per_hour"].default


async def _play(owners: int) -> str:
    with (
        TemporaryDirectory(prefix="hansa-bench-") as server,
        TemporaryDirectory(prefix="hansa-bench-") as grants,
        TemporaryDirectory(prefix="hansa-bench-") as own_units,
    ):
        settings = read_settings(data_dir=Path(server), log_level="error")
        async with prepared_database(settings) as dsn:
            farm = DatabaseFarm(dsn)
            await farm.prepare()
            try:
                granted = await _with_grants(farm, Path(grants))
                own = await _with_own_units(farm, Path(own_units), owners)
            finally:
                await farm.clear()
    return table(("new owners with genesis grants", granted), ("owners with units of their own", own))


async def _with_grants(farm: DatabaseFarm, directory: Path) -> Played:
    limited = {"genesis_grants_per_hour": PER_HOUR, "log_level": "error"}
    async with open_copy(farm, directory, **limited) as registry:
        return await Forger(registry, await registry.agent()).with_genesis_grants(ATTACK_OF_GRANTS)


async def _with_own_units(farm: DatabaseFarm, directory: Path, owners: int) -> Played:
    async with open_copy(farm, directory, log_level="error") as registry:
        return await Forger(registry, await registry.agent()).with_units_of_its_own(owners)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.forging_played", description=__doc__)
    highest = MARKS[-1][0]
    parser.add_argument("--owners", type=int, default=highest, help="owners with units of their own")
    print(asyncio.run(_play(parser.parse_args().owners)))


if __name__ == "__main__":
    main()
