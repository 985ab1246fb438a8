"""`python -m tests.upgrade.make_dump` writes the dump, the keys and the readings expected of them, by the code as it is now.

The dump must be older than the change of the tables that it tests: it is not made anew with such a change. The present one was made
at the last revision before the baseline, in a checkout of the commit that `migrate.LAST_COMMIT_OF_FORMER_CHAIN` names or of one that
has the same migrations.
"""

import asyncio
import gzip
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.embedded.binaries import installed
from tests.registry import open_registry
from tests.rooms.catalogue.pulls.agent_host import hosting
from tests.rooms.notifications.webhooks.receiver import receiving
from tests.upgrade.history import SETTINGS, as_text, make_history
from tests.upgrade.restore import DUMP, EXPECTED, KEYS

DUMP_MAX_BYTES = 2 * 2**20


async def make_dump() -> None:
    """Fill a registry of this code and write it down."""
    with tempfile.TemporaryDirectory(prefix="hansa-dump-") as directory:
        server, data_dir = EmbeddedPostgres(Path(directory) / "database"), Path(directory) / "data"
        dsn = await server.start()
        try:
            async with hosting() as host, receiving() as receiver:
                allowed = f"{host.place},{receiver.place}"
                async with open_registry(
                    dsn, data_dir, **SETTINGS, outgoing_allow_user_hosts=allowed
                ) as registry:
                    expected = await make_history(registry, host, receiver)
            content = dump_of(dsn)
        finally:
            await server.stop()
        write_keys(data_dir / "keys")
    DUMP.write_bytes(gzip.compress(content.encode(), mtime=0))
    assert DUMP.stat().st_size <= DUMP_MAX_BYTES
    EXPECTED.write_text(as_text({"dumped_at": datetime.now(UTC).isoformat(), **expected}))
    print(f"{DUMP.name}: {DUMP.stat().st_size} bytes, {len(expected['balances'])} balances")


def dump_of(dsn: str) -> str:
    """The whole database as SQL that any role may run in a database of its own."""
    command = [installed() / "bin" / "pg_dump", "--no-owner", "--no-privileges", "--no-comments", dsn]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write_keys(keys: Path) -> None:
    """Keep the registry's keys beside the dump."""
    shutil.rmtree(KEYS, ignore_errors=True)
    shutil.copytree(keys, KEYS)


if __name__ == "__main__":
    asyncio.run(make_dump())
