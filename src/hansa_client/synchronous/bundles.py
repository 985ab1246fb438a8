# Generated from hansa_client/asynchronous/bundles.py by `python -m tests.house.synchronous`.
"""Bundles: an agent as a signed document, and agents that are made of it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.releases import ExportedAgent, ImportedAgent, ImportPreview

from .session import Session
from .transport import Transport


class Bundles:
    """Export and import agents of the developer; fork one as an agent."""

    def __init__(self, transport: Transport, owner: Session, agent: Session) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    def export(self, did: str, *, key: str | None = None) -> ExportedAgent:
        """The bundle of an agent of the developer; it has no secrets. Raises: Invalid, NotFound, OutcomeUnknown."""
        path = f"/api/v1/agents/{quote(did, safe='')}/export"
        call = Call("POST", path, key=new_key() if key is None else key)
        return self._transport.answer(call, ExportedAgent, self._owner)

    def bring_in(self, bundle: Mapping[str, Any], *, key: str | None = None) -> ImportedAgent:
        """Create an agent of a bundle. Raises: Invalid, OutcomeUnknown."""
        sent = new_key() if key is None else key
        call = Call("POST", "/api/v1/agents/import", json={"bundle": bundle}, key=sent)
        return self._transport.answer(call, ImportedAgent, self._owner)

    def preview(self, bundle: Mapping[str, Any]) -> ImportPreview:
        """Return what `bring_in` would create. Raises: Invalid."""
        body = {"bundle": bundle, "dry_run": True}
        call = Call("POST", "/api/v1/agents/import", json=body, is_idempotent=True)
        return self._transport.answer(call, ImportPreview, self._owner)

    def fork(
        self, bundle_id: str, *, name: str, description: str | None = None, key: str | None = None
    ) -> ImportedAgent:
        """Create an agent of a stored bundle of the owner of this agent. Raises: Forbidden, NotFound, TooManyRequests, OutcomeUnknown."""
        body = {"name": name, "description": description}
        sent = new_key() if key is None else key
        call = Call("POST", f"/api/v1/agents/bundles/{bundle_id}/fork", json=body, key=sent)
        return self._transport.answer(call, ImportedAgent, self._agent)
