"""A contract of two agents and its dispute, and each act on them as one transaction of a meeting."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Developer
from hansa.foundation.values.money import ZERO, parse_amount
from hansa.rooms import agents, ledger
from hansa.rooms.commerce.contracts.accept import accept, judge_acceptance
from hansa.rooms.commerce.contracts.approval_batch import is_plain, judged_of, order_of
from hansa.rooms.commerce.contracts.approve import Approval, approve
from hansa.rooms.commerce.contracts.contract import Contract
from hansa.rooms.commerce.contracts.contract_batch import PlainMove, carry_out
from hansa.rooms.commerce.contracts.deadlines import meet_deadline
from hansa.rooms.commerce.contracts.ending import cancel, mark_failed
from hansa.rooms.commerce.contracts.paying import Consent
from hansa.rooms.commerce.contracts.suspension import end_of_revoked, resume, stop
from hansa.rooms.commerce.contracts.transitions import Move
from hansa.rooms.commerce.contracts.work import (
    Submission,
    judge_submission,
    request_changes,
    submit,
)
from hansa.rooms.commerce.disputes import SLASH_BOND
from hansa.rooms.commerce.disputes.deciding import Ordered, open_voting, rule
from hansa.rooms.commerce.disputes.deciding import meet_deadline as meet_deadline_of_dispute
from hansa.rooms.commerce.disputes.dispute import Complaint, Decision, Given, Piece, Ruling
from hansa.rooms.commerce.disputes.filing import add_evidence, file
from hansa.rooms.commerce.payments.settle import SettleOrder, settle
from hansa.rooms.commerce.payments.settlement_worker import settle_token
from tests.properties.interleaving import UseCase, within_transaction
from tests.registry import TestAgent, TestRegistry
from tests.rooms.commerce.disputing import SHA256, Disputing


@dataclass(frozen=True)
class Scene:
    """Contract of Alice and Bob, its dispute if there is one, and the acts on both."""

    disputing: Disputing
    contract_id: int
    dispute_id: int
    alice: Agent
    bob: Agent
    administrator: Developer
    token: str | None = None

    @property
    def settings(self) -> Any:
        return self.disputing.registry.settings

    def act(self, name: str) -> UseCase:
        return getattr(self, f"_{name}")

    async def _accept(self, tx: Tx) -> Any:
        return await accept(tx, self.bob.did, self.contract_id, self.settings, _admits)

    async def _cancel(self, tx: Tx) -> Any:
        return await cancel(tx, self.alice, self.contract_id, None)

    async def _submit(self, tx: Tx) -> Any:
        return await submit(tx, self.bob.did, self.contract_id, Submission(None, None))

    async def _accept_together(self, tx: Tx) -> Any:
        """The acceptance as one of those that share a transaction, or by itself where it is left out."""
        act = PlainMove(self.contract_id, self.bob.did, self._judge_acceptance, binds=True)
        return (await carry_out(tx, [act], self.settings.settlement_currency)).get(act) or await self._accept(
            tx
        )

    def _judge_acceptance(self, contract: Contract) -> Move | None:
        return judge_acceptance(contract, self.bob.did)

    async def _submit_together(self, tx: Tx) -> Any:
        act = PlainMove(self.contract_id, self.bob.did, self._judge_submission, binds=False)
        return (await carry_out(tx, [act], self.settings.settlement_currency)).get(act) or await self._submit(
            tx
        )

    def _judge_submission(self, contract: Contract) -> Move:
        return judge_submission(contract, self.bob.did, Submission(None, None))

    async def _file(self, tx: Tx) -> Any:
        complaint = Complaint(self.alice.did, self.bob.did, "OTHER", "No.", contract_id=self.contract_id)
        return await file(tx, complaint, self.settings)

    async def _file_back(self, tx: Tx) -> Any:
        complaint = Complaint(self.bob.did, self.alice.did, "OTHER", "No.", contract_id=self.contract_id)
        return await file(tx, complaint, self.settings)

    async def _evidence(self, tx: Tx) -> Any:
        return await add_evidence(tx, self.bob, self.dispute_id, Given(Piece(SHA256)))

    async def _open_voting(self, tx: Tx) -> Any:
        return await open_voting(tx, self.administrator, self.dispute_id)

    async def _rule(self, tx: Tx) -> Any:
        decision = Decision(Ruling.IN_FAVOR_OF_COMPLAINANT, ZERO, parse_amount("1"), None)
        return await self._decide(tx, decision)

    async def _rule_back(self, tx: Tx) -> Any:
        return await self._decide(tx, Decision(Ruling.IN_FAVOR_OF_DEFENDANT, ZERO, ZERO, None))

    async def _dismiss(self, tx: Tx) -> Any:
        return await self._decide(tx, Decision(Ruling.DISMISSED, ZERO, ZERO, None))

    async def _decide(self, tx: Tx, decision: Decision) -> Any:
        ordered = Ordered(self.dispute_id, decision)
        slash_bond = SLASH_BOND.of(self.disputing.registry.runtime)
        return await rule(tx, self.administrator, ordered, slash_bond, self.settings)

    async def _dispute_deadline(self, tx: Tx) -> Any:
        return await meet_deadline_of_dispute(tx, self.dispute_id, self.settings)

    async def _approve(self, tx: Tx) -> Any:
        approval = Approval(None, Consent(), self.token)
        return await approve(tx, self.alice, self.contract_id, approval, self.disputing.registry.runtime)

    async def _gather(self, tx: Tx) -> Any:
        """The approval in the ledger's batch, or by itself where the batch refuses it."""
        judged = (await judged_of(tx, [self.contract_id]))[self.contract_id]
        if is_plain(judged.shown, self.alice, None):
            book = ledger.Book.of(self.settings)
            try:
                return await ledger.apply(tx, [order_of(judged, keep=False)], book)
            except ledger.ClaimRefused:
                pass
        return await self._approve(tx)

    async def _return(self, tx: Tx) -> Any:
        return await request_changes(tx, self.alice, self.contract_id, None)

    async def _fail(self, tx: Tx) -> Any:
        return await mark_failed(tx, self.alice, self.contract_id, None, self.settings)

    async def _deadline(self, tx: Tx) -> Any:
        return await meet_deadline(tx, self.contract_id, self.disputing.registry.runtime)

    async def _suspend(self, tx: Tx) -> Any:
        return await stop(tx, self.contract_id, self.bob.did, datetime.now(UTC))

    async def _reinstate(self, tx: Tx) -> Any:
        return await resume(tx, self.contract_id, self.bob.did, datetime.now(UTC))

    async def _revoke(self, tx: Tx) -> Any:
        return await end_of_revoked(tx, self.contract_id, self.bob.did, self.settings)

    async def _settle(self, tx: Tx) -> Any:
        """The token is settled by itself: its state, and then the payment."""
        assert self.token is not None
        settled = await settle(tx, SettleOrder(self.token, self.alice.did), ledger.Book.of(self.settings))
        within = within_transaction(self.disputing.registry.runtime, tx)
        await settle_token(within, settled.token.id)
        return settled


async def caller_of(registry: TestRegistry, agent: TestAgent) -> Agent:
    """The agent as a route knows it."""
    owner = await registry.database.read(lambda tx: agents.owner_of(tx, agent.did))
    assert owner is not None
    return Agent(agent.did, owner, ("client",), frozenset({"payment.pay"}), is_governed=False)


async def administrator_of(disputing: Disputing) -> Developer:
    """The administrator as a route knows it."""
    email = disputing.administrator.email
    developer_id = await disputing.registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    areas = frozenset({"admin_enforcement"})
    return Developer(developer_id, email, "test", is_verified=True, areas=areas, is_admin=False)


async def _admits(_: Tx, __: str, ___: Any, ____: Any) -> bool:
    return True
