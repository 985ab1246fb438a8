"""Inputs and results of the judgement of an agent-signed card."""

from datetime import datetime
from typing import Literal

import msgspec

from hansa.foundation.plumbing.settings import Settings

Outcome = Literal["unsigned", "verified", "failed"]


class AgentKey(msgspec.Struct, frozen=True):
    """A key of an agent, as this registry keeps it; `ended_at` is None while it is the present one. The first key has the number 1."""

    number: int
    public_key: bytes
    since: datetime
    ended_at: datetime | None


class InboundVerdict(msgspec.Struct, frozen=True):
    """Verdict whether the agent itself signed a card. `reason` names why a signature failed; `said` is one line for a log."""

    outcome: Outcome
    reason: str | None
    said: str


class ExportedState(msgspec.Struct, frozen=True):
    """State that an export depends on: another `changed_xid`, another card. `revoked_at` is None before the agent's end."""

    card_id: int
    changed_xid: int
    updated_at: datetime
    card_bytes: int
    revoked_at: datetime | None


class SignaturePolicy(msgspec.Struct, frozen=True):
    """Policy of the operator on agents' signatures.

    By default a signature is judged and the verdict logged, no more. `keep`: a verified one is noted on the card.
    `enforce`: a card whose signature fails is refused. `require`: a served card without a signature counts as failed.
    """

    keep: bool
    enforce: bool
    require: bool

    @classmethod
    def of(cls, settings: Settings) -> "SignaturePolicy":
        """Return the policy that JWS_VERIFY_ENABLED, JWS_ENFORCE and JWS_REQUIRE_SIGNATURE set."""
        return cls(settings.jws_verify_enabled, settings.jws_enforce, settings.jws_require_signature)

    def fails(self, verdict: InboundVerdict) -> bool:
        """Return whether the card counts as failed, whatever follows from that."""
        return verdict.outcome == "failed" or (self.require and verdict.outcome == "unsigned")

    def refuses(self, verdict: InboundVerdict) -> bool:
        """Return whether the card is not taken."""
        return self.enforce and self.fails(verdict)

    def notes(self, verdict: InboundVerdict) -> bool:
        """Return whether the card is marked as signed by its agent."""
        return (self.keep or self.enforce) and verdict.outcome == "verified"
