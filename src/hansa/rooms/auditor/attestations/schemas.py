"""Attestations and the auditor's keys as they are published."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec.structs import asdict
from pydantic import Field

from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import PositiveAmount
from hansa.rooms.auditor.transparency import Inclusion, InclusionOut

from .records import Attestation, AuditorKey
from .rules import STANDARD, moment_text

REF_MAX_CHARACTERS = 500
REASON_MAX_CHARACTERS = 2000
FRAME_MAX_CHARACTERS = 512

Ref = Annotated[str, Field(min_length=1, max_length=REF_MAX_CHARACTERS, description="The reason; published.")]


class AttestationOut(LazyModel):
    """A signed record of the chain. `payload` is the exact signed text."""

    id: int
    frame: str
    ts: str
    kind: Literal["audit", "baseline_set", "baseline_removed", "transit_rebaselined"]
    payload: str
    digest: str = Field(description="SHA-256 of `payload`, lowercase hex.")
    prev_hash: str = Field(description="The digest of the record before; 64 zeros in the first record.")
    signature: str = Field(description="Ed25519 over `payload`, base64url.")
    kid: str
    proof: InclusionOut | None = Field(
        default=None, description="That the record is a leaf of the log; null until the next checkpoint."
    )

    @classmethod
    def of(cls, record: Attestation, proof: Inclusion | None = None) -> "AttestationOut":
        """The record as it is published."""
        shown = InclusionOut.of(proof) if proof else None
        return cls.model_validate({**asdict(record), "ts": moment_text(record.ts), "proof": shown})


class AttestationsOut(LazyModel):
    """Records of the chain, the newest first."""

    attestations: list[AttestationOut]
    standard: str
    kid: str | None = Field(description="The current signing key.")

    @classmethod
    def of(
        cls, records: list[Attestation], proofs: Mapping[str, Inclusion], keys: list[AuditorKey]
    ) -> "AttestationsOut":
        """A page of the chain."""
        current = next((key.kid for key in keys if key.retired_at is None), None)
        return cls(
            attestations=[AttestationOut.of(record, proofs.get(str(record.id))) for record in records],
            standard=STANDARD,
            kid=current,
        )


class AttestationHead(LazyModel):
    """The newest record of the chain."""

    id: int
    frame: str
    ts: str
    kind: str
    digest: str
    kid: str

    @classmethod
    def of(cls, record: Attestation) -> "AttestationHead":
        """The head as it is published."""
        return cls(
            id=record.id,
            frame=record.frame,
            ts=moment_text(record.ts),
            kind=record.kind,
            digest=record.digest,
            kid=record.kid,
        )


class AuditorJwk(LazyModel):
    """A public key of the auditor."""

    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    x: str
    kid: str
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"
    retired_at_id: int | None = Field(
        default=None,
        description="Of a retired key: the last attestation before its retirement. Absent while the key is current.",
    )
    retired_at_size: int | None = Field(
        default=None,
        description="Of a retired key: the number of leaves that the log had then. Larger checkpoints are signed by a later key too.",
    )

    @classmethod
    def of(cls, key: AuditorKey) -> "AuditorJwk":
        """The key as the key set shows it."""
        return cls(
            x=jwk_of(key.public_key)["x"],
            kid=key.kid,
            retired_at_id=key.retired_at_id,
            retired_at_size=key.retired_at_size,
        )


class AuditorJwks(LazyModel):
    """Every key of the auditor, the newest first."""

    keys: list[AuditorJwk]

    @classmethod
    def of(cls, keys: list[AuditorKey]) -> "AuditorJwks":
        """The key set."""
        return cls(keys=[AuditorJwk.of(key) for key in keys])


class NativeBaselineIn(LazyModel):
    """The units that circulate without an event of their issue; null removes the baseline."""

    baseline: PositiveAmount | None
    ref: Ref


class TransitBaselineIn(LazyModel):
    """Why the units in transit are taken as reconciled."""

    ref: Ref


class AuditorKeyRotationIn(LazyModel):
    """Why the key is rotated; kept in the audit log."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)] | None = None
