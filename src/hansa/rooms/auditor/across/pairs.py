"""The audit across registries: each corridor as this registry knows it, and as its peer last stated it."""

from datetime import datetime

from pydantic import Field

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation, ledger

from . import store
from .store import ComparedPair


class CrossFramePair(LazyModel):
    """One corridor. Amounts are decimal strings in the unit of this registry."""

    peer: str = Field(description="The name of the peer; its ledger id where it is no peer any more.")
    ledger_id: str
    out: str = Field(description="What was committed to it.", examples=["120.5"])
    in_: str = Field(
        alias="in", description="What was committed from it, its border fee included.", examples=["80"]
    )
    in_flight: str = Field(
        description="What is reserved to leave, and what was committed and the peer has not stated to have credited.",
        examples=["0"],
    )
    disputed: str = Field(
        description="What the last comparison found on one side alone; 0 when the totals agree.",
        examples=["0"],
    )
    delta: str = Field(
        description="Units that exist without having been sent, less units that are missing; exactly 0 when all agrees.",
        examples=["0"],
    )
    as_of: datetime = Field(
        description="The last comparison with the peer; the reading itself before the first."
    )

    @classmethod
    def of(
        cls, name: str, own: ledger.CorridorTotals, compared: ComparedPair | None, now: datetime
    ) -> "CrossFramePair":
        """The corridor as it stands."""
        credited = own.confirmed_out if compared is None else max(own.confirmed_out, compared.stated_in)
        surplus, deficit = (compared.surplus, compared.deficit) if compared else (0, 0)
        in_flight = own.reserved_out + max(0, own.committed_out - credited)
        return cls.model_validate(
            {
                "peer": name,
                "ledger_id": own.frame,
                "out": format_amount(own.committed_out),
                "in": format_amount(own.committed_in),
                "in_flight": format_amount(in_flight),
                "disputed": format_amount(surplus + deficit),
                "delta": format_amount(surplus - deficit + own.delta),
                "as_of": compared.compared_at if compared else now,
            }
        )


class CrossFrameAudit(LazyModel):
    """Every corridor in which units were ever reserved, by ledger id."""

    pairs: list[CrossFramePair]


async def cross_frame_audit(tx: Tx) -> CrossFrameAudit:
    """The audit across registries; `tx` must be one snapshot."""
    names = {peer.ledger_id: peer.name for peer in await federation.peers(tx)}
    compared = await store.compared_pairs(tx)
    now = await store.moment(tx)
    return CrossFrameAudit(
        pairs=[
            CrossFramePair.of(names.get(own.frame, own.frame), own, compared.get(own.frame), now)
            for own in await ledger.corridor_totals(tx)
        ]
    )
