"""Read the items of other registries that a peer passes on (TAKE_RELAYED_CARDS).

- An item counts only with the signature of its home, by keys read at the home's own address. The relay signs nothing.
- A home that is a peer is read itself, and of two relays the nearer one counts.
- A refused item counts against the relay: as `relayed_<reason>` in its row, and a forged card in its trust.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation
from hansa.rooms.catalogue.mirrors import mirror_cards
from hansa.rooms.catalogue.relays import DeclaredHome, StoredHome, known_homes, store
from hansa.rooms.federation import PeerRecord, SyncOutcome

from . import pages
from .judging import origin_of
from .records import PageRefused, RelayedPage
from .relayed_judging import JudgedItems, judge_items, judge_relayed_page
from .rules import Endless
from .store import lock

PATH = "/api/v1/federation/relayed-agent-cards"
NOT_OFFERED = frozenset({404, 409})
PAGE_SIZE = 200
"""An item may be of a home of its own, whose address is read then."""
PAGES_MAX = 1_000
HOMES_PER_RELAY_MAX = 2_000
CARDS_PER_HOME_MAX = 50_000
HOMES_AT_ONCE = 8
HOME_READ_AGAIN_SECONDS = 60.0
HOME_KEPT_SECONDS = 86_400.0
TROUBLED_AGAIN_SECONDS = 3600.0
"""After which what a relay states of a home that could not be verified is read once more."""


class Brought(NamedTuple):
    """A home with the items that the page has of it, judged by the home's own keys."""

    home: StoredHome
    judged: JudgedItems


class _Relay(NamedTuple):
    """A peer whose relayed cards are read, in this process."""

    runtime: Runtime
    peer: PeerRecord


async def read_relayed(runtime: Runtime, peer: PeerRecord) -> SyncOutcome:
    """Read everything new that the peer passes on. Raises: OutgoingTrouble, PeerClosed, FederationOff."""
    outcome = SyncOutcome()
    settings = runtime.settings
    if not settings.take_relayed_cards or not federation.accepts_cards(peer, settings):
        return outcome
    try:
        await _read(_Relay(runtime, peer), outcome)
    except PageRefused as refusal:
        refused = {refusal.reason: 1}
        await runtime.database.transaction(lambda tx: _count(tx, peer, refused))
        outcome.refused.update(_named(refused))
    return outcome


async def _read(relay: _Relay, outcome: SyncOutcome) -> None:
    database, peer = relay.runtime.database, relay.peer
    await database.execute(lambda tx: store.try_troubled_again(tx, peer.id, TROUBLED_AGAIN_SECONDS))
    endless = Endless()
    for _ in range(PAGES_MAX):
        place = await database.query(lambda tx: store.place(tx, peer.id))
        if place is None:
            return
        since, epoch = place
        page = await _fetch(relay, since)
        if page is None:
            return
        if page.epoch != epoch:
            begun = page.epoch
            await database.transaction(lambda tx, begun=begun: store.begin_anew(tx, peer.id, begun))  # type: ignore[misc]
            if since is not None:
                continue
        endless.require_progress(since, page)
        applied = await _apply(relay, since, page, await _judged(relay, page))
        if applied is None:
            return
        outcome.add(applied)
        if not page.more:
            return
    raise PageRefused("more_for_ever")


async def _fetch(relay: _Relay, since: str | None) -> RelayedPage | None:
    """The next page, or None where the peer passes nothing on. Raises: PageRefused, OutgoingTrouble."""
    query = urlencode({"limit": PAGE_SIZE, **({"since": since} if since else {})})
    answer = await federation.call_peer(
        relay.runtime, relay.peer, "GET", f"{PATH}?{query}", limits=pages.PAGE_LIMITS
    )
    if answer.status in NOT_OFFERED:
        return None
    if answer.status != pages.OK:
        raise PageRefused(f"answered_{answer.status}")
    own = relay.runtime.settings.trust_domain
    return await asyncio.to_thread(judge_relayed_page, answer.body, PAGE_SIZE, own)


async def _judged(relay: _Relay, page: RelayedPage) -> list[Brought]:
    """The items of homes that are no peers and have no nearer relay, each judged by the keys of its home."""
    database = relay.runtime.database
    peers = await database.read(federation.peers)
    near = {peer.ledger_id for peer in peers if peer.is_member}
    may_be_read = {peer.id for peer in peers if peer.is_open}
    stored = {home.ledger_id: home for home in await database.read(known_homes)}
    turns = asyncio.Semaphore(HOMES_AT_ONCE)

    async def judged(stated: DeclaredHome) -> Brought:
        async with turns:
            home = await _home(relay, stated, stored.get(stated.ledger_id))
            return await _judge_home(relay, stated, home, page.items[stated.ledger_id])

    declared_homes = [page.homes[ledger_id] for ledger_id in page.items if ledger_id not in near]
    room = HOMES_PER_RELAY_MAX - sum(home.peer_id == relay.peer.id for home in stored.values())
    for beyond in [stated for stated in declared_homes if stated.ledger_id not in stored][max(0, room) :]:
        page.refused["homes_too_many"] += len(page.items[beyond.ledger_id])
        declared_homes.remove(beyond)
    return await asyncio.gather(
        *(
            judged(stated)
            for stated in declared_homes
            if _is_nearest(stated, relay.peer, stored.get(stated.ledger_id), may_be_read)
        )
    )


def _is_nearest(
    stated: DeclaredHome, relay: PeerRecord, kept: StoredHome | None, may_be_read: set[int]
) -> bool:
    return (
        kept is None
        or kept.peer_id == relay.id
        or stated.hop_distance < kept.hop_distance
        or kept.peer_id not in may_be_read
    )


