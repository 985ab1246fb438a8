"""Errors of the client.

- `HansaError` is the base of all.
- `Refusal`: the registry refused the request and changed nothing. It has a class per status, and one per code that
  callers usually handle; every other code is in `code`.
- `Unreachable`: no answer, and the request did not take effect. `OutcomeUnknown`: no answer, and it may have.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from .records.ledger import ApprovalPending


class HansaError(Exception):
    """Any failure of the client."""


class CredentialMissing(HansaError):
    """The call needs a credential that the client was not given."""


class AnswerInvalid(HansaError):
    """The server answered with something that is not the documented shape; it may not be a Hansa registry."""


class Unreachable(HansaError):
    """The registry did not answer. The request did not take effect."""


class OutcomeUnknown(HansaError):
    """The answer was lost: the request may have taken effect.

    `idempotency_key`, where there is one, is that of the request: the same call with the same key is safe and returns
    the first answer.
    """

    def __init__(self, sentence: str, idempotency_key: str | None = None) -> None:
        super().__init__(sentence)
        self.idempotency_key = idempotency_key


class SecondFactorNeeded(HansaError):
    """The account has two-factor login: complete it with `accounts.complete_login(partial_token, code)`."""

    def __init__(self, partial_token: str) -> None:
        super().__init__("This account has two-factor login; a code of the app or a backup code is needed.")
        self.partial_token = partial_token


class ApprovalNeeded(HansaError):
    """Nothing was moved: the owner of the agent has to approve. Then call again with the same key, or `approval_id`."""

    def __init__(self, pending: ApprovalPending, idempotency_key: str) -> None:
        super().__init__(pending.detail)
        self.pending = pending
        self.idempotency_key = idempotency_key


class Refusal(HansaError):
    """A refusal of the registry (RFC 9457 problem document). Nothing was changed.

    `code` is stable and made for programs, `detail` is one sentence for people; `members` is the whole document.
    """

    status_: ClassVar[int | None] = None
    code_: ClassVar[str | None] = None

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        code: str,
        members: Mapping[str, Any] | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.code = code
        self.members = dict(members or {})
        self.retry_after_seconds = retry_after_seconds

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"

    @property
    def field(self) -> str | None:
        """The member of the request that was refused, where one is to blame."""
        return self._envelope.get("field")

    @property
    def context(self) -> Mapping[str, Any]:
        """Values that belong to the refusal, such as `available` and `required`."""
        return self._envelope.get("context") or {}

    @property
    def _envelope(self) -> Mapping[str, Any]:
        envelope = self.members.get("error")
        return envelope if isinstance(envelope, dict) else {}


class BadRequest(Refusal):
    """The request contradicts itself or the state of the registry."""

    status_ = 400


class Unauthorized(Refusal):
    """The credential is missing, wrong, expired or of the wrong kind."""

    status_ = 401


class PaymentRequired(Refusal):
    """The payer cannot cover the amount and its fee."""

    status_ = 402


class Forbidden(Refusal):
    """The credential is valid but does not have the required permission."""

    status_ = 403


class NotFound(Refusal):
    """The resource does not exist, or this caller may not see it."""

    status_ = 404


class Conflict(Refusal):
    """The request conflicts with the current state."""

    status_ = 409


class Gone(Refusal):
    """The thing existed and does not exist any more."""

    status_ = 410


class PreconditionFailed(Refusal):
    """The resource, or the secret, was changed after the caller read the version that the request names."""

    status_ = 412


class Invalid(Refusal):
    """A member of the request does not have the required format."""

    status_ = 422


class TooManyRequests(Refusal):
    """A rate limit is used up; `retry_after_seconds` says when to send the request again."""

    status_ = 429


class ServerFailed(Refusal):
    """The registry failed with a 5xx status."""


class Unavailable(ServerFailed):
    """The registry cannot answer now."""

    status_ = 503


class InsufficientBalance(PaymentRequired):
    """`context` has `available` and `required`."""

    code_ = "INSUFFICIENT_BALANCE"


class KeyReused(Invalid):
    """The idempotency key was used for another request."""

    code_ = "IDEMPOTENCY_KEY_REUSED"


class KeyInProgress(Invalid):
    """The first request with this idempotency key is still under way."""

    code_ = "IDEMPOTENCY_KEY_IN_PROGRESS"


def classes_of_codes() -> Iterator[type[Refusal]]:
    """Every class that stands for one code."""
    yield from (kind for kind in _descendants(Refusal) if kind.code_ is not None)


def refusal(status: int, members: Mapping[str, Any], *, retry_after_seconds: float | None = None) -> Refusal:
    """The refusal that a problem document describes, of the most exact class."""
    envelope = members.get("error")
    envelope = envelope if isinstance(envelope, dict) else {}
    code = str(envelope.get("code") or members.get("code") or f"HTTP_{status}")
    detail = str(members.get("detail") or f"The registry answered with status {status}.")
    kind = (
        _BY_CODE.get((status, code))
        or _BY_STATUS.get(status)
        or (Refusal if status < _SERVER else ServerFailed)
    )
    return kind(detail, status=status, code=code, members=members, retry_after_seconds=retry_after_seconds)


def _descendants(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def _status_of(kind: type[Refusal]) -> int:
    status = kind.status_
    assert status is not None
    return status


_SERVER = 500
_BY_STATUS = {
    _status_of(kind): kind
    for kind in _descendants(Refusal)
    if kind.code_ is None and kind.status_ is not None
}
_BY_CODE = {(_status_of(kind), kind.code_): kind for kind in classes_of_codes()}
