"""Exchange totals with each peer in every audit cycle, and name what does not agree."""

import asyncio
from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Any

import structlog

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.outgoing import CallLimits, OutgoingTrouble
from hansa.foundation.plumbing.peer_caller import PeerClosed
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import federation, ledger
from hansa_verify import NotCanonical, read_json

from . import store
from .rules import Totals, compare
from .statements import StatementRefused, read_statement, signed_statement

ROUTE = "/api/v1/federation/totals"
AT_ONCE = 16
LIMITS = CallLimits(seconds=10.0, body_bytes=64 * 1024)
OK = 200

_NOTHING = Totals(0, 0, 0)
_log = structlog.get_logger()


async def own_totals(tx: Tx, ledger_id: str, book: ledger.Book) -> Totals:
    """What this registry states of its corridor with that one."""
    found = await ledger.totals_with(tx, ledger_id, book)
    return _NOTHING if found is None else Totals(found.committed_out, found.committed_in, found.confirmed_out)


async def compare_with_peers(runtime: Runtime) -> None:
    """The job: compare totals with every active peer with which units ever crossed."""
    corridors = {found.frame for found in await runtime.database.read(ledger.corridor_totals)}
    peers = [
        peer
        for peer in await runtime.database.read(federation.peers)
        if peer.status == "active" and peer.ledger_id in corridors
    ]
    turns = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(_compare(runtime, peer, turns) for peer in peers))


async def _compare(runtime: Runtime, peer: federation.PeerRecord, turns: asyncio.Semaphore) -> None:
    ledger_id = peer.ledger_id
    assert ledger_id is not None
    book = ledger.Book.of(runtime.settings)
    async with turns:
        read_at = await runtime.database.look(store.moment)
        before = await runtime.database.read(lambda tx: own_totals(tx, ledger_id, book))
        try:
            stated = await _request_totals(runtime, peer, before)
        except (OutgoingTrouble, PeerClosed, StatementRefused, federation.FederationOff) as trouble:
            _log.info(
                "totals could not be compared", peer=ledger_id, error=str(trouble) or type(trouble).__name__
            )
            return
        after = await runtime.database.read(lambda tx: own_totals(tx, ledger_id, book))
    found = compare(before, stated, after)
    await runtime.database.act(lambda tx: store.keep(tx, ledger_id, stated, found, read_at))
    if found.surplus or found.deficit:
        _log.critical(
            "totals of a peer disagree",
            peer=ledger_id,
            surplus_minor=found.surplus,
            deficit_minor=found.deficit,
        )


async def _request_totals(runtime: Runtime, peer: federation.PeerRecord, own: Totals) -> Totals:
    """What the peer states now, in answer to what this registry states. Raises: StatementRefused, OutgoingTrouble."""
    nonce = token_urlsafe(24)
    statements = await state_totals(runtime, peer, own, [nonce])
    answer = await federation.call_peer(runtime, peer, "POST", ROUTE, {"messages": statements}, limits=LIMITS)
    if answer.status != OK:
        raise StatementRefused(f"the peer answered {answer.status}")
    stated, answered = read_statement(_only_message(answer.body), peer, reader=own_id(runtime))
    if answered != nonce:
        raise StatementRefused("the statement is an answer to another question")
    return stated


def _only_message(body: bytes) -> Any:
    try:
        document = read_json(body.decode())
    except (NotCanonical, UnicodeDecodeError) as trouble:
        raise StatementRefused(f"the answer cannot be read: {trouble}") from None
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(messages, list) or len(messages) != 1:
        raise StatementRefused("the answer has not one message")
    return messages[0]


def own_id(runtime: Runtime) -> str:
    """The SPIFFE id of this registry."""
    return federation.registry_id_of(runtime.settings.trust_domain, runtime.settings.registry_name)


async def state_totals(
    runtime: Runtime, peer: federation.PeerRecord, totals: Totals, nonces: Sequence[str]
) -> list[str]:
    """The totals, signed for that peer once for each nonce. Raises: KeyDoesNotOpen."""
    reader = peer.spiffe_id
    assert reader is not None
    key = await federation.Signatory(runtime.database, runtime.seal).present_key()
    author = own_id(runtime)
    return [signed_statement(key, totals, author=author, reader=reader, nonce=nonce) for nonce in nonces]
