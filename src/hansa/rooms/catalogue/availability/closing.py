"""Close a day: one tree over all agents that this registry probed, one signed statement of its root, one leaf of the log."""

import asyncio
import json
from datetime import date
from typing import Any

from hansa.foundation.plumbing.jobs import sweep, sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_object
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa_verify import CARD_PROFILE, STATEMENT_KIND, STATEMENT_TYPE

from . import peer_store, rules, store

LOG_KIND = "availability"
EVERY_SECONDS = 300
AGENTS_AT_ONCE = 5_000


async def close_oldest_day(tx: Tx, runtime: Runtime) -> None:
    """Close the oldest day that has ended. Raises: KeyDoesNotOpen."""
    day = await store.oldest_open_day(tx)
    if day is None:
        return
    dids: list[str] = []
    leaves: list[bytes] = []
    while probed := await store.lock_some(tx, day, dids[-1] if dids else "", AGENTS_AT_ONCE):
        dids += [did for did, _ in probed]
        leaves += await asyncio.to_thread(rules.leaves_of, day, probed)
    root, hashes = await asyncio.to_thread(rules.tree_of, leaves)
    key = await federation.present_signing_key(tx, runtime.seal)
    statement = _statement(key, runtime.settings.ledger_id, day, len(dids), root)
    await store.close_day(tx, day, dids, json.dumps(statement), hashes)
    await record_object(tx, LOG_KIND, day.isoformat(), statement)


def _statement(
    key: federation.SigningKey, registry: str, day: date, agents: int, root: bytes
) -> dict[str, Any]:
    content = {
        "kind": STATEMENT_KIND,
        "registry": registry,
        "day": day.isoformat(),
        "agents": agents,
        "root": root.hex(),
    }
    header = {
        "typ": STATEMENT_TYPE,
        "iat": max(int(key.now.timestamp()), int(key.valid_from.timestamp())),
        "canon": CARD_PROFILE,
    }
    return {**content, "signatures": [federation.detached_signature(key, canonical_json(content), header)]}


async def forget_days(tx: Tx) -> None:
    """Delete the days that are in no answer any more, own ones and those of peers."""
    await store.forget_days(tx)
    await peer_store.forget_stated(tx)


CLOSE_DAYS = sweep_with_runtime(
    "catalogue: close days of probes", EVERY_SECONDS, close_oldest_day, has_work=store.has_open_day
)
FORGET_DAYS = sweep("catalogue: forget old days of probes", 24 * 3600, forget_days)
