"""Exchange totals with each peer in every audit cycle, and report the differences."""

import asyncio
from collections.abc import Sequence
from secrets import token_urlsafe
from time import monotonic

import structlog

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation, ledger, transfers

from . import store
from .rules import ALIKE, SwapTotals, Totals, compare, compare_at_place, compare_swaps
from .statements import StatementRefused, read_statement, signed_statement

ROUTE = "/api/v1/federation/totals"
AT_ONCE = 16
AWAIT_SECONDS, LOOK_SECONDS = 5.0, 0.2

_NOTHING = Totals(0, 0, 0)
_log = structlog.get_logger()


async def own_totals(tx: Tx, spiffe_id: str, ledger_id: str, book: ledger.Book) -> Totals:
    """Return this registry's statement of its corridor with the peer; `tx` must be one snapshot."""
    found = await ledger.totals_with(tx, ledger_id, book)
    if found is None:
        return _NOTHING
    judged = (await store.last_at_place(tx, ledger_id)).found
    place = await transfers.place_of(tx, spiffe_id)
    swaps = [
        SwapTotals(one.currency, one.out, one.in_, one.confirmed)
        for one in await transfers.swapped_with(tx, spiffe_id, book.currency)
    ]
    return Totals(found.committed_out, found.committed_in, found.confirmed_out, place, judged, tuple(swaps))


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
    ledger_id, spiffe_id = peer.ledger_id, peer.spiffe_id
    assert ledger_id is not None
    assert spiffe_id is not None
    book = ledger.Book.of(runtime.settings)
    async with turns:
        read_at = await runtime.database.query(clock.now)
        before = await runtime.database.read_replicated(lambda tx: own_totals(tx, spiffe_id, ledger_id, book))
        try:
            declared = await _request_totals(runtime, peer, before)
        except (federation.mailbox.PeerUnavailable, StatementRefused) as error:
            _log.info("totals could not be compared", peer=ledger_id, error=str(error))
            return
        after = await runtime.database.read(lambda tx: own_totals(tx, spiffe_id, ledger_id, book))
        exact = await _compare_at_place(runtime, peer, declared)
    found = compare(before, declared, after).at_least(exact.found.plus(declared.judged))
    swapped = compare_swaps(before, declared, after)

    async def keep(tx: Tx) -> None:
        await store.keep(tx, ledger_id, declared, found, exact=exact, read_at=read_at)
        await store.keep_swaps(tx, ledger_id, declared, swapped)

    await runtime.database.transaction(keep)
    for currency, differing in [(book.currency, found), *swapped.items()]:
        if differing != ALIKE:
            _log.critical(
                "totals of a peer disagree",
                peer=ledger_id,
                currency=currency,
                surplus_minor=differing.surplus,
                deficit_minor=differing.deficit,
            )


async def _compare_at_place(runtime: Runtime, peer: federation.PeerRecord, stated: Totals) -> store.AtPlace:
    """Compare the units that the peer states as credited up to a place of its chain with those that it confirmed up to there.

    Units committed before the answer came are confirmed within moments: that is awaited, at most AWAIT_SECONDS.
    """
    ledger_id, spiffe_id, place = peer.ledger_id, peer.spiffe_id, stated.place
    assert ledger_id is not None
    assert spiffe_id is not None
    last = await runtime.database.query(lambda tx: store.last_at_place(tx, ledger_id))
    if place is None:
        return store.AtPlace()
    base = last.base if last.base is not None and last.base[0] == place[0] and last.base <= place else None
    answered_at = await runtime.database.query(clock.now)

    async def unconfirmed_and_confirmed(tx: Tx) -> tuple[int, int]:
        unconfirmed = await transfers.unconfirmed_before(tx, spiffe_id, answered_at)
        return unconfirmed, await transfers.confirmed_between(tx, spiffe_id, base, place)

    until = monotonic() + AWAIT_SECONDS
    while True:
        unconfirmed, since = await runtime.database.read(unconfirmed_and_confirmed)
        if unconfirmed == 0 or monotonic() > until:
            break
        await asyncio.sleep(LOOK_SECONDS)
    confirmed = since + (last.amount if base is not None else 0)
    found = compare_at_place(stated.in_, confirmed, unconfirmed)
    if found == ALIKE and unconfirmed == 0:
        return store.AtPlace(found, place, confirmed)
    return store.AtPlace(found, last.base, last.amount)


async def _request_totals(runtime: Runtime, peer: federation.PeerRecord, own: Totals) -> Totals:
    """Return the totals that the peer states now, in answer to the own ones. Raises: StatementRefused, PeerUnavailable."""
    nonce = token_urlsafe(24)
    statements = await state_totals(runtime, peer, own, [nonce])
    answers = (await federation.mailbox.post_messages(runtime, peer, ROUTE, statements)).messages
    if len(answers) != 1:
        raise StatementRefused("the answer has not one message")
    (message,) = answers
    peer = await federation.with_present_keys(runtime, peer, answers)
    declared, answered = read_statement(message, peer, reader=own_id(runtime))
    if answered != nonce:
        raise StatementRefused("the statement is an answer to another question")
    return declared


def own_id(runtime: Runtime) -> str:
    """The SPIFFE id of this registry."""
    return federation.registry_id_of(runtime.settings.trust_domain, runtime.settings.registry_name)


async def state_totals(
    runtime: Runtime, peer: federation.PeerRecord, totals: Totals, nonces: Sequence[str]
) -> list[str]:
    """The totals, signed for that peer once for each nonce. Raises: KeyDoesNotOpen."""
    reader = peer.spiffe_id
    assert reader is not None
    key = await federation.SIGNATORY.of(runtime).present_key()
    author = own_id(runtime)
    return [signed_statement(key, totals, author=author, reader=reader, nonce=nonce) for nonce in nonces]
