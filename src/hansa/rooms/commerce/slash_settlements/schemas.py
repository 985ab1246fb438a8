"""Shapes of settlements: for administrators, and of the messages between registries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import federation

from .envelope import MESSAGE_MAX_CHARACTERS
from .records import Kept

MESSAGES_MAX = 100
REASON_MAX_CHARACTERS = 500
INT_MAX = 2**31 - 1

SettlementStatus = Literal["PENDING_SLASH", "SLASHING", "SLASHED", "SETTLED", "FAILED", "EXPIRED"]


SettlementDirection = Literal["incoming", "outgoing", "awarded", "owed"]


class SettlementOut(LazyModel):
    """The settlement of a slash with another registry. Amounts are decimal strings."""

    settlement_id: int
    dispute_id: int = Field(description="The number of the dispute at the registry that decided it.")
    direction: SettlementDirection = Field(
        description="`incoming`: the defendant is an agent here. `outgoing`: the dispute was decided here. `awarded`: decided and"
        " slashed here, for a complainant there. `owed`: decided and slashed there, for a complainant here."
    )
    peer: str = Field(description="The ledger id of the other registry.", examples=["peer.example.org"])
    defendant_did: str
    complainant_did: str
    amount: str = Field(description="What is to be slashed, in the unit of the defendant's registry.")
    currency: str
    status: SettlementStatus
    auto_approved: bool
    slashed_amount: str
    compensated_amount: str = Field(
        description="What was issued to the complainant here; of an outgoing or an owed one."
    )
    tx_id: str | None = Field(
        description="The transaction here: that of the slash, or that of the compensation.",
        examples=["tx-4711"],
    )
    peer_tx_id: str | None = Field(
        description="The transaction of the slash, as the other registry stated it.", examples=["tx-815"]
    )
    reason: str | None
    uncollected_since: datetime | None = Field(
        description="Since when the registry of the defendant, restored from a backup, cannot destroy again what was compensated:"
        " the defendant has nothing left. It is asked again, at last once a day."
    )
    written_off_reason: str | None = Field(
        description="Why an administrator ended the claim on units that could not be destroyed again.",
        examples=["The agent is gone, and its owner as well."],
    )
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None

    @classmethod
    def of(cls, kept: Kept) -> "SettlementOut":
        """The answer that describes this row."""
        row: Mapping[str, Any] = kept.row
        return cls.model_validate(
            {
                **{name: row[name] for name in cls.model_fields if name in row and name not in _WRITTEN},
                "peer": row["frame"],
                "amount": format_amount(row["amount"]),
                "slashed_amount": format_amount(row["slashed_amount"]),
                "compensated_amount": format_amount(row["compensated"]),
                "tx_id": None if row["tx_id"] is None else f"tx-{row['tx_id']}",
            }
        )


class SettlementEvidence(LazyModel):
    """What the other registry signed about one settlement. `hansa verify settlement` verifies it by the keys of that registry."""

    kind: Literal["slash.evidence.v1"] = "slash.evidence.v1"
    messages: list[str] = Field(
        description="Compact JWS by the key of the other registry, typ `fed-slash+jws`: its request or award, and its last"
        " confirmation, receipt or statement that it paid an award.",
        examples=[["eyJhbGciOiJFZERTQSJ9.eyJraW5kIjoiZmVkLnNsYXNoLnYxIn0.c2lnbmF0dXJl"]],
    )


_WRITTEN = frozenset({"amount", "slashed_amount", "tx_id", "peer"})


class SettlementReasonIn(RequestBody):
    """Why the slash is refused; the other registry gets it."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS, pattern=r"\S")]


class WriteOffIn(RequestBody):
    """Why the units are given up; kept with the settlement."""

    reason: Annotated[str, Field(min_length=1, max_length=REASON_MAX_CHARACTERS, pattern=r"\S")]


class SlashConfigIn(RequestBody):
    """Which slashes of a peer are approved without an administrator."""

    auto_slash_enabled: StrictBool
    auto_slash_max_avt: Annotated[
        int,
        Field(ge=0, le=INT_MAX, description="Whole units of this registry; ten times as much in 24 hours."),
    ]


class SlashConfigOut(LazyModel):
    """The bounds for one peer."""

    peer_id: int
    name: str = Field(examples=["peer"])
    auto_slash_enabled: bool
    auto_slash_max_avt: int

    @classmethod
    def of(cls, peer: federation.PeerRecord) -> "SlashConfigOut":
        """The answer that describes this peer."""
        return cls(
            peer_id=peer.id,
            name=peer.name,
            auto_slash_enabled=peer.auto_slash_enabled,
            auto_slash_max_avt=peer.auto_slash_max_avt,
        )


class SlashConfigs(LazyModel):
    """The bounds of every peer."""

    items: list[SlashConfigOut]


class SlashMessagesIn(RequestBody):
    """Signed messages of the calling registry about settlements."""

    messages: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX_CHARACTERS)]],
        Field(
            min_length=1,
            max_length=MESSAGES_MAX,
            description="Compact JWS by the registry key, typ `fed-slash+jws`.",
        ),
    ]


class SlashMessagesOut(LazyModel):
    """The signed answers: the state of each settlement that was asked for, or a receipt for each outcome."""

    messages: list[str]
