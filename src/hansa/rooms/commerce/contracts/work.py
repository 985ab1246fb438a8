"""The provider submits its work; the contractor returns it for changes."""

from typing import Any

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent

from . import events, rules
from .contract import Contract, Status
from .reading import ContractShown
from .transitions import Act, Move, move, require_in_time, take


class Submission(msgspec.Struct, frozen=True):
    """Submission: {uri?, sha256, note?}, and the number of its milestone; None is the next one."""

    deliverable: dict[str, Any] | None
    milestone: int | None


async def submit(tx: Tx, did: str, contract_id: int, submission: Submission) -> ContractShown:
    """Submit the work, or the next milestone of it, as the provider `did`.

    Raises: ContractUnknown, WrongParty, WrongState, PaymentUnderWay, DeadlinePassed, MilestoneNotNext, TooManySubmissions.
    """
    contract = await take(tx, contract_id)
    _require_submittable(contract, did)
    await require_in_time(tx, contract)
    judged = _judged(contract, did, submission)
    return await move(tx, contract, judged.after, judged.act, judged.event)


def judge_submission(contract: Contract, did: str, submission: Submission) -> Move:
    """The submission by the agent `did`, if its deadline has not passed. Raises: as `submit`, but for DeadlinePassed."""
    _require_submittable(contract, did)
    return _judged(contract, did, submission)


def _require_submittable(contract: Contract, did: str) -> None:
    rules.require_provider(contract, did)
    rules.require_state(contract, Status.ACCEPTED)


def _judged(contract: Contract, did: str, submission: Submission) -> Move:
    rules.require_next(contract, submission.milestone)
    milestone = contract.current.index if contract.current else None
    after = rules.submitted(contract)
    act = Act("submitted", did, milestone, deliverable=submission.deliverable)
    return Move(contract, after, act, events.submitted(after, milestone))


async def request_changes(tx: Tx, agent: Agent, contract_id: int, note: str | None) -> ContractShown:
    """Return the submitted work to the provider.

    Raises: ContractUnknown, WrongParty, WrongState, DeadlinePassed.
    """
    contract = await take(tx, contract_id)
    rules.require_contractor(contract, agent.did)
    rules.require_state(contract, Status.SUBMITTED)
    await require_in_time(tx, contract)
    milestone = contract.current.index if contract.current else None
    after = rules.returned(contract)
    act = Act("changes_requested", agent.did, milestone, note)
    return await move(tx, contract, after, act, events.changes_requested(after, milestone))
