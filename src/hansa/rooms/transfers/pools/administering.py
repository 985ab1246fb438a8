"""Actions of treasury administrators on pools: open, fund, drain, close, set a rate. Each act is in the audit log.

An administrator moves the units of this registry alone, between the treasury and the leg of the pool.
"""

from decimal import Decimal
from typing import Literal

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import federation, ledger

from . import acts, store
from .errors import (
    FixedRatesOff,
    PoolCurrencyDiffers,
    PoolExists,
    PoolUnknown,
    ProposalDiffers,
    ReserveTooSmall,
)
from .pricing import RESERVE_FLOOR_MIN
from .records import Pool, limits_of


class NewPool(msgspec.Struct, frozen=True):
    """A pool to be opened with a peer, this registry as its home."""

    currency: str
    peer: str
    reserve_own: Minor
    reserve_foreign: Minor


async def open_pool(runtime: Runtime, administrator: Developer, new: NewPool) -> Pool:
    """Fund the own reserve and propose the pool to the peer, whose administrator funds the other one.

    A peer that does not answer is asked again by a job. Raises: PeerUnknown, PeerAmbiguous, PoolCurrencyDiffers, PoolExists,
    ReserveTooSmall, TreasuryInsufficient, and the errors of `require_may_cross`.
    """
    database, settings = runtime.database, runtime.settings
    opened = await database.transaction(lambda tx: propose_pool(tx, administrator, new, settings))
    await acts.send_acts(runtime, opened.peer)
    pool = await database.query(lambda tx: store.find_pool(tx, opened.peer))
    if pool is None or not pool.is_home:
        raise PoolExists
    return pool


async def propose_pool(tx: Tx, administrator: Developer, new: NewPool, settings: Settings) -> Pool:
    """Fund the own reserve and store the proposal, which a job sends to the peer. Raises: as `open_pool`, less its answer."""
    peer = await federation.peer_by_name(tx, new.peer)
    await federation.require_may_cross(tx, settings, peer)
    assert peer.spiffe_id is not None
    assert peer.ledger_id is not None
    if peer.settlement_currency != new.currency or new.currency == settings.settlement_currency:
        raise PoolCurrencyDiffers
    pool = Pool.new(
        peer.spiffe_id,
        peer.ledger_id,
        new.currency,
        is_home=True,
        mode=settings.fx_rate_mode,
        rate=None,
        proposed=new.reserve_foreign,
    )
    _require_floor(new.reserve_own, limits_of(settings).reserve_floor)
    _require_floor(new.reserve_foreign, RESERVE_FLOOR_MIN)
    if not await store.add_pool(tx, pool):
        raise PoolExists
    await store.change_by_act(tx, pool.peer, new.reserve_own, 0)
    ref = await acts.record(
        tx, pool, "propose", settings.settlement_currency, new.reserve_own, asked=new.reserve_foreign
    )
    await record_admin_act(
        tx, administrator, act="pool.open", subject=pool.frame, reason=format_amount(new.reserve_own)
    )
    await _move(tx, settings, pool, new.reserve_own, ref=str(ref))
    return pool


def _require_floor(reserve: int, floor: Minor) -> None:
    """A pool whose reserve is below its floor pays nothing. Raises: ReserveTooSmall."""
    if reserve < floor:
        raise ReserveTooSmall(
            f"The pool opens with a reserve of at least {format_amount(floor)}, got {format_amount(reserve)}.",
            context={"reserve_floor": format_amount(floor)},
        )


async def fund(tx: Tx, administrator: Developer, pool: Pool, amount: Minor, settings: Settings) -> Pool:
    """Move units from the treasury to the reserve. The first funding of a proposed pool is the one that its home proposed.

    Raises: PoolUnknown, ProposalDiffers, ReserveTooSmall, TreasuryInsufficient.
    """
    locked = await _locked(tx, pool)
    if locked.proposed is not None and not locked.is_home:
        if locked.proposed != amount:
            raise ProposalDiffers(context={"proposed": format_amount(locked.proposed)})
        _require_floor(amount, limits_of(settings).reserve_floor)
        await store.accept_proposal(tx, locked.peer)
    return await _change(tx, administrator, locked, Minor(amount), settings)


