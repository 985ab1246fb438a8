"""Length of the own chains, in a file beside the keys: a database that is behind it lost decisions that peers hold.

- Compared before the process serves, and each second: a failover to a replica that lost the last second is seen as well. While
  there is no pair, every FIRST_SECONDS.
- For each pair that is behind a new epoch begins: nothing is decided until the peer answered, and each side sends the decisions that the other
  lacks. Where the file is missing, the heads are awaited in the same epoch.
- The file follows the database by a second at most, for the first pair by FIRST_SECONDS. Later decisions are shown by the peers, by the pair chain.
"""

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import structlog

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx

from . import pair_chain, store
from .reopening import PAIR_REOPENED, PairReopened, reopen

FILE = "crossing-high-water.json"
COMPARED_SECONDS = 1.0
FIRST_SECONDS = 5.0

Place = tuple[int, int]
"""Epoch and number."""

_log = structlog.get_logger()


class HighWater:
    """Length of the own chains as this process knows it, by the SPIFFE id of the peer."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._path: Path = runtime.settings.data_dir / "keys" / FILE
        self._known: dict[str, Place] | None = None
        self._is_missing = False
        self._is_unwritable = False

    async def require_compared(self) -> None:
        """Asked before anything is decided by time: at the first time it compares."""
        if self._known is None:
            await self.compare()

    @property
    def pause_seconds(self) -> float:
        """After how many seconds it compares again."""
        return COMPARED_SECONDS if self._known else FIRST_SECONDS

    async def compare(self) -> None:
        """Compare the database with the known positions, begin epochs where it is behind, and write the present positions down."""
        if self._known is None:
            self._known, self._is_missing = self._read()
        known = self._known
        found = await self._runtime.database.query_again(store.places)
        if self._is_missing:
            self._is_missing = False
            await self._await_heads(found)
        behind = {peer: place for peer, place in known.items() if found.get(peer, (1, 0)) < place}
        if behind:
            _log.error(
                "the database is older than what crossed to other registries; keep this registry and its peers running: each"
                " transfer is completed from the signed messages that the peers hold. If a newer database exists, stop this"
                " registry and start it with that one",
                peers=sorted(behind),
            )
            for peer, place in behind.items():
                await self._runtime.database.transaction(
                    partial(_begin_epoch, peer=peer, known=place, reopened=PAIR_REOPENED.of(self._runtime))
                )
            found = await self._runtime.database.query_again(store.places)
        if found != known:
            self._known = found
            self._write(found)

    async def _await_heads(self, found: dict[str, Place]) -> None:
        for peer, (_, number) in found.items():
            if number > 0:
                await self._runtime.database.transaction(partial(_await_heads, peer=peer))

    def _read(self) -> tuple[dict[str, Place], bool]:
        """Return the positions in the file, and whether there is no file."""
        try:
            pairs = json.loads(self._path.read_bytes())["pairs"]
            return {peer: (int(epoch), int(number)) for peer, (epoch, number) in pairs.items()}, False
        except FileNotFoundError:
            return {}, True
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning(
                "the file of high-water marks cannot be read; it is written anew",
                path=str(self._path),
                reason=str(error),
            )
            return {}, True

    def _write(self, places: dict[str, Place]) -> None:
        draft = self._path.with_suffix(f".{uuid4().hex}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.touch(mode=0o600)
            draft.write_text(json.dumps({"pairs": places}, sort_keys=True))
            draft.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            # Without the file the peers show a restore, by the pair chain.
            if not self._is_unwritable:
                _log.warning(
                    "the file of high-water marks cannot be written",
                    path=str(self._path),
                    reason=str(error),
                )
            self._is_unwritable = True


HIGH_WATER: Slot[HighWater] = Slot("transfers: high-water marks of the own chains", build=HighWater)


async def _compare(runtime: Runtime) -> None:
    await HIGH_WATER.of(runtime).compare()


HIGH_WATER_TASK = PeriodicTask(
    "transfers: high-water marks",
    COMPARED_SECONDS,
    _compare,
    pause_seconds=lambda runtime: HIGH_WATER.of(runtime).pause_seconds,
)


async def _begin_epoch(tx: Tx, peer: str, known: Place, reopened: PairReopened) -> None:
    pair = await store.lock_pair(tx, peer)
    # Another process may have begun it.
    if (pair.own.epoch, pair.own.seq) < known:
        await store.write_pair(tx, peer, pair_chain.begin_epoch(pair, uuid4().hex, above=known[0]))
        await reopen(tx, peer, reopened)


async def _await_heads(tx: Tx, peer: str) -> None:
    pair = await store.lock_pair(tx, peer)
    await store.write_pair(tx, peer, pair_chain.await_heads(pair, uuid4().hex))
