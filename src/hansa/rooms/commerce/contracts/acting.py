"""How an act on a contract is carried out for a request: within the limit of writes, once under its key."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi.responses import Response

from hansa.foundation.plumbing import idempotency
from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Database, Tx
from hansa.foundation.plumbing.idempotency import IdempotencyKey, Repeatable, answer_once
from hansa.foundation.plumbing.limits import LeasedLimit, WriteLimit
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import agents

from .errors import PaymentNeedsApproval
from .reading import ContractShown
from .schemas import ContractOut


class ContractActs:
    """What a request gives to an act, whatever the act is."""

    def __init__(self, config: Config, db: Db, *, writes: WriteLimit, key: IdempotencyKey = None) -> None:
        self.config = config
        self._db = db
        self._writes = writes
        self._key = key

    def of(self, agent: Agent, route: str, body: RequestBody | None = None) -> "ContractAct":
        """The act that the agent requests by `route`."""
        stated = None if body is None else body.model_dump(mode="json")
        request = Repeatable(agent.did, route, self._key, stated) if self._key else None
        return ContractAct(agent, request, self._db, self._writes, self.config)


@dataclass(frozen=True)
class ContractAct:
    """An act that one agent requests."""

    agent: Agent
    request: Repeatable | None
    db: Database
    writes: LeasedLimit
    settings: Settings

    @property
    def scope(self) -> bytes | None:
        """What a repetition of the request is known by; None without a key."""
        return self.request.scope if self.request else None

    async def once(self, act: Callable[[Tx], Awaitable[ContractShown | agents.Approval]]) -> Response:
        """Carry it out once. What waits for the agent's owner leaves its key free, and is refused.

        Raises: TooManyRequests, KeyReused, KeyInProgress, PaymentNeedsApproval, and what the act raises.
        """
        await self.writes.admit(self.agent.did)
        outcome = await self.db.act(lambda tx: self._recalled_or_done(tx, act))
        if isinstance(outcome, agents.Approval):
            raise PaymentNeedsApproval(
                context={"approval_id": str(outcome.id), "expires_at": outcome.expires_at.isoformat()}
            )
        answer, replayed = outcome
        return answer_once(answer, replayed=replayed)

    async def _recalled_or_done(
        self, tx: Tx, act: Callable[[Tx], Awaitable[ContractShown | agents.Approval]]
    ) -> tuple[str, bool] | agents.Approval:
        if self.request is not None and (kept := await idempotency.recall(tx, self.request)) is not None:
            return kept, True
        outcome = await act(tx)
        if isinstance(outcome, agents.Approval):
            return outcome
        answer = ContractOut.of(outcome, self.settings.trust_domain).model_dump_json()
        if self.request is not None:
            await idempotency.remember(tx, self.request, answer)
        return answer, False
