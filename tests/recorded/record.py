"""`python -m tests.recorded.record` writes the conversation and its journal anew."""

import asyncio
import tempfile
from pathlib import Path

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from tests.recorded.conversation import CONVERSATION, EVENTS, hold_conversation, registry_to_record
from tests.registry import care_for_no_crash
from tests.unknown_paths import unknown_paths


async def record() -> None:
    """Hold the conversation with a registry of this code and write both files."""
    with tempfile.TemporaryDirectory(prefix="hansa-record-") as directory:
        server = EmbeddedPostgres(Path(directory) / "database")
        dsn = await server.start()
        try:
            await care_for_no_crash(dsn)
            async with registry_to_record(dsn, Path(directory) / "data") as registry:
                with unknown_paths():
                    lines, events = await hold_conversation(registry)
        finally:
            await server.stop()
    for file, content in ((CONVERSATION, lines), (EVENTS, events)):
        file.write_text("".join(f"{line}\n" for line in content))
        print(f"{file.name}: {len(content)} lines")


if __name__ == "__main__":
    asyncio.run(record())
