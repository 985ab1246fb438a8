"""Units with which owners pay for jobs that count: granted by an administrator or earned by jobs that count.

Genesis grants are no such units, and neither are units of a transfer: whoever makes accounts gets genesis grants for nothing.
- A job counts only if the payer's owner has units for its amount and fee. They are then the payee's owner's, except the fee.
- A ruling in favor of the defendant counts only if the complainant's owner has units for the fee in question, which it then loses.
- A payment from another registry that counts brings its amount, times the share of its border fee that counts.
All units of owners together are thus never more than administrators granted and other registries paid.
"""

from collections.abc import Sequence
from dataclasses import replace

from hansa.foundation.events import CrossRegistryTransferCompleted
from hansa.foundation.plumbing.jobs.reactors import StoredEvent
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import agents, ledger
from hansa_verify import Signal

from . import funding_store as store

Noted = tuple[StoredEvent, Signal, Minor]
GRANTS_AT_ONCE = 500


class Funds:
    """The units of owners, in minor units by the id of the developer."""

    def __init__(self, available: dict[int, int]) -> None:
        self.available = available

    def add(self, owner: int, amount: int) -> None:
        """Give an owner units."""
        self.available[owner] = self.available.get(owner, 0) + amount

    def pay(self, payer: int, payee: int, amount: int, fee: int) -> bool:
        """Pay for a job, if the payer's owner has the units; whether it has."""
        if self.available.get(payer, 0) < amount + fee:
            return False
        self.add(payer, -(amount + fee))
        self.add(payee, amount)
        return True


async def evaluate(tx: Tx, noted: Sequence[Noted]) -> list[Noted]:
    """These signals in their order, those that nobody could pay for with `counts` false. One transaction after another calls this."""
    granted_to = await _granted(tx)
    parties = {did for _, signal, _ in noted for did in (signal.giver, signal.receiver)}
    owners = await agents.owners_of(tx, sorted(parties | granted_to.keys()))
    funds = Funds(await store.lock_funds(tx, sorted(set(owners.values()))))
    for payee, amount in granted_to.items():
        if payee in owners:
            funds.add(owners[payee], amount)
    judged = [(event, _judged(funds, owners, event, signal, paid), paid) for event, signal, paid in noted]
    await store.write_funds(tx, funds.available)
    return judged


async def _granted(tx: Tx) -> dict[str, int]:
    """Return the units that administrators granted since, by the agent."""
    granted: dict[str, int] = {}
    after = await store.granted(tx)
    while found := await ledger.treasury_grants_after(tx, after, GRANTS_AT_ONCE):
        for one in found:
            granted[one.payee] = granted.get(one.payee, 0) + one.amount
        after = found[-1].id
        await store.set_granted(tx, after)
    return granted


def _judged(funds: Funds, owners: dict[str, int], event: StoredEvent, signal: Signal, paid: Minor) -> Signal:
    if not signal.counts or signal.kind == "ruling_for_complainant":
        return signal
    payer, payee = owners.get(signal.giver), owners.get(signal.receiver)
    if event.event_type == CrossRegistryTransferCompleted.__name__:
        border_fee = parse_amount(event.data["fee"])
        if payee is not None and border_fee:
            funds.add(payee, paid * signal.fee // border_fee)
        return signal
    is_funded = payer is not None and payee is not None and funds.pay(payer, payee, paid, signal.fee)
    return replace(signal, counts=is_funded)
