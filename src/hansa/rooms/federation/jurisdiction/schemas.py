"""Shapes of authorizations, clearances and contract proofs."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StrictInt, model_validator

from hansa.foundation.plumbing.settings import RegulatedAction
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.timestamps import ISO_ONLY
from hansa.foundation.values.visible_text import seen

from .contracts import ContractProof
from .gate import Clearance
from .records import Authorization, NewAuthorization, Tier

SUBJECT_MAX_CHARACTERS = 512
CONTRACT_ID_MAX = 2**63 - 1


def _visible(text: str) -> str:
    if seen(text) != text or not text.strip():
        raise ValueError("text that can be seen is expected")
    return text


Text = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_visible)]
SubjectText = Annotated[str, Field(min_length=1, max_length=SUBJECT_MAX_CHARACTERS), AfterValidator(_visible)]


class AuthorizationEvidenceIn(LazyModel):
    """What the authorization rests on: a reference, the SHA-256 of a document, or a countersigned contract of this registry."""

    model_config = ConfigDict(extra="forbid")

    tier: Tier
    reference: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_visible)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    contract_id: Annotated[StrictInt, Field(ge=1, le=CONTRACT_ID_MAX)] | None = None

    @model_validator(mode="after")
    def _has_what_its_tier_needs(self) -> "AuthorizationEvidenceIn":
        needs = {"reference": "reference", "hash": "sha256", "contract": "contract_id"}[self.tier]
        if getattr(self, needs) is None:
            raise ValueError(f"evidence of tier {self.tier} needs {needs}")
        for other in {"sha256", "contract_id"} - {needs}:
            if getattr(self, other) is not None:
                raise ValueError(f"evidence of tier {self.tier} has no {other}")
        return self


class RegulatoryAuthorizationIn(LazyModel):
    """An authority permits an act: its name, who or what it concerns, and the evidence."""

    model_config = ConfigDict(extra="forbid")

    action: RegulatedAction
    authority: Text
    subject: SubjectText
    evidence: AuthorizationEvidenceIn
    valid_until: Annotated[AwareDatetime, ISO_ONLY] | None = None

    def new(self) -> NewAuthorization:
        """The authorization to be recorded."""
        declared = self.evidence
        return NewAuthorization(
            action=self.action,
            authority=self.authority,
            subject=self.subject,
            tier=declared.tier,
            reference=declared.reference,
            sha256=None if declared.sha256 is None else bytes.fromhex(declared.sha256),
            contract_id=declared.contract_id,
            contract_digest=None,
            valid_until=self.valid_until,
        )


class AuthorizationEvidenceOut(LazyModel):
    """What the authorization rests on."""

    tier: Tier
    reference: str | None = None
    sha256: str | None = None
    contract_id: int | None = None
    contract_digest: str | None = Field(
        default=None, description="SHA-256 of the contract's immutable subset."
    )


class RegulatoryAuthorizationOut(LazyModel):
    """A recorded authorization, as the registry card states it."""

    id: str
    action: RegulatedAction
    authority: str
    subject: str
    evidence: AuthorizationEvidenceOut
    recorded_at: str
    valid_until: str | None = Field(default=None, description="Absent where it has no end.")

    @classmethod
    def of(cls, authorization: Authorization) -> "RegulatoryAuthorizationOut":
        """The authorization in its public shape."""
        return cls.model_validate(authorization.public)


class RegulatoryAuthorizationsOut(LazyModel):
    """The live authorizations, the oldest first. Not signed: the registry card has them under its signature."""

    authorizations: list[RegulatoryAuthorizationOut]
    count: int

    @classmethod
    def of(cls, authorizations: Sequence[Authorization]) -> "RegulatoryAuthorizationsOut":
        """The list."""
        return cls(
            authorizations=[RegulatoryAuthorizationOut.of(one) for one in authorizations],
            count=len(authorizations),
        )


class ClearanceOut(LazyModel):
    """An act that may go on."""

    action: RegulatedAction
    subject: str
    declared: bool = Field(description="Whether the profile of this registry regulates the act.")
    gated: bool = Field(description="Whether the act needs a recorded authorization.")
    authorization: RegulatoryAuthorizationOut | None = Field(description="The one that covers the act.")

    @classmethod
    def of(cls, clearance: Clearance) -> "ClearanceOut":
        """The clearance as it is answered."""
        cover = clearance.authorization
        return cls(
            action=clearance.action,
            subject=clearance.subject,
            declared=clearance.is_declared,
            gated=clearance.is_gated,
            authorization=None if cover is None else RegulatoryAuthorizationOut.of(cover),
        )


class ContractProofOut(LazyModel):
    """The proof of a contract on which an authorization rests."""

    contract_id: int
    subset: dict[str, Any] = Field(
        description="The part of the contract that never changes, its terms included."
    )
    digest: str = Field(
        description="SHA-256 of `subset` with keys sorted at every level, no blanks, non-ASCII escaped; lowercase hex."
    )
    authorization_id: str
    verdict: Literal["attestation-grade"] = "attestation-grade"

    @classmethod
    def of(cls, proof: ContractProof) -> "ContractProofOut":
        """The proof as it is published."""
        return cls(
            contract_id=proof.contract_id,
            subset=dict(proof.contract.subset),
            digest=proof.digest.hex(),
            authorization_id=str(proof.authorization.id),
        )
