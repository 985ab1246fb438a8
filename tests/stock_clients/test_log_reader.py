"""The reference reader of tiled logs, unmodified, reads the log of a registry from its files and refuses one that was changed."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.rooms import auditor
from hansa_verify import LOG_KEY, VerifierKey, log, read_auditor_keys
from tests.registry import TestRegistry
from tests.stock_clients.log_reader import built

AGED = "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"
# More than one tile, and none of the last ones full.
LEAVES, MORE = 500, 150


async def grown(registry: TestRegistry, count: int) -> str:
    """The checkpoint after so many leaves more."""

    async def record(tx) -> None:
        await tx.execute(AGED)
        for number in range(count):
            await record_leaf(tx, "card", f"filler/{count}/{number}", bytes(32))

    await registry.database.transaction(record)
    await auditor.run_cycle(registry.runtime)
    return (await registry.http.get("/log/checkpoint")).text


async def mirrored(registry: TestRegistry, directory: Path) -> None:
    """A copy of the files below /log that a tree of the present size has."""

    async def copy(path: str) -> bytes:
        answer = await registry.http.get(f"/log/{path}")
        assert answer.status_code == 200, (path, answer.text)
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(answer.content)
        return answer.content

    width = int((await copy("checkpoint")).split(b"\n")[1])
    for level in ("entries", *range(9)):
        for first in range(0, width, log.TILE_WIDTH):
            place = log.tile_path(first // log.TILE_WIDTH, min(log.TILE_WIDTH, width - first))
            await copy(f"tile/{level}/{place}")
        width = width if level == "entries" else width // log.TILE_WIDTH


def read(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [built(), directory, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


async def test_the_reference_reader_reads_every_entry_and_that_the_log_only_grew(
    registry: TestRegistry, tmp_path: Path
):
    old = await grown(registry, LEAVES)
    size = int((await grown(registry, MORE)).split("\n")[1])
    await mirrored(registry, tmp_path)
    (key,) = read_auditor_keys((await registry.http.get("/.well-known/auditor-jwks.json")).json())
    verifier = VerifierKey("hansa.local/log", key.public_key, LOG_KEY).text
    done = await asyncio.to_thread(read, tmp_path, verifier, old)
    assert (done.returncode, done.stdout) == (0, f"{size}\n"), done.stderr
    stranger = VerifierKey("hansa.local/log", bytes([*key.public_key[:-1], key.public_key[-1] ^ 1]), LOG_KEY)
    assert read(tmp_path, stranger.text).returncode == 1
    for file in ("tile/entries/001", "tile/0/000", "checkpoint"):
        whole = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        assert read(tmp_path, verifier).returncode != 0, file
        (tmp_path / file).write_bytes(whole)
    assert read(tmp_path, verifier).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def reader() -> Path:
    return built()
