"""Witnesses as they are published."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms.auditor.attestations.rules import moment_text
from hansa_verify import ML_DSA_WITNESS_KEY, WITNESS_KEY

from .keys import WitnessKeys
from .records import LogWitness, StoredFork, Witness, WitnessedLog


class WitnessedLogOut(LazyModel):
    """A log that this registry cosigns."""

    origin: str
    size: int = Field(description="Of the newest cosigned checkpoint, in leaves.")
    root: str = Field(description="Lowercase hex.")
    cosigned_at: str


class WitnessOut(LazyModel):
    """The registry as a witness of other logs."""

    name: str
    key: str = Field(description="Verifier key (C2SP signed-note) of type 4: Ed25519.")
    ml_dsa_44_key: str = Field(description="Verifier key of type 6: ML-DSA-44.")
    logs: list[WitnessedLogOut]

    @classmethod
    def of(cls, keys: WitnessKeys, logs: Sequence[WitnessedLog]) -> "WitnessOut":
        """The witness as it is published."""
        shown = [
            WitnessedLogOut(
                origin=one.origin,
                size=one.size,
                root=one.root.hex(),
                cosigned_at=moment_text(one.cosigned_at),
            )
            for one in logs
        ]
        return cls(
            name=keys.ed25519.name, key=keys.ed25519.text, ml_dsa_44_key=keys.ml_dsa_44.text, logs=shown
        )


class LogWitnessOut(LazyModel):
    """A witness of the log of this registry."""

    name: str
    key: str | None = Field(description="Verifier key (C2SP signed-note) of type 4: Ed25519.")
    ml_dsa_44_key: str | None = Field(description="Verifier key of type 6: ML-DSA-44.")
    cosigned_with: list[Literal["Ed25519", "ML-DSA-44"]] = Field(
        description="Of the cosignatures under the checkpoint of `size` leaves."
    )
    size: int | None = Field(description="Of the newest checkpoint that it cosigned, in leaves.")
    cosigned_at: str | None
    asked_at: str | None
    trouble: str | None = Field(description="How the last request to it failed.")

    @classmethod
    def of(cls, witness: Witness, found: LogWitness | None) -> "LogWitnessOut":
        """The witness as it is published."""
        cosigned = found and found.cosigned_at
        ed25519, ml_dsa_44 = witness.key_of(WITNESS_KEY), witness.key_of(ML_DSA_WITNESS_KEY)
        return cls(
            name=witness.name,
            key=ed25519 and ed25519.text,
            ml_dsa_44_key=ml_dsa_44 and ml_dsa_44.text,
            cosigned_with=witness.algorithms_in(found.lines if found else []),
            size=found and found.size,
            cosigned_at=moment_text(cosigned) if cosigned else None,
            asked_at=moment_text(found.asked_at) if found else None,
            trouble=found and found.trouble,
        )


class ForkCopyOut(LazyModel):
    """A checkpoint of a log that forked, as one registry was shown it."""

    witness: str = Field(
        description="The ledger id of the registry that was shown it.", examples=["hansa.local"]
    )
    checkpoint: str = Field(description="The signed note.")


class LogForkOut(LazyModel):
    """Two checkpoints with the signature of one log, of which neither continues the other."""

    origin: str
    kind: Literal["same_size", "not_consistent"] = Field(
        description="`same_size`: two trees of one size. `not_consistent`: the log cannot connect them."
    )
    found_at: str
    copies: list[ForkCopyOut]


class LogForksOut(LazyModel):
    """The forks of logs that this registry found, the newest first, with both copies."""

    forks: list[LogForkOut]

    @classmethod
    def of(cls, found: Sequence[StoredFork], own: str) -> "LogForksOut":
        """The list as it is published by the registry with this ledger id."""
        return cls(
            forks=[
                LogForkOut(
                    origin=one.fork.origin,
                    kind=one.fork.kind,
                    found_at=moment_text(one.found_at),
                    copies=[
                        ForkCopyOut(witness=own, checkpoint=one.fork.own_note),
                        ForkCopyOut(witness=one.fork.other_witness, checkpoint=one.fork.other_note),
                    ],
                )
                for one in found
            ]
        )


class LogWitnessesOut(LazyModel):
    """The witnesses that this registry asks to cosign its log."""

    witnesses: list[LogWitnessOut]

    @classmethod
    def of(cls, found: Sequence[tuple[Witness, LogWitness | None]]) -> "LogWitnessesOut":
        """The list as it is published."""
        return cls(witnesses=[LogWitnessOut.of(witness, last) for witness, last in found])
