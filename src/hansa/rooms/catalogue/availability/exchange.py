"""Statements between registries about agents that one has and the other probed: signed messages of the mailbox.

- A registry sends the home of the agents the statement of each closed day with the hours and the path of each.
- The home stores what leads to the root that the peer signed, of its own agents alone, and shows it as the peer's own. It decides nothing.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, date, timedelta
from functools import partial
from typing import Any

import structlog

from hansa.foundation.plumbing.jobs import scheduled
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.catalogue.rules import DID_MAX
from hansa.rooms.federation import PeerRecord
from hansa_verify import STATEMENT_KIND, STATEMENT_TYPE, RegistryKey, availability_leaf, verify_document
from hansa_verify.log import BadCheckpoint, proves_inclusion, read_hash

from . import peer_store, rules, store
from .records import HomeAgent, PeerDay

KIND = "fed.availability.v1"
MESSAGE_MAX_CHARACTERS = 256 * 1024
ENVELOPE = federation.mailbox.Envelope("fed-availability+jws", MESSAGE_MAX_CHARACTERS, is_dated=False)
PATH = "/api/v1/federation/availability"
AGENTS_AT_ONCE = 50
PEERS_AT_ONCE = 8
EVERY_SECONDS = 600
RECEIVED_BACK = timedelta(days=7)
OK = 200
_log = structlog.get_logger()


async def send_statements(runtime: Runtime) -> None:
    """Send every open peer the days of its agents that it has not."""
    turns = asyncio.Semaphore(PEERS_AT_ONCE)

    async def send(peer: PeerRecord) -> None:
        async with turns:
            try:
                await send_to(runtime, peer)
            except federation.mailbox.PeerUnavailable as error:
                _log.info("availability not sent", peer=peer.ledger_id, error=error.reason)

    found = await runtime.database.read(federation.peers)
    await asyncio.gather(*(send(peer) for peer in found if peer.is_open and peer.ledger_id is not None))


async def send_to(runtime: Runtime, peer: PeerRecord) -> None:
    """Send a peer the days of its agents that it has not, the oldest first. Raises: PeerUnavailable."""
    while (day := await runtime.database.query(lambda tx: peer_store.next_day(tx, peer.id))) is not None:
        async for message in _messages(runtime, peer, day):
            await federation.mailbox.post_messages(runtime, peer, PATH, [message])
        await runtime.database.transaction(partial(peer_store.note_sent, peer_id=peer.id, day=day))


async def receive_statements(tx: Tx, peer: PeerRecord, texts: Sequence[str]) -> int:
    """Store what a peer measured of agents of this registry; returns how many days of agents are new."""
    today = (await clock.began_at(tx)).astimezone(UTC).date()
    stored = 0
    for text in texts:
        try:
            stated = list(_read(ENVELOPE.verify(text, federation.keys_in_force(peer)), peer, today))
        except federation.mailbox.MalformedMessage:
            await federation.count_refusal(tx, peer.id, "message_malformed")
            continue
        for did, day in stated:
            stored += await peer_store.receive(tx, did, day)
    return stored


async def _messages(runtime: Runtime, peer: PeerRecord, day: date) -> AsyncIterator[str]:
    after = ""
    assert peer.ledger_id is not None
    home = peer.ledger_id
    while True:
        some, paths = await runtime.database.read(partial(_portion, day=day, home=home, after=after))
        if not some:
            return
        after = some[-1].did
        key = await federation.SIGNATORY.of(runtime).present_key()
        yield ENVELOPE.sign(key, _members(some, paths))


async def _portion(tx: Tx, *, day: date, home: str, after: str) -> tuple[list[HomeAgent], list[list[bytes]]]:
    """Some agents of a peer on a day, and the path of each."""
    some = await peer_store.agents_of(tx, day, home, after, AGENTS_AT_ONCE)
    places = [
        (day, rules.offset_of(node, one.day.agents))
        for one in some
        for nodes in rules.nodes_of_path(one.day.place, one.day.agents)
        for node in nodes
    ]
    hashes = iter(await store.hashes_at(tx, places)) if places else iter(())
    return some, [rules.path_of(one.day.place, one.day.agents, hashes) for one in some]


def _members(some: Sequence[HomeAgent], paths: Sequence[Sequence[bytes]]) -> dict[str, Any]:
    return {
        "kind": KIND,
        "statement": json.loads(some[0].day.statement),
        "agents": [
            {
                "did": one.did,
                "hours": rules.hours_of(one.day.counts),
                "index": one.day.place,
                "hashes": [b64encode(node).decode() for node in path],
            }
            for one, path in zip(some, paths, strict=True)
        ],
    }


def _read(payload: Mapping[str, Any], peer: PeerRecord, today: date) -> Iterator[tuple[str, PeerDay]]:
    """Yield the days of agents that the peer's own statement of the day proves. Raises: MalformedMessage."""
    agents = payload.get("agents")
    if payload.get("kind") != KIND or not isinstance(agents, list) or len(agents) > AGENTS_AT_ONCE:
        raise federation.mailbox.MalformedMessage("members")
    text = json.dumps(payload.get("statement"))
    keys = [RegistryKey(kid, key) for kid, key in federation.keys_in_force(peer).items()]
    stated = verify_document(text, keys, typ=STATEMENT_TYPE).card
    if stated is None or (stated.get("kind"), stated.get("registry")) != (STATEMENT_KIND, peer.ledger_id):
        raise federation.mailbox.MalformedMessage("statement")
    day, root = _day(stated.get("day")), _root(stated.get("root"))
    if day is None or root is None or not today - RECEIVED_BACK <= day < today:
        raise federation.mailbox.MalformedMessage("day")
    assert peer.ledger_id is not None
    for one in agents:
        yield _agent(one, stated.get("agents"), root, PeerDay(peer.ledger_id, day, (), text, 0, ()))


def _agent(one: Any, size: Any, root: bytes, about: PeerDay) -> tuple[str, PeerDay]:
    did = one.get("did") if isinstance(one, dict) else None
    if not isinstance(did, str) or not len("did:") < len(did) <= DID_MAX:
        raise federation.mailbox.MalformedMessage("did")
    counts, place = rules.counts_of(one.get("hours")), one.get("index")
    try:
        hashes = [read_hash(text) for text in one["hashes"]]
    except (BadCheckpoint, KeyError, TypeError):
        raise federation.mailbox.MalformedMessage("hashes") from None
    if counts is None or type(place) is not int or type(size) is not int:
        raise federation.mailbox.MalformedMessage("hours")
    leaf = availability_leaf(did, about.day.isoformat(), one["hours"])
    if not proves_inclusion(place, size, leaf, hashes, root):
        raise federation.mailbox.MalformedMessage("path")
    return did, PeerDay(about.registry, about.day, counts, about.statement, place, hashes)


def _day(text: object) -> date | None:
    try:
        return date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _root(text: object) -> bytes | None:
    try:
        root = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return None
    return root if len(root) == rules.HASH_BYTES else None


SEND_STATEMENTS = scheduled("catalogue: send availability to peers", EVERY_SECONDS, send_statements)
