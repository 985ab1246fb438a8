"""The levy: each day (UTC) the share of all points in the revenue since the last levy goes from the organization to the account of the listing.

- One commit has the levy of a day, with what was taken and its distribution; a day is levied once (a unique row). Where the registry did not
  run, the next levy has the revenue of all days since the last one.
- It is taken from the treasury, then from the agents of the organization, the oldest first, whatever their status. A shortfall is arrears,
  which are taken as soon as the accounts have units.
- The last levy comes once every transaction before the end of the term is counted.
"""

from datetime import UTC, date, datetime, time, timedelta

from hansa.foundation.events import RevenueDistributed, RevenueLevied
from hansa.foundation.plumbing.jobs import Job, PutOff, Retries, TransactionalKind, enqueue, sweep_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import listing_did
from hansa.foundation.values.money import ZERO, Minor, format_amount
from hansa.rooms import agents, journal, ledger
from hansa.rooms.exchange import store as listings

from . import rules, store
from .paying import PAYMENT
from .records import Levy, Revenue

LEVYING = "exchange: levy revenue"
EVERY_SECONDS = 10


async def levy_or_collect(tx: Tx, ref: str, runtime: Runtime) -> None:
    """Levy the revenue of a listing where that is due, else take what it is in arrears with.

    Raises: PutOff, where revenue of the day has yet to be counted.
    """
    await listings.lock(tx, ref)
    of = await store.find(tx, ref)
    assert of is not None, "a listing whose launch has closed has its revenue"
    day = await _day_due(tx, of)
    if day is None:
        await _collect_arrears(tx, of, runtime)
    else:
        await _levy(tx, of, day, runtime)


async def _day_due(tx: Tx, of: Revenue) -> date | None:
    """The day to levy now. Raises: PutOff."""
    if of.is_over:
        return None
    counted = await store.counted(tx)
    if of.to_position is not None:
        if counted < of.to_position:
            raise PutOff("Revenue before the end of the term has yet to be counted.")
        return of.today
    yesterday = of.today - timedelta(days=1)
    if (of.levied_on or of.launched_on - timedelta(days=1)) >= yesterday:
        return None
    first_uncounted = await journal.first_recorded_from(tx, counted)
    if first_uncounted is not None and first_uncounted < datetime.combine(of.today, time(), UTC):
        raise PutOff("Revenue of the day has yet to be counted.")
    return yesterday


async def _levy(tx: Tx, of: Revenue, day: date, runtime: Runtime) -> None:
    revenue = await store.take_credits(tx, of.ref, of.treasury_did)
    due, remainder = rules.due_of(revenue, of)
    claimed = Minor(of.arrears + due)
    taken = await _take(tx, of, claimed, runtime)
    levy = Levy(revenue, due, taken, Minor(claimed - taken), remainder)
    await store.levied(tx, of, day, levy)
    await _record(tx, of, day, levy)


async def _collect_arrears(tx: Tx, of: Revenue, runtime: Runtime) -> None:
    taken = await _take(tx, of, of.arrears, runtime)
    if taken:
        day = of.levied_on or of.today
        await _record(tx, of, day, Levy(0, ZERO, taken, Minor(of.arrears - taken), of.remainder))


async def _take(tx: Tx, of: Revenue, claimed: Minor, runtime: Runtime) -> Minor:
    """Take up to these units from the organization."""
    if not claimed:
        return ZERO
    own = await agents.of_organization(tx, of.organization_id)
    payers = [of.treasury_did, *(agent.did for agent in own)]
    account = listing_did(of.treasury_did, of.ref)
    wanted = ledger.Collection(payers, account, claimed, of.ref)
    return await ledger.collect(tx, wanted, ledger.Book.of(runtime.settings))


async def _record(tx: Tx, of: Revenue, day: date, levy: Levy) -> None:
    """Write the arrears, distribute what was taken, and record both."""
    await store.set_arrears(tx, of.ref, levy.arrears)
    event = RevenueLevied(
        of.ref,
        of.treasury_did,
        day=day.isoformat(),
        revenue=format_amount(levy.revenue),
        due=format_amount(levy.due),
        taken=format_amount(levy.taken),
        arrears=format_amount(levy.arrears),
    )
    await journal.append(tx, event)
    distribution = rules.distributed(of.carried + levy.taken, of.held)
    await store.distribute(tx, of.ref, distribution)
    if distribution.per_point:
        await journal.append(
            tx, RevenueDistributed(of.ref, of.treasury_did, per_point=format_amount(distribution.per_point))
        )
        await enqueue(tx, PAYMENT, of.ref)


async def _begin(tx: Tx) -> None:
    for ref in await store.waiting(tx):
        await enqueue(tx, LEVYING, ref)


async def _work(tx: Tx, runtime: Runtime, job: Job) -> None:
    await levy_or_collect(tx, job.key, runtime)


LEVY_WHEN_DUE = sweep_of("exchange: begin levies", EVERY_SECONDS, store.HAS_WAITING, _begin, once_a_turn=True)
LEVY_REVENUE = TransactionalKind(LEVYING, _work, retries=Retries(None, 1.0, 60.0))
