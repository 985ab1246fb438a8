# Generated from hansa_client/asynchronous/releases.py by `python -m tests.house.synchronous`.
"""Versions of the code behind a DID, and deployments: of the agent of this client, or of an agent of the developer."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.agents import AgentSelf
from hansa_client.records.releases import CodeVersion, CodeVersions, Deployment, Deployments

from .session import Session
from .transport import Transport


class Releases:
    """Versions and deployments of one agent at a time: without a DID of the agent of this client."""

    def __init__(self, transport: Transport, owner: Session, agent: Session) -> None:
        self._transport = transport
        self._owner = owner
        self._agent = agent

    def register(
        self,
        version: str,
        did: str | None = None,
        *,
        commit_hash: str | None = None,
        release_notes: str | None = None,
        artifacts: Mapping[str, Mapping[str, str]] | None = None,
        is_stable: bool = True,
        key: str | None = None,
    ) -> CodeVersion:
        """Register a version as a draft; `artifacts` are {name: {uri, sha256}}. Raises: Conflict, Invalid, OutcomeUnknown."""
        body: dict[str, Any] = {
            "version": version,
            "commit_hash": commit_hash,
            "release_notes": release_notes,
            "artifacts": artifacts,
            "is_stable": is_stable,
        }
        call = Call("POST", _versions(did), json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, CodeVersion, self._session(did))

    def activate(self, version_id: str, did: str | None = None, *, key: str | None = None) -> CodeVersion:
        """Make a version the active one. Raises: NotFound, OutcomeUnknown."""
        path = f"{_versions(did)}/{version_id}/activate"
        call = Call("POST", path, key=new_key() if key is None else key)
        return self._transport.answer(call, CodeVersion, self._session(did))

    def versions(self, did: str, *, limit: int = 50, next: str | None = None) -> CodeVersions:  # noqa: A002
        """A page of the versions of any agent, newest first. Raises: NotFound."""
        query = {"kind": "release", "limit": limit, **({"next": next} if next else {})}
        path = f"/api/v1/agents/{quote(did, safe='')}/versions"
        return self._transport.answer(Call("GET", path, query=query), CodeVersions)

    def deploy(
        self,
        version_id: str,
        did: str | None = None,
        *,
        url: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> Deployment:
        """Request the move of an agent to an address, where the registry checks it; read the deployment for its end.

        Raises: Conflict, Invalid, NotFound, OutcomeUnknown.
        """
        body = {"version_id": version_id, "url": url, "note": note}
        path = self._deployments(did)
        call = Call("POST", path, json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, Deployment, self._session(did))

    def deployments(
        self,
        did: str | None = None,
        *,
        limit: int = 50,
        next: str | None = None,  # noqa: A002
    ) -> Deployments:
        """A page of deployments, newest first. Raises: NotFound."""
        query = {"limit": limit, **({"next": next} if next else {})}
        call = Call("GET", self._deployments(did), query=query)
        return self._transport.answer(call, Deployments, self._session(did))

    def deployment(self, deployment_id: str, did: str | None = None) -> Deployment:
        """One deployment. Raises: NotFound."""
        call = Call("GET", f"{self._deployments(did)}/{deployment_id}")
        return self._transport.answer(call, Deployment, self._session(did))

    def roll_back(self, deployment_id: str, did: str | None = None, *, key: str | None = None) -> Deployment:
        """Deploy the one before the active deployment again; the answer is the result of its check. Raises: Conflict, NotFound, OutcomeUnknown."""
        path = f"{self._deployments(did)}/{deployment_id}/rollback"
        call = Call("POST", path, key=new_key() if key is None else key)
        return self._transport.answer(call, Deployment, self._session(did))

    def _session(self, did: str | None) -> Session:
        return self._agent if did is None else self._owner

    def _deployments(self, did: str | None) -> str:
        if did is None:
            own = Call("GET", "/api/v1/agents/me")
            did = (self._transport.answer(own, AgentSelf, self._agent)).did
        return f"/api/v1/agents/{quote(did, safe='')}/deployments"


def _versions(did: str | None) -> str:
    if did is None:
        return "/api/v1/agents/self/version"
    return f"/api/v1/agents/{quote(did, safe='')}/versions"