async def _home(relay: _Relay, stated: DeclaredHome, kept: StoredHome | None) -> StoredHome:
    """The home as it is kept, or as its own address states it now."""
    if kept is None or kept.registry_url != stated.registry_url:
        return await _read_home(relay, stated, None if kept is None else kept.epoch)
    max_age_seconds = HOME_READ_AGAIN_SECONDS if kept.keys is None else HOME_KEPT_SECONDS
    if kept.age_seconds > max_age_seconds:
        return await _read_home(relay, stated, kept.epoch)
    by = relay.peer
    return kept._replace(
        peer_id=by.id, relay_ledger_id=by.ledger_id or by.trust_domain, hop_distance=stated.hop_distance
    )


async def _read_home(relay: _Relay, stated: DeclaredHome, epoch: int | None) -> StoredHome:
    by = relay.peer
    said = (
        stated.ledger_id,
        by.id,
        by.ledger_id or by.trust_domain,
        stated.hop_distance,
        stated.registry_url,
    )
    try:
        card = await federation.read_home(relay.runtime, stated.ledger_id, stated.registry_url)
    except federation.HomeRefused as refused:
        return StoredHome(*said, None, None, None, epoch, refused.reason, 0.0)
    return StoredHome(*said, card.registry_name, card.settlement_currency, card.keys, epoch, None, 0.0)


async def _judge_home(relay: _Relay, stated: DeclaredHome, home: StoredHome, items: list[Any]) -> Brought:
    """Judge the items of a home; where a key is unknown its own address is read again, at most once a minute."""
    judged = await asyncio.to_thread(_judge, home, items)
    if judged.refused["key_unknown"] and home.age_seconds > HOME_READ_AGAIN_SECONDS:
        home = await _read_home(relay, stated, home.epoch)
        judged = await asyncio.to_thread(_judge, home, items)
    return Brought(home, judged)


def _judge(home: StoredHome, items: list[Any]) -> JudgedItems:
    if home.keys is None:
        return JudgedItems(home.epoch or 0, refused=Counter({home.trouble or "home_refused": len(items)}))
    namespace = home.ledger_id.partition("/")[0]
    return judge_items(items, origin_of(home.ledger_id, namespace, home.keys), home.epoch)


async def _apply(
    relay: _Relay, since: str | None, page: RelayedPage, brought: list[Brought]
) -> SyncOutcome | None:
    """Apply a page in one transaction; None where another process was quicker, or the peer may not be read any more."""

    async def apply(tx: Tx) -> SyncOutcome | None:
        await lock(tx, relay.peer.id)
        peers = await federation.peers(tx)
        may_be_read = [peer.id for peer in peers if peer.is_open]
        if relay.peer.id not in may_be_read or not await store.move(tx, relay.peer.id, since, page.next):
            return None
        near = {peer.ledger_id for peer in peers if peer.is_member}
        before = {home.ledger_id: home for home in await known_homes(tx)}
        applied = SyncOutcome(pulled=page.size, refused=_named(page.refused))
        await _count(tx, relay.peer, page.refused)
        is_begun = False
        for one in sorted(brought, key=lambda one: one.home.ledger_id):
            if one.home.ledger_id in near or not await store.keep_home(tx, one.home, may_be_read):
                continue
            applied.add(await _apply_home(tx, relay, one))
            is_begun |= one.home.keys is not None and _was_left_out(
                before.get(one.home.ledger_id), relay.peer
            )
        if is_begun and since is not None:
            # What the relay stated of these homes before was left out: its feed is read once more.
            await store.begin_anew(tx, relay.peer.id, page.epoch)
        return applied

    return await relay.runtime.database.transaction(apply)


def _was_left_out(before: StoredHome | None, relay: PeerRecord) -> bool:
    return before is not None and (before.peer_id != relay.id or before.keys is None)


async def _apply_home(tx: Tx, relay: _Relay, brought: Brought) -> SyncOutcome:
    """Apply the items of one home, which this relay brings."""
    home, judged = brought
    settings, refused = relay.runtime.settings, Counter(judged.refused)
    if judged.refused_card is not None:
        await federation.record_signal(tx, relay.peer.id, "card_refused", judged.refused_card)
    if home.keys is None:
        await _count(tx, relay.peer, refused)
        return SyncOutcome(refused=_named(refused))
    if judged.items and home.epoch != judged.epoch:
        await store.begin_epoch(tx, home.ledger_id, judged.epoch, is_restored=home.epoch is not None)
    result = await mirror_cards(
        tx,
        source_registry=home.ledger_id,
        trust_domain=home.ledger_id.partition("/")[0],
        settlement_currency=home.settlement_currency or "",
        items=judged.items,
        quota=CARDS_PER_HOME_MAX,
        synced_from=home.relay_ledger_id,
    )
    for reason, times in result.skipped.items():
        if reason not in pages.NOT_REFUSED:
            refused[reason] += times
    await _count(tx, relay.peer, refused)
    mode = settings.enforcement_propagation_mode
    if mode != "off":
        declared = [(item["did"], item["version"], item["status"]) for item in judged.items]
        await store.state(tx, home.ledger_id, declared, mode)
    if settings.relay_cards:
        await store.keep_items(tx, home.ledger_id, judged.items)
    return SyncOutcome(changed=result.written, hidden=result.hidden, refused=_named(refused))


def _named(refused: Mapping[str, int]) -> Counter[str]:
    return Counter({f"relayed_{reason}": times for reason, times in refused.items()})


async def _count(tx: Tx, relay: PeerRecord, refused: Mapping[str, int]) -> None:
    for reason, times in sorted(_named(refused).items()):
        await federation.count_refusal(tx, relay.id, reason, times)
