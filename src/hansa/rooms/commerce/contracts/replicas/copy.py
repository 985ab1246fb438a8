"""Changes that a statement about a contract of another registry makes, without I/O.

A statement is the whole contract with its history. One whose history is the beginning of a longer one that is known is
outdated. Any other replaces the known state: the registry that keeps the contract decides, also after it was restored.
"""

from collections.abc import Sequence
from itertools import takewhile

from hansa.rooms.commerce.contracts.schemas import ContractMoveOut, ContractOut

# The moves that have another name than their act.
_ENDINGS = {
    "marked_failed": "failed",
    "not_submitted": "failed",
    "not_reviewed": "failed",
    "proposal_expired": "expired",
}


def is_outdated(known: ContractOut, stated: ContractOut) -> bool:
    """Return whether the known state is a later one of the same contract."""
    common = _common_moves(known, stated)
    return common == len(stated.history) < len(known.history)


def new_moves(known: ContractOut | None, stated: ContractOut) -> Sequence[ContractMoveOut]:
    """The lines of the history that are not known yet, the oldest first."""
    return stated.history[0 if known is None else _common_moves(known, stated) :]


def _common_moves(known: ContractOut, stated: ContractOut) -> int:
    """How many moves both histories begin with; none where the number was given to another contract."""
    if known.created_at != stated.created_at:
        return 0
    pairs = zip(known.history, stated.history, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].model_dump() == pair[1].model_dump(), pairs))


def name_of(line: ContractMoveOut, contract: ContractOut) -> str:
    """The name of a move in events and webhooks, such as `accepted`, `milestone_approved` or `failed`."""
    if line.act == "approved":
        parts = len(contract.milestones)
        return "milestone_approved" if parts and line.milestone != parts - 1 else "completed"
    if line.act == "party_revoked":
        return "failed" if contract.accepted_at else "cancelled"
    return _ENDINGS.get(line.act, line.act)
