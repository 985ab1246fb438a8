"""Distributions are paid to holders: on their claim, and each day without one from 0.01 units on.

A holding is settled and paid in one commit, under the lock of its listing. What a revoked agent is owed goes to the account for unclaimed units.
"""

from collections.abc import Mapping
from functools import partial

from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.did import listing_did
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger
from hansa.rooms.exchange import store as listings
from hansa.rooms.exchange.errors import ListingUnknown
from hansa.rooms.exchange.reading import HIDDEN
from hansa.rooms.exchange.records import Listing

from . import rules, store

PAYMENT = "exchange: pay distributions"
BATCH = 200
"""Holders that are paid in one transaction."""


async def claim(tx: Tx, agent: Agent, ref: str | None, settings: Settings) -> Minor:
    """Pay an agent what it is owed of one listing, or of all; returns the sum.

    Raises: ListingUnknown, AgentSuspended, AgentRevoked, AccountSuspended.
    """
    await agents.share_active(tx, agent.did)
    refs = await store.refs_owed(tx, agent.did) if ref is None else [ref]
    found = [await _locked(tx, one) for one in refs]
    book, orders = ledger.Book.of(settings), []
    for listing in found:
        for did, amount in (await store.take_owed(tx, listing.ref, [agent.did])).items():
            account = listing_did(listing.treasury_did, listing.ref)
            orders.append(ledger.orders.distribution(account, did, amount, listing.ref))
    if orders:
        await ledger.apply(tx, orders, book)
    return Minor(sum(order.amount for order in orders))


async def pay_batch(tx: Tx, ref: str, after: str, settings: Settings) -> str | None:
    """Pay the first holders of a listing behind this one; returns the last of them, None where there is none."""
    listing = await _locked(tx, ref)
    dids = await store.owed_at(tx, ref, after, rules.DAILY_MIN, BATCH)
    if not dids:
        return None
    statuses = await agents.statuses_of(tx, dids)
    # Those of a suspended agent wait until it claims them.
    payable = [did for did in dids if statuses.get(did) in {"active", "revoked"}]
    owed = await store.take_owed(tx, ref, payable)
    if owed:
        book = ledger.Book.of(settings)
        await ledger.open_unclaimed(tx, book)
        await ledger.apply(tx, _payments(listing, owed, statuses, book), book)
    return dids[-1]


def _payments(
    listing: Listing, owed: Mapping[str, Minor], statuses: Mapping[str, str], book: ledger.Book
) -> list[ledger.Order]:
    account = listing_did(listing.treasury_did, listing.ref)
    return [
        ledger.orders.distribution(account, did, amount, listing.ref)
        if statuses[did] == "active"
        else ledger.orders.unclaimed_distribution(account, book.unclaimed, amount, listing.ref, did)
        for did, amount in sorted(owed.items())
    ]


async def _locked(tx: Tx, ref: str) -> Listing:
    listing = await listings.lock(tx, ref)
    if listing is None or listing.status in HIDDEN:
        raise ListingUnknown
    return listing


async def _pay(runtime: Runtime, job: Job) -> None:
    paid: str | None = ""
    while paid is not None:
        paid = await runtime.database.transaction(
            partial(pay_batch, ref=job.key, after=paid, settings=runtime.settings)
        )


PAY_DISTRIBUTIONS = LeasedKind(PAYMENT, _pay, retries=Retries(None, 1.0, 3600.0))
