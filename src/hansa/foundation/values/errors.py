"""A refusal: an expected trouble with a status, a stable code and one sentence.

Rooms raise subclasses; `doors/http/problems.py` alone turns them into problem documents. A subclass that sets no
`code` of its own carries the general code of its status.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class Refused(Exception):
    """A request that is refused and changed nothing. The docstring of a subclass is its public description."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "BAD_REQUEST"
    sentence: ClassVar[str] = "The request cannot be carried out."

    def __init__(
        self,
        detail: str | None = None,
        *,
        field: str | None = None,
        context: Mapping[str, Any] | None = None,
        members: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.detail = detail or self.sentence
        self.field = field
        self.context = dict(context) if context else None
        # Further members of the problem document itself.
        self.members = dict(members or {})
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, retry_after))
        super().__init__(self.detail)


class BadRequest(Refused):
    """The request contradicts itself or the state of the registry."""


class Unauthorized(Refused):
    """The credential is missing, wrong, expired, or of another kind than this route takes."""

    status = 401
    code = "AUTH_FAILED"
    sentence = "A valid credential of the right kind is required."


class Forbidden(Refused):
    """The credential is valid and does not give this right."""

    status = 403
    code = "ACCESS_DENIED"
    sentence = "This credential does not give the right to do that."


class NotFound(Refused):
    """No such thing, or none that this caller may see."""

    status = 404
    code = "RESOURCE_NOT_FOUND"
    sentence = "There is no such resource."


class MethodNotAllowed(Refused):
    """The path exists and does not take that method; Allow names those it takes."""

    status = 405
    code = "METHOD_NOT_ALLOWED"
    sentence = "This path does not take that method."


class Conflict(Refused):
    """The request collides with what is already there."""

    status = 409
    code = "CONFLICT"
    sentence = "The request conflicts with the present state."


class Invalid(Refused):
    """A member of the request is not of the required form."""

    status = 422
    code = "VALIDATION_FAILED"
    sentence = "The request is not of the required form."


class MemberInvalid(Invalid):
    """A member or parameter is missing, or not of the type and within the bounds that the route declares."""

    code = "VALIDATION_ERROR"


class HostRefused(Invalid):
    """The address is not a public one that the registry would call."""

    code = "INTERNAL_HOST"
    sentence = "The host is not a public http or https address; it would never be called."


class DeveloperSuspended(Forbidden):
    """The developer is suspended, or the account is closed."""

    code = "DEVELOPER_SUSPENDED"
    sentence = "Your account is suspended or closed: it creates and changes nothing."


class PayloadTooLarge(Refused):
    """The body is larger than this route takes."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"
    sentence = "The body is too large."


class UnsupportedMediaType(Refused):
    """The body is not of a media type that this route takes."""

    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"
    sentence = "The body is not of a media type that this route takes."


class TooManyRequests(Refused):
    """A rate limit is used up; Retry-After says when to come back."""

    status = 429
    code = "RATE_LIMIT_EXCEEDED"
    sentence = "Too many requests; come back later."


class Unavailable(Refused):
    """The registry cannot answer just now. Repeat with the same Idempotency-Key: it settles whether it was done."""

    status = 503
    code = "SERVICE_UNAVAILABLE"
    sentence = "The registry cannot answer just now; try again shortly."


class Crashed(Refused):
    """The registry made a mistake. It has been recorded, and the transaction under way was undone."""

    status = 500
    code = "INTERNAL_ERROR"
    sentence = "The registry made a mistake; it has been recorded."
