"""One attempt of a step: a purchase by the use case of `/a2a-payment/buy`, under the key `run-<id>-<step>-<n>`.

- The commit that authorizes its token writes the attempt; the commit that ends the token by the answer writes the output.
- The attempt is not repeated by its key: the token, found by the attempt, says how it ended.
"""

from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent, Grant, require_permission
from hansa.foundation.plumbing.web.idempotency import KeyInProgress, Repeatable
from hansa.foundation.values.errors import Refused, TooManyRequests, Unauthorized, Unavailable
from hansa.rooms import agents, commerce, ledger, people, transfers

from . import machine, sealing
from . import run_store as store
from .advancing import note
from .definition import Step
from .machine import Attempt, OutOfPlace
from .outputs import output_of
from .records import NewAttempt, Run
from .references import ExpandedTooLarge, ReferenceAbsent, expand, references_in, resolve, step_of

PERMISSION = "payment.pay"
TTL_SECONDS = 60
# The attempt may succeed in a moment, with the same number.
LATER = (Unavailable, KeyInProgress, TooManyRequests, agents.ApprovalsPending, agents.AgentSuspended)


class Skipped(Exception):
    """The condition of the step is not met."""


class Impossible(Exception):
    """No attempt of the step can succeed; the first argument is the reason."""


