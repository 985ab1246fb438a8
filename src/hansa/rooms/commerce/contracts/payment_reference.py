"""References by which payments name a contract and the part that they pay.

A contract is named by its number, which after a restore may be another contract's; a part by a name that no other contract has: the ledger id of the
registry, the number, the moment of the proposal and the milestone.
"""

from uuid import UUID, uuid5

from .contract import Contract
from .rules import MILESTONES_MAX

NAMES = UUID("8a1c5d1e-52d5-4b0f-9a55-0d0ff3a1c7e9")
_CONTRACT = "Contract "
DIGITS_MAX = 18
TRIES_COMPARED = 5


def message_of(contract: Contract) -> str:
    """Message of the payments of a contract."""
    return f"{_CONTRACT}{contract.id}"


def contract_in(message: str | None) -> int | None:
    """The contract that the message of a payment names, with or without a part."""
    if message is None or not message.startswith(_CONTRACT):
        return None
    number = message.removeprefix(_CONTRACT).partition(" ")[0]
    is_number = number.isascii() and number.isdecimal() and len(number) <= DIGITS_MAX
    return int(number) if is_number else None


def name_of(contract: Contract, frame: str, milestone: int | None, number: int) -> UUID:
    """The id of a transfer that pays a part; `number`: how many before it were aborted."""
    return _name(frame, contract.id, contract.created_at.isoformat(), milestone, number)


def names_of_parts(frame: str, contract_id: int, created_at: str) -> list[UUID]:
    """The ids of transfers that pay the parts of a contract of another registry, of which few were aborted before.

    `created_at` as that registry writes it.
    """
    milestones = (None, *range(MILESTONES_MAX))
    return [
        _name(frame, contract_id, created_at, milestone, number)
        for milestone in milestones
        for number in range(TRIES_COMPARED)
    ]


def _name(frame: str, contract_id: int, created_at: str, milestone: int | None, number: int) -> UUID:
    parts = (frame, contract_id, created_at, milestone, number)
    return uuid5(NAMES, " ".join(str(part) for part in parts))


def named_part(contract: Contract, frame: str, milestone: int | None) -> str:
    """Message of a payment whose id does not follow from the part."""
    return f"{message_of(contract)} {name_of(contract, frame, milestone, 0).hex[:16]}"
