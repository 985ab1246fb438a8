"""Proposals of an agent that may vote, and the bodies of requests to governance."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hansa.foundation.plumbing import parameters
from tests.governed_values import changed, time_passed

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

# The newest agent that may propose has made it, or nobody who is there.
_PROPOSE = """
INSERT INTO governance_proposal (proposer_did, owner, kind, title, description, created_at, snapshot_at, ends_at,
  eligible_weight, quorum_weight)
SELECT coalesce((SELECT did FROM agents_agent WHERE 'governor' = ANY (roles) ORDER BY id DESC LIMIT 1), 'did:none'),
  'developer:0', 'signal', 'Staged', 'Staged.', at, at, at + interval '1 hour', 0, 0
FROM clock_timestamp() at RETURNING id
"""


async def _open(stage: "Stage") -> str:
    """The id of an open proposal."""
    proposal_id: int = await stage.registry.database.transaction(lambda tx: tx.fetchval(_PROPOSE))
    return str(proposal_id)


async def _ended(stage: "Stage") -> str:
    """`<id>/tally` of a proposal whose time has ended."""
    number = await _open(stage)
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE governance_proposal SET created_at = created_at - interval '2 hours',"
            " snapshot_at = snapshot_at - interval '2 hours', ends_at = ends_at - interval '2 hours' WHERE id = $1",
            int(number),
        )
    )
    return f"{number}/tally"


async def _waiting(stage: "Stage") -> str:
    """The id of a passed change that waits for an administrator."""
    number = await _open(stage)
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE governance_proposal SET kind = 'policy_change', status = 'PASSED', execution = 'AWAITING', ended_at = now(),"
            """ policy_diff = '{"bond_maturity_days": {"from": 14, "to": 15}}' WHERE id = $1""",
            int(number),
        )
    )
    return number


async def _to_apply(stage: "Stage") -> str:
    return f"{await _waiting(stage)}/apply"


async def _to_decline(stage: "Stage") -> str:
    return f"{await _waiting(stage)}/decline"


async def _governed(stage: "Stage") -> str:
    """`bond_minimum/reset`, of a parameter that governance has changed."""
    database, settings = stage.registry.database, stage.registry.settings
    await time_passed(database)
    found = await database.read(lambda tx: parameters.current(tx, settings))
    (value,) = [one.value for one in found if one.name == "bond_minimum"]
    new = "60" if value == "50" else "50"
    await changed(database, settings, {"bond_minimum": (value, new)}, f"staged:{uuid4()}")
    return "bond_minimum/reset"


async def _body_of_proposal(_: "Stage") -> dict[str, Any]:
    return {"title": "Staged", "description": "Staged.", "duration_seconds": 3600}


async def _body_of_decision(_: "Stage") -> dict[str, Any]:
    return {"reason": "For a test."}


async def _body_of_vote(_: "Stage") -> dict[str, Any]:
    return {"vote": "for"}


MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "{proposal_id}/tally": _ended,
    "{proposal_id}/apply": _to_apply,
    "{proposal_id}/decline": _to_decline,
    "{proposal_id:int}/{act}": _to_apply,
    "parameters/{name}/reset": _governed,
    "{proposal_id}": _open,
    "{proposal_id:int}": _open,
}
"""Objects named by a path, the longest first."""

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    **{
        f"POST /api/v1/admin/governance/proposals/{{proposal_id}}/{act}": _body_of_decision
        for act in ("apply", "decline", "veto")
    },
    "POST /api/v1/admin/governance/parameters/{name}/reset": _body_of_decision,
    "POST /api/v1/governance/proposals": _body_of_proposal,
    "POST /api/v1/governance/proposals/{proposal_id}/vote": _body_of_vote,
}