class Attempting:
    """Makes one attempt of a run."""

    def __init__(self, runtime: Runtime, run: Run, attempt: Attempt) -> None:
        self._runtime, self._run, self._attempt = runtime, run, attempt
        self._step = run.definition.step(attempt.step)

    async def make(self) -> bool:
        """Make the attempt and note what came of it; False where it has to be tried again later."""
        step_id = self._step.id
        try:
            agent, request = await self._runtime.database.query(self._prepared)
            await self._buy(agent, request)
        except OutOfPlace:
            # The run was cancelled, or another process made the attempt: nothing was authorized.
            return True
        except Skipped:
            await self._note(lambda definition, state: machine.on_unmet(definition, state, step_id))
        except Impossible as error:
            reason = str(error)
            await self._note(
                lambda definition, state: machine.on_impossible(definition, state, step_id, reason)
            )
        except transfers.ApprovalRequired as asked:
            approval_id = (asked.context or {})["approval_id"]
            await self._note(
                lambda definition, state: machine.on_approval_asked(definition, state, step_id, approval_id)
            )
        except commerce.PurchaseBudgetExceeded:
            await self._note(
                lambda definition, state: machine.on_short(definition, state, step_id, "budget_exceeded")
            )
        except ledger.InsufficientBalance:
            await self._note(
                lambda definition, state: machine.on_short(definition, state, step_id, "waiting_funds")
            )
        except LATER:
            return False
        except (Unauthorized, agents.AgentRevoked):
            await self._note(machine.cancel)
        except Refused as refusal:
            await self._refused(refusal.code.lower())
        return True

    async def _note(self, fact: Any) -> None:
        await self._runtime.database.transaction(lambda tx: note(tx, self._run.row.id, fact))

    async def _refused(self, reason: str) -> None:
        step, attempt = self._step, self._attempt
        refused = NewAttempt(step.id, attempt.n, attempt.payee, reason=reason)
        await self._runtime.database.transaction(
            lambda tx: note(
                tx,
                self._run.row.id,
                lambda definition, state: machine.on_refused(definition, state, step.id, reason),
                refused,
            )
        )

    async def _prepared(self, tx: Tx) -> tuple[Agent, commerce.ServiceRequest]:
        """The agent as it stands, and the request with its references expanded.

        Raises: Skipped, Impossible, Unauthorized, AgentSuspended, AgentRevoked, PermissionMissing.
        """
        agent = await acting_agent(tx, self._run)
        require_permission(agent, PERMISSION, self._runtime.settings.agent_rbac_mode)
        root = await self._root(tx)
        _require_met(self._step, root)
        try:
            content = expand(self._step.content, root)
        except ReferenceAbsent:
            raise Impossible("reference_absent") from None
        except ExpandedTooLarge:
            raise Impossible("request_too_large") from None
        if self._step.request is not None:
            return agent, commerce.ServiceRequest(self._step.request.method, content)
        if not isinstance(content, str | dict) or not content:
            raise Impossible("message_not_readable")
        return agent, commerce.ServiceRequest(message=content)

    async def _root(self, tx: Tx) -> dict[str, Any]:
        """The values that references of the step name: the input, and the outputs of its run."""
        seal, run_id = self._runtime.seal, self._run.row.id
        references = [one for one in references_in(self._step.content) if isinstance(one, str)]
        if self._step.when is not None:
            references.append(self._step.when.ref)
        named = {step_of(one) for one in references} - {None}
        sealed = await store.input_of(tx, run_id)
        assert sealed is not None, "the input of a run that lives is stored"
        found = await store.outputs(tx, run_id, [one for one in named if one is not None])
        return {
            "input": sealing.open_input(seal, run_id, sealed),
            "steps": {
                step: {"output": sealing.open_output(seal, attempt_id, output)}
                for step, (attempt_id, output) in found.items()
            },
        }

    async def _buy(self, agent: Agent, request: commerce.ServiceRequest) -> None:
        run, step, attempt = self._run, self._step, self._attempt
        order = commerce.PurchaseOrder(
            payee=attempt.payee,
            request=request,
            amount_max=step.max_amount,
            ttl_seconds=TTL_SECONDS,
            timeout_seconds=step.timeout_seconds,
            approval_id=None if attempt.approval_id is None else UUID(attempt.approval_id),
            budget_id=run.row.id,
        )
        key = f"run-{run.row.id}-{step.id}-{attempt.n}"
        repeatable = Repeatable(agent.did, commerce.BUY_ROUTE, key, {"run": str(run.row.id)})
        purchases = commerce.PURCHASES.of(self._runtime)
        _, is_repeated = await purchases.buy(
            agent, order, repeatable, None, in_commit=self._authorized, on_answer=self._answered
        )
        if is_repeated:
            # The agent used this key itself: its purchase is none of this run.
            await self._refused("key_used")

    async def _authorized(self, tx: Tx, payment: str) -> None:
        """Write the attempt in the commit of its token. Raises: OutOfPlace."""
        token = await commerce.token_of_id(tx, UUID(payment.removeprefix("token:")))
        assert token is not None, "the token is written in this transaction"
        run = await store.lock(tx, self._run.row.id)
        assert run is not None, "runs are not deleted"
        state = machine.on_authorized(run.definition, run.state, self._step.id, self._attempt.n)
        new = NewAttempt(self._step.id, self._attempt.n, token.payee, token.id, token.amount)
        await store.add_attempt(tx, run.row.id, new)
        await store.write(tx, run, state)

    async def _answered(self, tx: Tx, token: commerce.Token, answer: commerce.ServiceAnswer) -> None:
        """Write the answer in the commit that ends the token by it."""
        found = await store.attempt_of_token(tx, token.id)
        assert found is not None, "the attempt was written with its token"
        if answer.outcome is commerce.Outcome.DELIVERED:
            sealed = sealing.seal_output(self._runtime.seal, found.id, output_of(answer.body))
            await store.note_answer(tx, found.id, sealed)
        else:
            await store.note_reason(tx, found.id, answer.trouble or "not_delivered")


async def acting_agent(tx: Tx, run: Run) -> Agent:
    """The agent of a run as it stands now, under the grant that started it.

    Raises: Unauthorized, AgentSuspended, AgentRevoked.
    """
    row = run.row
    if row.grant_id is None or row.client is None or row.developer_id is None:
        return await agents.active_agent(tx, row.agent_did)
    grant = Grant(row.grant_id, row.client, people.read_bounds)
    return await agents.acting_under(tx, row.agent_did, row.developer_id, grant)


def _require_met(step: Step, root: dict[str, Any]) -> None:
    """Raises: Skipped; a value that is absent equals nothing."""
    if step.when is None:
        return
    try:
        found = resolve(step.when.ref, root)
    except ReferenceAbsent:
        raise Skipped from None
    # By their JSON: in Python 1 equals true.
    if msgspec.json.encode(found, order="deterministic") != msgspec.json.encode(
        step.when.equals, order="deterministic"
    ):
        raise Skipped
