"""Shapes of hints, receipts and their public part."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.paging import Page, Pagination
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms import federation
from hansa.rooms.catalogue.rules import BIGINT_MAX

from .reading import NoticesOfAgent
from .receipts import SENT_AT_ONCE
from .records import Notice, NoticeState

LISTS_MAX = 1000
AUDITOR_KEYS_MAX = 8
TrustDomain = Annotated[str, Field(min_length=1, max_length=253)]


class HintIn(RequestBody):
    """There is something new to read at the peer that calls."""

    next: str = Field(
        min_length=1,
        max_length=512,
        description="The place of the newest act in GET /federation/enforcement.",
    )
    documents: federation.DocumentMarks | None = Field(
        default=None,
        description="The documents of the peer as they are now, as GET /federation/documents states them.",
    )
    licence_lists: dict[TrustDomain, Annotated[int, Field(ge=0, le=BIGINT_MAX)]] = Field(
        default_factory=dict,
        max_length=LISTS_MAX,
        description="For each issuer of licences, by trust domain: from when on its list has all that the peer knows, in"
        " seconds since the epoch.",
        examples=[{"genesis.example": 1764374400}],
    )
    auditor_kids: list[Annotated[str, Field(pattern="^[0-9a-f]{16}$")]] = Field(
        default_factory=list,
        max_length=AUDITOR_KEYS_MAX,
        description="The keys of the peer's auditor that are not retired. A checkpoint of its log under any other key is not"
        " cosigned from now on. Empty from a registry that does not state them.",
        examples=[["5f2c9a0d81e34b76"]],
    )


class HintOut(LazyModel):
    """Whether something of the peer is read now."""

    accepted: bool = Field(
        description="False where this registry has read up to this place, and knows these documents and lists."
    )


class ReceiptsIn(RequestBody):
    """Receipts of acts that the caller applied."""

    receipts: list[Annotated[str, Field(max_length=4096)]] = Field(
        max_length=SENT_AT_ONCE,
        description="Compact JWS of type federation-receipt+jws by the caller's registry key.",
    )


class ReceiptsOut(LazyModel):
    """How many receipts were stored; those that are stored already, or that are of no act, are not counted."""

    stored: int


class NoticeOut(LazyModel):
    """What one peer has to apply, and its receipt."""

    peer: str
    ledger_id: str
    act: str = Field(description="`suspended`, `reinstated` or `revoked`.")
    version: int
    acted_at: datetime
    notified_at: datetime | None
    received_at: datetime | None = Field(description="When the receipt arrived, by this registry's clock.")
    seconds: float | None = Field(description="From the notification to the receipt.")
    state: NoticeState = Field(
        description="`late`: the receipt came, or stays out, for more than 60 seconds."
    )
    mode: str | None = Field(description="`enforce`: the peer hides the agent; `shadow`: it only counts.")
    applied_at: datetime | None = Field(description="By the peer's clock.")
    log_position: int | None
    receipt: str | None = Field(description="Compact JWS of type federation-receipt+jws by the peer.")

    @classmethod
    def of(cls, notice: Notice, now: datetime) -> "NoticeOut":
        """The notice as it is answered."""
        copied = ("ledger_id", "act", "version", "acted_at", "notified_at", "received_at", "seconds")
        more = ("applied_at", "log_position", "receipt")
        known = {name: getattr(notice, name) for name in (*copied, *more)}
        return cls(**known, peer=notice.peer_name, mode=notice.receipt_mode, state=notice.state(now))


class EnforcementReceiptsOut(Page[NoticeOut]):
    """Which peers have applied the acts on an agent, the newest act first."""

    agent_did: str
    as_of: datetime

    @classmethod
    def of(cls, did: str, page: NoticesOfAgent, *, limit: int, offset: int) -> "EnforcementReceiptsOut":
        """The page as it is answered."""
        return cls(
            agent_did=did,
            as_of=page.now,
            items=[NoticeOut.of(notice, page.now) for notice in page.notices],
            pagination=Pagination.of(total=page.total, limit=limit, offset=offset),
        )
