"""Approvals that complete a contract, together with transfers in the commits of the ledger's batch.

The contract is judged by the same rules as elsewhere, as it was read; the database pays and writes only if its row is still
the one that was judged (`sql/contract_orders.sql`). Whatever is refused there is judged by itself, which gives the reason.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer, KeyInProgress, KeyReused, Repeatable
from hansa.foundation.values.errors import Refused
from hansa.rooms import ledger

from . import rules, store
from .contract import Contract, Payment, Status
from .deferred_response import contract_json
from .payment_reference import message_of
from .reading import ContractShown
from .records import HistoryLine


class Approved(msgspec.Struct, frozen=True, omit_defaults=True):
    """A contract whose last part `actor` approves; `version` is that of its row, `answer` is remembered with the receipt."""

    contract_id: int
    version: str
    actor: str
    milestone: int | None = None
    answer: str | None = None


class Completed(msgspec.Struct, frozen=True):
    """When the contract was completed, and the `answer` of the payload."""

    at: datetime
    answer: str | None = None


APPROVE = ledger.Extension("commerce_approve", Approved, Completed)


class Judged(msgspec.Struct, frozen=True):
    """A contract as it was read, and the version of its row."""

    shown: ContractShown
    version: str


class Approvals:
    """The approvals of one process that gather with its transfers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._found = BatchLoader[int, Judged](self._load)

    async def approve(
        self, agent: Agent, contract_id: int, milestone: int | None, request: Repeatable | None
    ) -> Answer | None:
        """The answer with the completed contract, or a repetition of it; None where it has to be judged by itself.

        Raises: KeyReused, KeyInProgress, Unavailable.
        """
        judged, settings = await self._found.find(contract_id), self._runtime.settings
        if judged is None or not is_plain(judged.shown, agent, milestone):
            return None
        shown, group = judged.shown, ledger.GROUP_COMMIT.of(self._runtime)

        def render(receipts: Sequence[ledger.Receipt]) -> str:
            return _answer(receipts[0], shown, settings)

        submitted = group.submit([order_of(judged, keep=request is not None)], request, render)
        return await ledger.try_in_batch(submitted, final=(KeyReused, KeyInProgress))

    async def _load(self, contract_ids: Sequence[int]) -> dict[int, Judged]:
        return await self._runtime.database.query(lambda tx: judged_of(tx, contract_ids))


APPROVALS: Slot[Approvals] = Slot("commerce: approvals in the batch", build=Approvals)


def answer_of_receipt(kept: str, settings: Settings) -> str:
    """The answer to an approval of which a receipt was remembered."""
    (receipt,) = ledger.stored_receipts(kept)
    remembered = APPROVE.outcome_of(receipt).answer
    assert remembered is not None, "an approval with a key remembers the contract"
    return _answer(receipt, msgspec.json.decode(remembered, type=ContractShown), settings)


def _answer(receipt: ledger.Receipt, before: ContractShown, settings: Settings) -> str:
    done = APPROVE.outcome_of(receipt)
    if done.answer is not None:
        # Of a repetition: the contract may have changed since.
        before = msgspec.json.decode(done.answer, type=ContractShown)
    assert receipt.tx_id is not None
    payment = Payment(receipt.tx_id, before.contract.part, receipt.fee)
    contract = rules.approved(replace(before.contract, now=done.at), payment)
    line = HistoryLine(
        contract.id, "approved", contract.contractor_did, _milestone(before), None, None, done.at
    )
    return contract_json(ContractShown(contract, [*before.history, line]), settings)


async def judged_of(tx: Tx, contract_ids: Sequence[int]) -> dict[int, Judged]:
    """These contracts as they are now, as far as there are such."""
    versioned = await store.find_versioned(tx, contract_ids)
    # A line that is read after its contract has changed is of a version that is refused.
    lines = await store.history(tx, [contract.id for contract, _ in versioned])
    return {
        contract.id: Judged(ContractShown(contract, lines[contract.id]), version)
        for contract, version in versioned
    }


def is_plain(shown: ContractShown, agent: Agent, milestone: int | None) -> bool:
    """Return whether the agent's approval completes the contract at once, by a payment of this registry alone."""
    contract = shown.contract
    try:
        rules.require_contractor(contract, agent.did)
        rules.require_state(contract, Status.SUBMITTED)
        rules.require_next(contract, milestone)
    except Refused:
        return False
    is_budgeted = rules.is_budgeted(contract, is_governed=agent.is_governed, grant_id=agent.grant_id)
    return contract.is_last_part and not is_budgeted and not contract.is_across and not rules.is_due(contract)


def order_of(judged: Judged, *, keep: bool) -> ledger.Order:
    """The approval of a contract that is plain; `keep` remembers it with the receipt. It may raise ClaimRefused."""
    shown = judged.shown
    payload = Approved(
        shown.contract.id,
        judged.version,
        shown.contract.contractor_did,
        _milestone(shown),
        msgspec.json.encode(shown).decode() if keep else None,
    )
    return APPROVE.on(_payment(shown.contract), payload)


def _payment(contract: Contract) -> ledger.Order:
    """Order of the payment that completes the contract, as `paying.pay_part` makes it."""
    assert contract.provider_did is not None
    message = message_of(contract)
    if contract.hold_id is not None:
        return ledger.orders.capture(contract.hold_id, contract.part, final=True, message=message)
    order = ledger.TransferOrder(contract.contractor_did, contract.provider_did, contract.part, message)
    return ledger.orders.transfer(order)


def _milestone(shown: ContractShown) -> int | None:
    return shown.contract.current.index if shown.contract.current else None
