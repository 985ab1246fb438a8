"""Names of the jobs that carry out the deadlines of proposals."""

from typing import Literal, TypeAlias

DEADLINES = "governance: deadlines"
Deadline: TypeAlias = Literal["end", "extended end", "lapse", "effect"]


def key_of(proposal_id: int, deadline: Deadline) -> str:
    """The key of the job of a deadline."""
    return f"{proposal_id} {deadline}"
