"""Credits of organizations with points: settled transactions of the journal, each counted once, in the commit that moves the place behind it.

Credits to the treasury and to the agents of the organization count. Payers are judged at the levy.
"""

from hansa.foundation.plumbing.jobs import sweep_with_runtime
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal

from . import rules, store
from .records import Counting

EVENTS_AT_ONCE = 20_000
EVERY_SECONDS = 10


async def count_settled(tx: Tx, _: Runtime) -> None:
    """Count the credits that became settled since the last time, with a limit for each run."""
    after = await store.lock_counted(tx)
    listings = await store.counting(tx)
    if not listings:
        return
    # Nothing before the first launch is revenue.
    after = max(after, min(listing.from_position for listing in listings))
    before = await journal.end_of_portion(tx, after, EVENTS_AT_ONCE)
    of_account: dict[str, list[Counting]] = {}
    for listing in listings:
        for did in listing.accounts:
            of_account.setdefault(did, []).append(listing)
    found = await journal.credits_between(tx, rules.TYPES, list(of_account), after, before)
    counted = [
        (listing.ref, credit.payer, credit.amount)
        for credit in found
        for listing in of_account[credit.payee]
        if listing.counts(credit.position)
    ]
    await store.add(tx, counted)
    await store.set_counted(tx, before)


COUNT_REVENUE = sweep_with_runtime(
    "exchange: count revenue",
    EVERY_SECONDS,
    count_settled,
    has_work=journal.has_settled_since(store.COUNTED),
)
