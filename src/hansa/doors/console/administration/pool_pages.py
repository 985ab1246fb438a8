"""Pools of two currencies for administrators of the treasury: reserves and rates, and the acts on them, each with a preview.

A preview is the act in a transaction that is taken back, so that it has the refusals of the act and its exact figures.
"""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from fastapi import Path, Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.access import Acting, SentForm, SignedIn, tried
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, format_amount, parse_positive
from hansa.rooms import federation, ledger, transfers

from .pages import FormsPage, Treasurer, TreasuryAct, administration_page, administration_router

router = administration_router()

POOLS = "/administration/pools"
PeerId = Annotated[int, Path(ge=1, le=2**63 - 1)]
Act = Literal["fund", "drain", "rate", "close"]
Change = Callable[[Tx], Awaitable[transfers.Pool]]


class PoolLine(msgspec.Struct, frozen=True):
    """A pool as its page shows it. `peer_id` and `name` are those of the peer, 0 and its ledger id where it is being deleted."""

    state: transfers.PoolState
    peer_id: int
    name: str

    @property
    def rate(self) -> str | None:
        """Foreign units for one own unit; None without a price."""
        return _text_of(self.state)


class Figures(msgspec.Struct, frozen=True):
    """The figures that an act on a pool changes: minor units of the own currency, and the rate."""

    treasury: Minor
    reserve: Minor
    rate: str | None


class Preview(msgspec.Struct, frozen=True):
    """A pool before and after an act that was taken back; `before` has no reserve where the act opens it."""

    pool: transfers.Pool
    before: Figures
    after: Figures


@router.get(POOLS)
async def list_pools(person: Treasurer, request: Request, db: Db, settings: Config) -> HTMLResponse:
    """Every pool with its reserves and its rate, and the form of a new one."""
    return await _page(request, person, db, SentForm(), settings=settings)


