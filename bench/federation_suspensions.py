"""federation/suspensions: until a suspension at the home of an agent is applied at a peer and its receipt is back.

Two `hansa serve` with mutual TLS. Agents are suspended one after the other, with hints, and without: then the peer reads acts at its own interval. Times
are those of the home, from the act to the receipt that came. An act is the card's new status and the event of an administrator's suspension.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial

from bench.card_seed import OWN_HOME, load_cards
from bench.federation_crossings import beside, command, join, prepared, serving
from bench.figures import Figures, percentile
from bench.http_transfer import PAYERS
from bench.seed import temporary_directory
from hansa.foundation.events import AgentSuspended
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import catalogue, journal

ACTS, ACTS_FULL = 50, 500
PAUSE_SECONDS = 0.2
UNHINTED_PAUSE_SECONDS = 0.3
TARGET_SECONDS, TARGET_UNHINTED_SECONDS = 5, 60
PATIENCE_SECONDS = 180
SUSPENDED_ON = "2026-01-01"

_DIDS = """
SELECT did FROM catalogue_card
WHERE source_registry IS NULL AND did IS NOT NULL AND is_active AND NOT unlisted AND status = 'active' ORDER BY did LIMIT $1
"""

_MIRRORED = (
    "SELECT count(*) FROM catalogue_card WHERE source_registry IS NOT NULL AND did = ANY ($1) AND status = $2"
)

_WAITED = """
SELECT extract(epoch FROM received_at - acted_at)::float8 AS seconds FROM catalogue_act_notice
WHERE agent_did = ANY ($1) AND received_at IS NOT NULL ORDER BY 1
"""

# Hints are lost before they are sent.
_LOSE_HINTS = """
CREATE FUNCTION bench_lose_hints() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER bench_lose_hints BEFORE INSERT ON plumbing_job FOR EACH ROW WHEN (NEW.kind = 'peer hint')
  EXECUTE FUNCTION bench_lose_hints();
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    acts = ACTS_FULL if full else ACTS
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        enforcing = {"ENFORCEMENT_PROPAGATION_MODE": "enforce"}
        a, b = await prepared(homes, PAYERS + 1, {"TRUST_DOMAIN": OWN_HOME[1]}, enforcing)
        for end in (a, b):
            await stack.enter_async_context(serving(end))
        await join(a, b)
        home = await stack.enter_async_context(beside(a))
        peer = await stack.enter_async_context(beside(b))
        # Half of the cards are own ones with a DID that peers mirror.
        await load_cards(home.database.dsn, 5 * acts)
        dids = [row["did"] for row in await home.database.query(lambda tx: tx.fetch(_DIDS, 2 * acts))]
        await command(b, "peer", "sync", a.settings["REGISTRY_NAME"], "--json")
        await _until_mirrored(peer, dids, "active")
        hinted = await _suspended(home, dids[:acts], PAUSE_SECONDS)
        await home.database.transaction(lambda tx: tx.execute(_LOSE_HINTS))
        unhinted = await _suspended(home, dids[acts:], UNHINTED_PAUSE_SECONDS)
        await _until_mirrored(peer, dids, "suspended")
    for what, waited in (("with hints", hinted), ("without hints", unhinted)):
        figures.add(f"{len(waited)} suspensions {what}, median", "s", [percentile(waited, 0.5)])
        figures.add(f"{len(waited)} suspensions {what}, p99", "s", [percentile(waited, 0.99)])
    figures.notes.append(f"target: p99 {TARGET_SECONDS} s with hints, {TARGET_UNHINTED_SECONDS} s without")
    figures.notes.append("sound: each act has its receipt, and each agent is suspended at the peer")
    figures.books_are_sound = len(hinted) == len(unhinted) == acts
    return figures


async def _suspended(home: Runtime, dids: list[str], pause: float) -> list[float]:
    """Suspend the agents one after the other; the seconds from each act to its receipt, sorted."""
    for did in dids:
        await home.database.transaction(partial(_suspend, did=did))
        await asyncio.sleep(pause)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(waited := await home.database.query(lambda tx: tx.fetch(_WAITED, dids))) < len(dids):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
    return [row["seconds"] for row in waited]


async def _suspend(tx: Tx, did: str) -> None:
    await catalogue.suspend_card(tx, did)
    await journal.append(tx, AgentSuspended(did=did, soft=False, date=SUSPENDED_ON))


async def _until_mirrored(peer: Runtime, dids: list[str], status: str) -> None:
    """Wait until the peer has all of these agents with this status."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await peer.database.query(lambda tx: tx.fetchval(_MIRRORED, dids, status)) < len(dids):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
