# Generated from hansa_client/asynchronous/treasury.py by `python -m tests.house.synchronous`.
"""Treasury of one organization: requests that others approve before they are carried out."""

from typing import Any
from urllib.parse import quote

from hansa_client.calls import Call, new_key
from hansa_client.records.organizations import OrganizationRequest
from hansa_client.records.record import Page

from .organizations import path_of
from .session import Session
from .transport import Transport


class Treasury:
    """Read and decide the requests of an organization."""

    def __init__(self, transport: Transport, developer: Session, organization: str) -> None:
        self._transport = transport
        self._developer = developer
        self._path = f"{path_of(organization)}/treasury"

    def requests(self, *, limit: int = 50, offset: int = 0) -> Page[OrganizationRequest]:
        """The requests, newest first. Raises: NotFound."""
        call = Call("GET", f"{self._path}/requests", query={"limit": limit, "offset": offset})
        return self._transport.answer(call, Page[OrganizationRequest], self._developer)

    def request(self, request_id: str) -> OrganizationRequest:
        """One request. Raises: NotFound."""
        return self._transport.answer(
            Call("GET", self._request(request_id)), OrganizationRequest, self._developer
        )

    def approve(
        self,
        request_id: str,
        *,
        password: str | None = None,
        totp_code: str | None = None,
        key: str | None = None,
    ) -> OrganizationRequest:
        """Approve a request of another one, by a login; the last approval that it needs carries it out.

        Raises: Conflict, Forbidden, NotFound, Unauthorized, OutcomeUnknown.
        """
        return self._act(request_id, "approve", {"password": password, "totp_code": totp_code}, key)

    def reject(
        self, request_id: str, *, reason: str | None = None, key: str | None = None
    ) -> OrganizationRequest:
        """Reject a request, which ends it. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return self._act(request_id, "reject", {"reason": reason}, key)

    def cancel(self, request_id: str, *, key: str | None = None) -> OrganizationRequest:
        """Cancel a request, as its initiator or an owner. Raises: Conflict, Forbidden, NotFound, OutcomeUnknown."""
        return self._act(request_id, "cancel", None, key)

    def _act(
        self, request_id: str, act: str, body: dict[str, Any] | None, key: str | None
    ) -> OrganizationRequest:
        path = f"{self._request(request_id)}/{act}"
        call = Call("POST", path, json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, OrganizationRequest, self._developer)

    def _request(self, request_id: str) -> str:
        return f"{self._path}/requests/{quote(request_id, safe='')}"
