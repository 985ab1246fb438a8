"""Refusals of a call. One sentence, a stable code, and the payer's next step with the payment."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of the paid work; sent as `X-Payment-Outcome`. A response without it leaves that open."""

    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Refused:
    """A call that is not served now. Without an `outcome` the payer keeps its token and repeats the call."""

    status: int
    code: str
    detail: str
    outcome: Outcome | None = None
    retry_after_seconds: int | None = None

    @property
    def is_challenge(self) -> bool:
        """Return whether a payment would help."""
        return self.status == 402  # noqa: PLR2004


def payment_refused(code: str, detail: str) -> Refused:
    """402: the presented payment does not pay this call, and nothing was done for it."""
    return Refused(402, code, detail, Outcome.FAILED)


def payment_required() -> Refused:
    """402: no payment was presented."""
    return Refused(402, "PAYMENT_REQUIRED", "This call is paid; send a payment token in X-Payment-Token.")


def issuer_not_trusted(detail: str) -> Refused:
    """402: the issuer was not contacted."""
    return Refused(402, "ISSUER_NOT_TRUSTED", f"{detail}.", Outcome.FAILED)


def issuer_unavailable() -> Refused:
    """503: the verdict of the issuer is not known; nothing was done yet."""
    return Refused(
        503, "ISSUER_UNAVAILABLE", "The issuer of the token does not answer.", retry_after_seconds=2
    )


def store_unavailable() -> Refused:
    """503: the work may be recorded or not, so nothing may be concluded from this answer."""
    sentence = "The service cannot reach its store; repeat the call with the same token."
    return Refused(503, "STORE_UNAVAILABLE", sentence, retry_after_seconds=2)


def work_in_progress(lease_left: float) -> Refused:
    """409: another process, or an earlier request, does the work."""
    wait = max(1, min(2, round(lease_left)))
    sentence = "This call is being worked on; repeat it with the same token."
    return Refused(409, "WORK_IN_PROGRESS", sentence, retry_after_seconds=wait)


def token_used() -> Refused:
    """409: a token pays one call."""
    return Refused(409, "TOKEN_USED_FOR_ANOTHER_CALL", "This token pays another call than this one.")


def work_lost() -> Refused:
    """410: the work began and its answer is lost; it is never run a second time."""
    sentence = "The work for this token was interrupted and is not repeated; the payment is not collected."
    return Refused(410, "WORK_LOST", sentence, Outcome.FAILED)


def capture_pending() -> Refused:
    """503: the answer is ready and is returned once the payment is captured."""
    sentence = "The answer is ready; its payment is being captured. Repeat the call with the same token."
    return Refused(503, "CAPTURE_PENDING", sentence, retry_after_seconds=1)


def not_captured() -> Refused:
    """402: the issuer refused the capture for good; the answer is withheld."""
    return payment_refused(
        "PAYMENT_NOT_CAPTURED", "The payment could not be captured; the answer is withheld."
    )


def answer_too_large(limit: int) -> Refused:
    """500: an answer that cannot be kept is not sold."""
    sentence = f"The answer is larger than the {limit} bytes that the service keeps."
    return Refused(500, "ANSWER_TOO_LARGE", sentence, Outcome.FAILED)
