"""Refusals of the OAuth server: faults in the form of RFC 6749, and refusals of the routes of connections."""

from typing import Any, Literal

from hansa.foundation.values.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthorized

FaultCode = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "invalid_scope",
    "invalid_target",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
    "access_denied",
    "invalid_redirect_uri",
    "invalid_client_metadata",
    "temporarily_unavailable",
]


class OAuthFault(Exception):
    """A fault that a client reads as `error` and `error_description` (RFC 6749, 4.1.2.1 and 5.2; RFC 7591, 3.2.2)."""

    def __init__(self, code: FaultCode, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.code, self.description, self.status = code, description, status

    @property
    def body(self) -> dict[str, Any]:
        """The members of the answer."""
        return {"error": self.code, "error_description": self.description}


class AccessTokenRefused(Unauthorized):
    """The access token is not genuine, has expired, is for another resource, or its connection has ended."""

    code = "ACCESS_TOKEN_REFUSED"
    sentence = "The access token is not valid here, has expired, or its connection has ended."
    remedy = "Refresh the token, or connect the client again."


class ClientRefused(BadRequest):
    """The client or its redirect address cannot be trusted, so that the browser is led nowhere."""

    code = "OAUTH_CLIENT_REFUSED"
    sentence = "The client is unknown, or its redirect address is not one of its own."
    remedy = "Start the login in the client again. If it fails again, its developer corrects its metadata or its redirect address."


class ConsentRefused(Conflict):
    """The consent is of another session or older than ten minutes; nothing was granted."""

    code = "OAUTH_CONSENT_REFUSED"
    sentence = "This consent is of another session or older than ten minutes; nothing was granted."
    remedy = "Start the login in the client again."


class ConnectionUnknown(NotFound):
    """The account has no living connection with this id."""

    code = "CONNECTION_UNKNOWN"
    sentence = "The account has no living connection with this id."


class ConnectionsFull(Conflict):
    """The account has the maximum number of connections."""

    code = "CONNECTIONS_FULL"
    sentence = "The account has 20 connections; end one first."
    remedy = "End a connection that is no longer used, then allow the new one."


class RaiseNeedsPassword(Forbidden):
    """Higher limits need a login session and the password."""

    code = "CONNECTION_RAISE_NEEDS_PASSWORD"
    sentence = (
        "Higher limits of a connection need a login session, not an API key, and the member `password`."
    )
    remedy = "Log in, then send the change with `password`; or change the limits at /account/connections."
