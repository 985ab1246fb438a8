"""Authorizations as they are kept."""

from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import RegulatedAction

Tier = Literal["reference", "hash", "contract"]


class NewAuthorization(msgspec.Struct, frozen=True):
    """An authorization to be recorded. `sha256` is that of a document, `contract_digest` that of the contract's subset."""

    action: RegulatedAction
    authority: str
    subject: str
    tier: Tier
    reference: str | None
    sha256: bytes | None
    contract_id: int | None
    contract_digest: bytes | None
    valid_until: datetime | None


class Authorization(NewAuthorization, frozen=True):
    """A recorded authorization; live until it is withdrawn or its end comes."""

    id: UUID
    recorded_at: datetime

    @property
    def evidence(self) -> dict[str, Any]:
        """Evidence that it rests on, in its public shape; members without a value are absent."""
        declared = {
            "tier": self.tier,
            "reference": self.reference,
            "sha256": self.sha256 and self.sha256.hex(),
            "contract_id": self.contract_id,
            "contract_digest": self.contract_digest and self.contract_digest.hex(),
        }
        return {name: value for name, value in declared.items() if value is not None}

    @property
    def public(self) -> dict[str, Any]:
        """The authorization in its public shape; without `valid_until` where it has no end."""
        return {
            "id": str(self.id),
            "action": self.action,
            "authority": self.authority,
            "subject": self.subject,
            "evidence": self.evidence,
            "recorded_at": moment_text(self.recorded_at),
            **({} if self.valid_until is None else {"valid_until": moment_text(self.valid_until)}),
        }


def moment_text(timestamp: datetime) -> str:
    """A time as the registry card writes it: ISO 8601, UTC, whole seconds."""
    return timestamp.astimezone(UTC).replace(microsecond=0).isoformat()
