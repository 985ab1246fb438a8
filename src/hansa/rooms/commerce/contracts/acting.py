"""How an act on a contract is carried out for a request: within the limit of writes, once under its key."""

from collections.abc import Awaitable, Callable

import msgspec
from fastapi import Request
from fastapi.responses import Response

from hansa.foundation.plumbing.process.runtime import Config, Runtime, runtime_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web import idempotency
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.idempotency import Answer, IdempotencyKey, Repeatable, answer_once
from hansa.foundation.plumbing.web.limits import LeasedLimit, WriteLimit
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents, ledger

from .approval_batch import answer_of_receipt
from .deferred_response import Begun, answer_when_decided, contract_json
from .errors import PaymentNeedsApproval
from .reading import ContractShown


class ContractActs(msgspec.Struct, frozen=True):
    """Dependencies of a request for an act, the same for every act."""

    config: Settings
    runtime: Runtime
    writes: LeasedLimit
    key: str | None

    def of(self, agent: Agent, route: str, body: RequestBody | None = None) -> "ContractAct":
        """The act that the agent requests by `route`."""
        declared = None if body is None else body.model_dump(mode="json")
        request = Repeatable(agent.did, route, self.key, declared) if self.key else None
        return ContractAct(agent, request, self.runtime, self.writes)


async def contract_acts(
    config: Config, request: Request, *, writes: WriteLimit, key: IdempotencyKey = None
) -> ContractActs:
    """A dependency of the routes of acts."""
    return ContractActs(config, runtime_of(request), writes, key)


class ContractAct(msgspec.Struct, frozen=True):
    """An act that one agent requests."""

    agent: Agent
    request: Repeatable | None
    runtime: Runtime
    writes: LeasedLimit

    @property
    def scope(self) -> bytes | None:
        """Scope of the Idempotency-Key by which a repetition is recognized; None without a key."""
        return self.request.scope if self.request else None

    async def once(
        self,
        act: Callable[[Tx], Awaitable[ContractShown | agents.Approval]],
        gathered: Callable[[], Awaitable[Answer | None]] | None = None,
    ) -> Response:
        """Carry out the act once. An act that waits for the agent's owner leaves its key free, and is refused.

        `gathered` is tried before, and returns None where the act has to be carried out by itself. Where the act begins a payment to another
        registry, the decision is waited for, up to ten seconds.

        Raises: TooManyRequests, KeyReused, KeyInProgress, PaymentNeedsApproval, the errors of the act, and the reason for
        which the payee's registry refused.
        """
        await self.writes.admit(self.agent.did)
        if gathered is not None and (done := await gathered()) is not None:
            return answer_once(done.text, replayed=done.replayed)
        outcome = await self.runtime.database.transaction(lambda tx: self._recalled_or_done(tx, act))
        if isinstance(outcome, agents.Approval):
            raise PaymentNeedsApproval(
                context={"approval_id": str(outcome.id), "expires_at": outcome.expires_at.isoformat()}
            )
        answer, replayed = outcome
        if isinstance(answer, Begun):
            answer = await answer_when_decided(self.runtime, answer)
        return answer_once(answer, replayed=replayed)

    async def _recalled_or_done(
        self, tx: Tx, act: Callable[[Tx], Awaitable[ContractShown | agents.Approval]]
    ) -> tuple[str | Begun, bool] | agents.Approval:
        if self.request is not None and (stored := await idempotency.recall(tx, self.request)) is not None:
            return self._kept(stored), True
        outcome = await act(tx)
        if isinstance(outcome, agents.Approval):
            return outcome
        contract = outcome.contract
        begun = None if contract.crossing is None else Begun(contract.id, contract.crossing)
        answer = begun or contract_json(outcome, self.runtime.settings)
        if self.request is not None:
            await idempotency.remember(
                tx, self.request, answer if isinstance(answer, str) else answer.as_text()
            )
        return answer, False

    def _kept(self, kept: str) -> str | Begun:
        if ledger.is_of_receipts(kept):
            return answer_of_receipt(kept, self.runtime.settings)
        return Begun.of_text(kept) or kept
