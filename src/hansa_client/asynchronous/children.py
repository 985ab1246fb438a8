"""Children of agents: spawned, listed and ended by the agent of this client, or by the developer for one of the agents."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.errors import ApprovalNeeded
from hansa_client.records.agents import AgentSelf
from hansa_client.records.children import Child, ChildPage, EndedChild, SpawnedChild
from hansa_client.records.ledger import ApprovalPending

from .session import AsyncSession
from .transfers import ACCEPTED
from .transport import AsyncTransport, read_success

PAGE_MAX = 100


class AsyncChildren:
    """Children of one agent at a time: without the DID of the parent those of the agent of this client, else of one of the developer."""

    def __init__(self, transport: AsyncTransport, owner: AsyncSession, agent: AsyncSession) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    async def spawn(
        self,
        name: str,
        funding: Amount,
        *,
        parent_did: str | None = None,
        description: str | None = None,
        card: Mapping[str, Any] | None = None,
        roles: Sequence[str] | None = None,
        spend_policy: Mapping[str, Any] | None = None,
        ttl_seconds: int | None = None,
        approval_id: str | None = None,
        key: str | None = None,
    ) -> SpawnedChild:
        """Spawn a child with these units; roles and policy that are not given are those of the parent.

        Raises: InsufficientBalance, ApprovalNeeded, Forbidden, Conflict, Invalid, TooManyRequests, OutcomeUnknown.
        """
        did, session = await self._parent(parent_did)
        body = {
            "name": name,
            "description": description,
            "agent_card": card,
            "roles": roles,
            "funding": amount_text(funding),
            "spend_policy": spend_policy,
            "ttl_seconds": ttl_seconds,
            "approval_id": approval_id,
        }
        call = Call("POST", _path(did), json=body, key=new_key() if key is None else key)
        answer = await self._transport.response(call, session)
        if answer.status == ACCEPTED:
            raise ApprovalNeeded(read_success(call, answer, ApprovalPending), call.key or "")
        return read_success(call, answer, SpawnedChild)

    async def list(self, parent_did: str | None = None) -> list[Child]:
        """Every child in every state, newest first. Raises: NotFound."""
        did, session = await self._parent(parent_did)
        found: list[Child] = []
        place: str | None = None
        while True:
            query = {"limit": PAGE_MAX, "next": place}
            page = await self._transport.answer(Call("GET", _path(did), query=query), ChildPage, session)
            found += page.items
            place = page.next
            if place is None:
                return found

    async def end(self, child_did: str, *, as_owner: bool = False, key: str | None = None) -> EndedChild:
        """End a child, as its parent or as its owner; while `waits_for` is not empty it is still ending.

        Raises: Conflict while it has living children, NotFound, OutcomeUnknown.
        """
        call = Call("POST", f"{_path(child_did)}/end", key=new_key() if key is None else key)
        return await self._transport.answer(call, EndedChild, self._owner if as_owner else self._agent)

    async def _parent(self, did: str | None) -> tuple[str, AsyncSession]:
        if did is not None:
            return did, self._owner
        own = await self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, self._agent)
        return own.did, self._agent


def _path(did: str) -> str:
    return f"/api/v1/agents/{quote(did, safe='')}/spawn"