async def drain(tx: Tx, administrator: Developer, pool: Pool, amount: Minor, settings: Settings) -> Pool:
    """Reserve to treasury. Raises: PoolUnknown, ReserveTooSmall."""
    locked = await _locked(tx, pool)
    if locked.own.lowest - amount < limits_of(settings).reserve_floor:
        raise ReserveTooSmall
    return await _change(tx, administrator, locked, Minor(-amount), settings)


async def close_pool(tx: Tx, administrator: Developer, pool: Pool, settings: Settings) -> Pool:
    """Reserve to treasury, and no pool any more; the peer does the same. Raises: PoolUnknown, PoolBusy."""
    locked = await _locked(tx, pool)
    await acts.record(tx, locked, "close", settings.settlement_currency)
    await record_admin_act(
        tx,
        administrator,
        act="pool.close",
        subject=locked.frame,
        reason=format_amount(locked.reserve_own),
    )
    await acts.end_pool(tx, locked, settings)
    return locked


async def set_rate(tx: Tx, administrator: Developer, pool: Pool, rate: Decimal, settings: Settings) -> Pool:
    """The rate of fixed mode, in foreign units for one own unit. Raises: PoolUnknown, FixedRatesOff."""
    locked = await _locked(tx, pool)
    if not locked.is_home or settings.fx_rate_mode != "fixed":
        raise FixedRatesOff
    changed = replace(locked, mode="fixed", rate=rate)
    await store.set_terms(tx, locked.peer, changed.mode, rate)
    await record_admin_act(tx, administrator, act="pool.rate", subject=locked.frame, reason=f"{rate:f}")
    await acts.record(tx, changed, "terms", settings.settlement_currency)
    return changed


async def follow_rate_mode(tx: Tx, settings: Settings) -> None:
    """Pools whose home this is are priced as FX_RATE_MODE says, and their peers are notified of a change."""
    for pool in await store.pools(tx):
        if pool.is_home and pool.mode != settings.fx_rate_mode:
            changed = replace(await _locked(tx, pool), mode=settings.fx_rate_mode)
            await store.set_terms(tx, pool.peer, changed.mode, changed.rate)
            await acts.record(tx, changed, "terms", settings.settlement_currency)


async def _locked(tx: Tx, pool: Pool) -> Pool:
    locked = await store.find_pool(tx, pool.peer, lock=True)
    if locked is None:
        raise PoolUnknown
    return locked


async def _change(tx: Tx, administrator: Developer, pool: Pool, added: Minor, settings: Settings) -> Pool:
    """Add to the own reserve, or take from it where `added` is negative."""
    kind: Literal["fund", "drain"] = "fund" if added > 0 else "drain"
    amount = Minor(abs(added))
    await store.change_by_act(tx, pool.peer, added, 0)
    ref = await acts.record(tx, pool, kind, settings.settlement_currency, amount)
    await record_admin_act(
        tx, administrator, act=f"pool.{kind}", subject=pool.frame, reason=format_amount(amount)
    )
    await _move(tx, settings, pool, added, ref=str(ref))
    changed = await store.find_pool(tx, pool.peer)
    assert changed is not None
    return changed


async def _move(tx: Tx, settings: Settings, pool: Pool, amount: Minor, *, ref: str) -> None:
    """Treasury to leg, or back where the amount is negative."""
    book = ledger.Book.of(settings)
    leg = book.leg(pool.frame)
    await ledger.open_leg(tx, leg)
    source, target = (book.treasury, leg) if amount > 0 else (leg, book.treasury)
    order = ledger.orders.fund(source, target, Minor(abs(amount)), ref)
    await ledger.apply(tx, [order], book, uncovered=_uncovered)


def _uncovered(_available: int, _required: int) -> ledger.TreasuryInsufficient:
    return ledger.TreasuryInsufficient("The treasury does not hold enough units; nothing was moved.")
