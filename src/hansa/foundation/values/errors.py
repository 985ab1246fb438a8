"""A refusal: an expected trouble with a status, a stable code and one sentence.

Rooms raise subclasses; `doors/http/problems.py` alone turns them into problem documents. A subclass that sets no
`code` of its own carries the general code of its status. `remedy` names the caller's next act; the problem pages show it.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class Refused(Exception):
    """A request that is refused and changed nothing. The docstring of a subclass is its public description."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "BAD_REQUEST"
    sentence: ClassVar[str] = "The request is invalid."
    remedy: ClassVar[str] = "Correct the request as `detail` says, then send it again."

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
    """The credential is missing, invalid, expired, or of a kind that this route does not accept."""

    status = 401
    code = "AUTH_FAILED"
    sentence = "A valid credential of the required kind is missing."
    remedy = "Send a valid credential of the kind that the route requires. Log in again, or request a new token, if yours has expired."


class Forbidden(Refused):
    """The credential is valid but does not have the required permission."""

    status = 403
    code = "ACCESS_DENIED"
    sentence = "This credential does not have the required permission."
    remedy = (
        "Use a credential that has the required permission, or ask its owner or an administrator to grant it."
    )


class NotFound(Refused):
    """The resource does not exist, or this caller may not see it."""

    status = 404
    code = "RESOURCE_NOT_FOUND"
    sentence = "Resource not found."
    remedy = "Check the identifier and the path. Do not retry without a change."


class MethodNotAllowed(Refused):
    """The path exists but does not support this method; the Allow header lists the supported methods."""

    status = 405
    code = "METHOD_NOT_ALLOWED"
    sentence = "This path does not support this method."
    remedy = "Use one of the methods in the Allow header."


class Conflict(Refused):
    """The request conflicts with the current state."""

    status = 409
    code = "CONFLICT"
    sentence = "The request conflicts with the current state."
    remedy = "Read the current state of the resource, then decide whether to send the request again."


class ReplacedMeanwhile(Conflict):
    """Another request replaced the secret at the same time; the secret that it was given is the current one."""

    code = "SECRET_REPLACED"
    sentence = "Another request replaced the secret at the same time; nothing was changed by this one."
    remedy = "Use the secret that the other request was given, or send the request again for another one."


class Gone(Refused):
    """The resource existed and is not stored here any more."""

    status = 410
    code = "GONE"
    sentence = "The resource is not stored here any more."
    remedy = "Do not send the request again without a change."


class Invalid(Refused):
    """A member of the request does not have the required format."""

    status = 422
    code = "VALIDATION_FAILED"
    sentence = "The request does not have the required format."
    remedy = "Correct the member that `error.field` and `detail` name, then send the request again."


class MemberInvalid(Invalid):
    """A member or parameter is missing, has the wrong type, or is outside its limits."""

    code = "VALIDATION_ERROR"


class HostRefused(Invalid):
    """The address is not a public address, so the registry does not call it."""

    code = "INTERNAL_HOST"
    sentence = "The host is not a public http or https address; the registry does not call it."
    remedy = "Use a host name that resolves to a public address."


class DeveloperSuspended(Forbidden):
    """The developer is suspended, or the account is closed."""

    code = "DEVELOPER_SUSPENDED"
    sentence = "Your account is suspended or closed; it cannot create or change anything."
    remedy = "Contact the administrators of the registry."


class OrgRoleRequired(Forbidden):
    """The caller is a member of the organization without the role, or the grant of a team, that this requires."""

    code = "ORG_ROLE_REQUIRED"
    sentence = "Your role in the organization does not allow this."
    remedy = "Ask an admin of the organization for the role, or for a team with the grant."


class PayloadTooLarge(Refused):
    """The body is larger than the limit of this route."""

    status = 413
    code = "PAYLOAD_TOO_LARGE"
    sentence = "The body is too large."
    remedy = "Send a smaller body."


class UnsupportedMediaType(Refused):
    """The route does not support the media type of the body."""

    status = 415
    code = "UNSUPPORTED_MEDIA_TYPE"
    sentence = "This route does not support the media type of the body."
    remedy = "Set the Content-Type that the API description names for the route."


class TooManyRequests(Refused):
    """A rate limit is exceeded; the Retry-After header says when to retry."""

    status = 429
    code = "RATE_LIMIT_EXCEEDED"
    sentence = "Too many requests; retry after the time in the Retry-After header."
    remedy = "Wait for the time in the Retry-After header, then send the request again."


class QuotaReached(TooManyRequests):
    """As many of these exist for the caller as may exist at once."""

    code = "QUOTA_REACHED"
    sentence = "As many of these exist as may exist at once."
    remedy = "Use, end or delete one of those that exist, or wait until one has ended."


class Unavailable(Refused):
    """The registry is temporarily unavailable. Retry with the same Idempotency-Key, which prevents a second execution."""

    status = 503
    code = "SERVICE_UNAVAILABLE"
    sentence = "The registry is temporarily unavailable; retry shortly."
    remedy = "Retry after the time in the Retry-After header, with the same Idempotency-Key."


class Crashed(Refused):
    """Internal server error. It was logged, and the transaction was rolled back."""

    status = 500
    code = "INTERNAL_ERROR"
    sentence = "Internal server error; it was logged."
    remedy = "Retry with the same Idempotency-Key. If it fails again, report the request id to the operator of the registry."
