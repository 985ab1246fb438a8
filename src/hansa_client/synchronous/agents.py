# Generated from hansa_client/asynchronous/agents.py by `python -m tests.house.synchronous`.
"""Agents of a developer, and the agent that this client acts for."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, if_version
from hansa_client.records.accounts import RegistryConfig
from hansa_client.records.agents import AgentSelf, BootstrapToken, MyAgent, NewAgent, NewSecret, RevokedAgent
from hansa_client.records.record import Page

from .session import Session
from .transport import Transport

BuilderType = Literal["simple_wrapper", "adk_agent", "paid_function", "mcp_server"]


class Agents:
    """Create, list and revoke agents."""

    def __init__(self, transport: Transport, owner: Session, agent: Session) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    def create(
        self,
        *,
        card: Mapping[str, Any] | None = None,
        host: str | None = None,
        public_key_jwk: Mapping[str, Any] | None = None,
        organization: str | None = None,
    ) -> NewAgent:
        """Create an agent from its card, or from the host that serves it; with `organization`, an id or slug, one of that organization.

        Two requests: a bootstrap token, then the agent. A lost answer to the second raises OutcomeUnknown; the agent
        may exist then, and its secret can be replaced with `rotate_secret`.
        """
        if (card is None) == (host is None):
            raise ValueError("an agent is created from either a card or a host")
        config = self._transport.answer(Call("GET", "/api/v1/public/registry-config"), RegistryConfig)
        request = Call(
            "POST",
            "/api/v1/onboard/bootstrap/request-token",
            json={"organization_id": organization},
            is_idempotent=True,
        )
        permission = self._transport.answer(request, BootstrapToken, self._owner)
        body = {
            "agent_did_method": config.did_method,
            "agent_card": card,
            "agent_host": host,
            "public_key_jwk": public_key_jwk,
        }
        headers = {"Bootstrap-Token": permission.bootstrap_token}
        return self._transport.answer(
            Call("POST", "/api/v1/onboard/create_agent", json=body, headers=headers), NewAgent
        )

    def card_template(self) -> dict[str, Any]:
        """A card template."""
        call = Call("GET", "/api/v1/onboard/agent-card-template")
        return self._transport.answer(call, dict[str, Any], self._owner)

    def build_project(
        self,
        name: str,
        description: str,
        builder_type: BuilderType,
        *,
        human_readable_id: str | None = None,
        wrapper_url: str | None = None,
        wrapper_timeout_seconds: int | None = None,
        adk_model: str | None = None,
        adk_instruction: str | None = None,
        price: Amount | None = None,
        agent_did: str | None = None,
    ) -> bytes:
        """A zip archive: the project of an agent that runs and is paid. Nothing is stored. Raises: Invalid, NotFound."""
        body = {
            "agent_name": name,
            "agent_description": description,
            "agent_builder_type": builder_type,
            "human_readable_id": human_readable_id,
            "wrapper_url": wrapper_url,
            "wrapper_timeout_seconds": wrapper_timeout_seconds,
            "adk_model": adk_model,
            "adk_instruction": adk_instruction,
            "price": None if price is None else amount_text(price),
            "agent_did": agent_did,
        }
        call = Call("POST", "/api/v1/agent-builder/generate", json=body, is_without_effect=True)
        return (self._transport.response(call, self._owner)).content

    def list(self, *, limit: int = 50, offset: int = 0) -> Page[MyAgent]:
        """The developer's agents."""
        query = {"limit": limit, "offset": offset}
        return self._transport.answer(Call("GET", "/api/v1/agents", query=query), Page[MyAgent], self._owner)

    def me(self) -> AgentSelf:
        """The agent that this client acts for."""
        return self._transport.answer(Call("GET", "/api/v1/agents/me"), AgentSelf, self._agent)

    def rotate_secret(self, did: str, *, secret_version: str | None = None) -> NewSecret:
        """Replace an agent's secret; the one before it works no more.

        With the `secret_version` of the listed agent, a secret that somebody replaced since then stays as it is: the call
        raises PreconditionFailed, also when it is repeated after OutcomeUnknown and the first one took effect.
        """
        path = f"/api/v1/agents/{quote(did, safe='')}/rotate-secret"
        call = Call("POST", path, json={}, headers=if_version(secret_version))
        return self._transport.answer(call, NewSecret, self._owner)

    def revoke(self, did: str) -> RevokedAgent:
        """End an agent for good."""
        call = Call("DELETE", f"/api/v1/agents/{quote(did, safe='')}")
        return self._transport.answer(call, RevokedAgent, self._owner)