@router.post(POOLS + "/check")
async def check_opening(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Preview a new pool."""
    return await _preview(request, sender, db, settings, _opened(sender, settings), act="open", peer_id=0)


@router.post(POOLS)
async def open_pool(sender: TreasuryAct, request: Request, db: Db, settings: Config) -> Response:
    """Fund the own reserve of a new pool; a job proposes it to the peer."""

    async def opened(tx: Tx) -> None:
        await _opened(sender, settings)(tx)

    return await FORMS.carry_out(request, sender, db, settings, opened, done="open")


@router.post(POOLS + "/{peer_id:int}/{act}/check")
async def check_change(
    peer_id: PeerId,
    act: Literal["fund", "drain", "rate"],
    sender: TreasuryAct,
    request: Request,
    db: Db,
    *,
    settings: Config,
) -> Response:
    """Preview a change of a pool."""
    change = _changed(sender, settings, peer_id, act)
    return await _preview(request, sender, db, settings, change, act=act, peer_id=peer_id)


@router.post(POOLS + "/{peer_id:int}/{act}")
async def change_pool(
    peer_id: PeerId, act: Act, sender: TreasuryAct, request: Request, db: Db, *, settings: Config
) -> Response:
    """Fund or drain the own reserve, set the rate of fixed mode, or close the pool."""

    async def changed(tx: Tx) -> None:
        await _changed(sender, settings, peer_id, act)(tx)

    return await FORMS.carry_out(request, sender, db, settings, changed, done=act)


def _opened(sender: Acting, settings: Settings) -> Change:
    async def opened(tx: Tx) -> transfers.Pool:
        peer_id = sender.form.value("peer").strip()
        peer = await _named(tx, peer_id)
        currency = peer.settlement_currency or "" if peer else ""
        body = sender.form.read_as(
            transfers.PoolIn, currency=currency, peer=(peer.ledger_id or peer.name) if peer else peer_id
        )
        new = transfers.NewPool(
            body.currency, body.peer, parse_positive(body.reserve_own), parse_positive(body.reserve_foreign)
        )
        return await transfers.propose_pool(tx, sender.person.developer, new, settings)

    return opened


def _changed(sender: Acting, settings: Settings, peer_id: int, act: Act) -> Change:
    async def changed(tx: Tx) -> transfers.Pool:
        administrator, pool = sender.person.developer, await _pool_with(tx, peer_id)
        match act:
            case "rate":
                rate = Decimal(sender.form.read_as(transfers.RateIn).rate)
                return await transfers.set_pool_rate(tx, administrator, pool, rate, settings)
            case "close":
                return await transfers.close_pool(tx, administrator, pool, settings)
        amount = parse_positive(sender.form.read_as(transfers.PoolAmountIn).amount)
        moved = transfers.fund_pool if act == "fund" else transfers.drain_pool
        return await moved(tx, administrator, pool, amount, settings)

    return changed


async def _named(tx: Tx, peer_id: str) -> federation.PeerRecord | None:
    """The peer whose number a form has, None where it has none. Raises: PeerUnknown."""
    if not (peer_id.isascii() and peer_id.isdigit() and len(peer_id) <= len(str(2**62))):
        return None
    return await federation.peer_by_id(tx, int(peer_id))


async def _pool_with(tx: Tx, peer_id: int) -> transfers.Pool:
    """The pool with a peer. Raises: PeerUnknown, PoolUnknown."""
    peer = await federation.peer_by_id(tx, peer_id)
    return await transfers.find_pool(tx, peer.settlement_currency or "", peer.ledger_id or peer.name)


async def _preview(
    request: Request,
    sender: Acting,
    db: Database,
    settings: Settings,
    change: Change,
    *,
    act: str,
    peer_id: int,
) -> HTMLResponse:
    async def figures(tx: Tx, key: str | None) -> Figures:
        treasury = await ledger.balance_of(tx, ledger.Book.of(settings).treasury)
        found = [state for state in await transfers.pool_states(tx, settings) if state.pool.peer == key]
        if not found:
            return Figures(treasury.liquid, Minor(0), None)
        return Figures(treasury.liquid, found[0].pool.reserve_own, _text_of(found[0]))

    async def previewed(tx: Tx) -> Preview:
        key = (await _pool_with(tx, peer_id)).peer if peer_id else None
        before = await figures(tx, key)
        pool = await change(tx)
        return Preview(pool, before, await figures(tx, pool.peer))

    try:
        shown = await tried(db, previewed)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await _page(request, sender.person, db, refused, settings=settings, status=refusal.status)
    return administration_page(
        request,
        "pool-confirm.html",
        sender.person,
        sender.form,
        section=POOLS,
        act=act,
        action=f"{POOLS}/{peer_id}/{act}" if peer_id else POOLS,
        shown=shown,
        moved=format_amount(abs(shown.after.reserve - shown.before.reserve)),
        currency=settings.settlement_currency,
    )


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    form: SentForm,
    *,
    settings: Settings,
    status: int = 200,
) -> HTMLResponse:
    async def reading(
        tx: Tx,
    ) -> tuple[list[transfers.PoolState], list[federation.PeerRecord], ledger.Balance]:
        treasury = ledger.Book.of(settings).treasury
        states = await transfers.pool_states(tx, settings)
        return states, await federation.peers(tx), await ledger.balance_of(tx, treasury)

    states, peers, treasury = await db.read(reading)
    of_key = {peer.spiffe_id: peer for peer in peers}
    shared = {state.pool.peer for state in states}
    lines = [
        PoolLine(state, peer.id if peer else 0, peer.name if peer else state.pool.frame)
        for state in states
        for peer in [of_key.get(state.pool.peer)]
    ]
    own = settings.settlement_currency
    return administration_page(
        request,
        "pools.html",
        person,
        form,
        status=status,
        section=POOLS,
        lines=lines,
        partners=[
            (str(peer.id), f"{peer.name} ({peer.settlement_currency})")
            for peer in peers
            if peer.is_open and peer.spiffe_id not in shared and peer.settlement_currency not in {None, own}
        ],
        treasury=treasury.liquid,
        floor=max(transfers.pool_limits(settings).reserve_floor, 0),
        is_fixed=settings.fx_rate_mode == "fixed",
        currency=own,
    )


def _text_of(state: transfers.PoolState) -> str | None:
    rate = state.rate
    return None if rate is None else transfers.decimal_text(rate, 8)


FORMS = FormsPage(POOLS, _page)
