"""Governance: proposals and votes of the agent that this client acts for, which anyone reads, and decisions of an administrator.

Each act is one intent: all its attempts carry one Idempotency-Key.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hansa_client.calls import Call, new_key
from hansa_client.records.governance import (
    Parameter,
    Parameters,
    PolicyChange,
    Proposal,
    ProposalVote,
    VotingPower,
)
from hansa_client.records.record import Page

from .session import AsyncSession
from .transport import AsyncTransport

PREFIX = "/api/v1/governance"
ADMIN = "/api/v1/admin/governance"


class AsyncGovernance:
    """Propose and vote; anyone reads proposals, votes and settings."""

    def __init__(self, transport: AsyncTransport, agent: AsyncSession) -> None:
        self._transport = transport
        self._agent = agent

    async def propose(
        self,
        title: str,
        description: str,
        duration: timedelta,
        *,
        policy: Mapping[str, PolicyChange] | None = None,
        key: str | None = None,
    ) -> Proposal:
        """Propose a text without an effect, or with `policy` a change of settings.

        Raises: Forbidden, Conflict, Invalid, OutcomeUnknown.
        """
        body: dict[str, Any] = {
            "title": title,
            "description": description,
            "duration_seconds": int(duration.total_seconds()),
        }
        if policy is not None:
            changes = {name: {"from": one.before, "to": one.after} for name, one in policy.items()}
            body |= {"kind": "policy_change", "policy_diff": changes}
        return await self._transport.answer(_post(f"{PREFIX}/proposals", body, key), Proposal, self._agent)

    async def list(self, *, include_closed: bool = False, limit: int = 50, offset: int = 0) -> Page[Proposal]:
        """The open proposals, for anyone, the newest first; on request all."""
        query = {"include_closed": str(include_closed).lower(), "limit": limit, "offset": offset}
        return await self._transport.answer(Call("GET", f"{PREFIX}/proposals", query=query), Page[Proposal])

    async def read(self, proposal_id: int) -> Proposal:
        """One proposal, for anyone. Raises: NotFound."""
        return await self._transport.answer(Call("GET", _path(proposal_id)), Proposal)

    async def votes(self, proposal_id: int, *, limit: int = 50, offset: int = 0) -> Page[ProposalVote]:
        """The votes on a proposal, for anyone, the newest first. Raises: NotFound."""
        call = Call("GET", f"{_path(proposal_id)}/votes", query={"limit": limit, "offset": offset})
        return await self._transport.answer(call, Page[ProposalVote])

    async def vote(
        self, proposal_id: int, vote: str, *, reason: str | None = None, key: str | None = None
    ) -> ProposalVote:
        """Vote `for`, `against` or `abstain`, once; the weight stays staked until the vote has ended.

        Raises: Forbidden, Conflict, NotFound, OutcomeUnknown.
        """
        call = _post(f"{_path(proposal_id)}/vote", {"vote": vote, "reason": reason}, key)
        return await self._transport.answer(call, ProposalVote, self._agent)

    async def tally(self, proposal_id: int, *, key: str | None = None) -> Proposal:
        """Count a vote whose time has ended. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{_path(proposal_id)}/tally", None, key)
        return await self._transport.answer(call, Proposal, self._agent)

    async def cancel(self, proposal_id: int, *, key: str | None = None) -> Proposal:
        """Cancel an own proposal before another agent has voted. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        call = _post(f"{_path(proposal_id)}/cancel", None, key)
        return await self._transport.answer(call, Proposal, self._agent)

    async def power(self) -> VotingPower:
        """The stake of the agent, and the part that its votes pin."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/voting-power"), VotingPower, self._agent)

    async def parameters(self) -> Parameters:
        """The settings that votes may change, for anyone."""
        return await self._transport.answer(Call("GET", f"{PREFIX}/parameters"), Parameters)


class AsyncDecisions:
    """Decide on proposals and settings, as an administrator of the platform."""

    def __init__(self, transport: AsyncTransport, administrator: AsyncSession) -> None:
        self._transport = transport
        self._administrator = administrator

    async def apply(self, proposal_id: int, reason: str, *, key: str | None = None) -> Proposal:
        """Let a passed change take effect. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._decide(proposal_id, "apply", reason, key)

    async def decline(self, proposal_id: int, reason: str, *, key: str | None = None) -> Proposal:
        """End a passed change. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return await self._decide(proposal_id, "decline", reason, key)

    async def veto(self, proposal_id: int, reason: str, *, key: str | None = None) -> Proposal:
        """Cancel an open proposal, or withdraw a scheduled change.

        Raises: Conflict, Forbidden, NotFound, OutcomeUnknown.
        """
        return await self._decide(proposal_id, "veto", reason, key)

    async def reset(self, name: str, reason: str, *, key: str | None = None) -> Parameter:
        """Give a setting back to the environment. Raises: Conflict, Forbidden, Invalid, OutcomeUnknown."""
        call = _post(f"{ADMIN}/parameters/{name}/reset", {"reason": reason}, key)
        return await self._transport.answer(call, Parameter, self._administrator)

    async def _decide(self, proposal_id: int, act: str, reason: str, key: str | None) -> Proposal:
        call = _post(f"{ADMIN}/proposals/{int(proposal_id)}/{act}", {"reason": reason}, key)
        return await self._transport.answer(call, Proposal, self._administrator)


def _path(proposal_id: int) -> str:
    return f"{PREFIX}/proposals/{int(proposal_id)}"


def _post(path: str, body: dict[str, Any] | None, key: str | None) -> Call:
    return Call("POST", path, json=body, key=new_key() if key is None else key)
