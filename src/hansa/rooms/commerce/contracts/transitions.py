"""One move of a contract: its new state, a line of its history, its event and the jobs that follow, in one commit."""

from typing import Any

import msgspec

from hansa.foundation.events import Event
from hansa.foundation.plumbing.jobs import NewJob, enqueue_many
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, enforcement, journal

from . import rules, store
from .contract import Contract
from .errors import ContractUnknown, WrongState
from .reading import ContractShown
from .records import HistoryLine
from .replicas.stating import let_state

DEADLINES = "commerce: contract deadlines"
_CHANGED = "The contract has changed meanwhile."


class Act(msgspec.Struct, frozen=True):
    """Act with its actor; the registry itself acts at a deadline."""

    name: str
    actor: str | None
    milestone: int | None = None
    note: str | None = None
    deliverable: dict[str, Any] | None = None


async def take(tx: Tx, contract_id: int) -> Contract:
    """Lock a contract. Raises: ContractUnknown."""
    contract = await store.lock(tx, contract_id)
    if contract is None:
        raise ContractUnknown
    return contract


async def require_in_time(tx: Tx, contract: Contract) -> None:
    """No deadline has passed, but for one that a suspension stopped. Raises: DeadlinePassed."""
    if rules.is_due(contract) and not await suspensions_at_deadline(tx, contract):
        rules.require_in_time(contract)


async def suspensions_at_deadline(tx: Tx, contract: Contract) -> list[enforcement.HardSuspension]:
    """Hard suspensions of the parties when the deadline that applies came; a revoked one stops nothing any more."""
    assert contract.due_at is not None
    found = await enforcement.hard_suspensions_at(tx, contract.parties, contract.due_at)
    if not found:
        return []
    statuses = await agents.statuses_of(tx, contract.parties)
    return [suspension for suspension in found if statuses.get(suspension.did) != "revoked"]


class Move(msgspec.Struct, frozen=True):
    """A contract before and after an act, and the event of it."""

    before: Contract
    after: Contract
    act: Act
    event: Event

    @property
    def line(self) -> HistoryLine:
        """Line of the history about the move."""
        return _line(self.after, self.act)


async def move(tx: Tx, before: Contract, after: Contract, act: Act, *events: Event) -> ContractShown:
    """Write a move. Raises: WrongState when the contract is not in the state that it is moved from."""
    history = await store.save_with_line(tx, before, after, _line(after, act))
    if not history:
        raise WrongState(_CHANGED)
    await _follow(tx, before, after)
    await journal.append(tx, *events)
    return ContractShown(after, history)


async def begin(tx: Tx, contract: Contract, line: HistoryLine, event: Event) -> ContractShown:
    """Write the event of a proposal whose row has its first line, and let the jobs follow."""
    await schedule(tx, contract)
    await let_state(tx, contract)
    await journal.append(tx, event)
    return ContractShown(contract, [line])


def _line(contract: Contract, act: Act) -> HistoryLine:
    return HistoryLine(
        contract.id, act.name, act.actor, act.milestone, act.note, act.deliverable, contract.now
    )


async def keep(tx: Tx, before: Contract, after: Contract) -> None:
    """Write the state without a line in the history, and let its deadline be met. Raises: WrongState."""
    if not await store.save(tx, before, after):
        raise WrongState(_CHANGED)
    await _follow(tx, before, after)


async def _follow(tx: Tx, before: Contract, after: Contract) -> None:
    await let_state(tx, after)
    if has_new_deadline(before, after):
        await schedule(tx, after)


def has_new_deadline(before: Contract, after: Contract) -> bool:
    """Return whether the time for the next step ends at another moment than before."""
    return after.due_at is not None and after.due_at != before.due_at


async def schedule(tx: Tx, *contracts: Contract) -> None:
    """Let a job run for each of them when the deadline that applies has come."""
    # A job for each deadline: one that was moved finds its contract not due, and does nothing.
    await enqueue_many(tx, DEADLINES, [NewJob(_job_key(one), one.due_at) for one in contracts])


def _job_key(contract: Contract) -> str:
    assert contract.due_at is not None
    return f"{contract.id} {contract.due_at.isoformat()}"


def contract_of_job(key: str) -> int:
    """The contract of a job with this key."""
    return int(key.partition(" ")[0])
