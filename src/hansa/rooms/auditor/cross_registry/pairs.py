"""The audit across registries: each corridor as this registry knows it, and as its peer last stated it."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from pydantic import Field

from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation, ledger, transfers

from . import store
from .store import ComparedPair


class Flow(msgspec.Struct, frozen=True):
    """Units moved between the two registries in one currency, by transfers or by swaps; minor units."""

    out: int
    in_: int
    confirmed: int
    compared: ComparedPair | None
    reserved: int = 0
    delta: int = 0

    @property
    def in_flight(self) -> int:
        """Return the units reserved, and those committed that the peer has neither confirmed nor stated."""
        credited = self.confirmed if self.compared is None else max(self.confirmed, self.compared.stated_in)
        return self.reserved + max(0, self.out - credited)

    @property
    def surplus(self) -> int:
        """Return the units that exist without having been sent."""
        return 0 if self.compared is None else self.compared.surplus

    @property
    def deficit(self) -> int:
        """Return the units that are missing."""
        return 0 if self.compared is None else self.compared.deficit


class CrossFramePair(LazyModel):
    """One corridor in one currency, swaps included. Amounts are decimal strings."""

    peer: str = Field(description="The name of the peer; its ledger id where it is no peer any more.")
    ledger_id: str
    currency: str = Field(
        description="That of this registry, or that of the peer, of which swaps gave and paid units there."
    )
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
        cls, name: str, frame: str, currency: str, flows: Sequence[Flow], now: datetime
    ) -> "CrossFramePair":
        """The corridor as it stands: transfers and swaps together."""
        surplus, deficit = sum(one.surplus for one in flows), sum(one.deficit for one in flows)
        compared = [one.compared.compared_at for one in flows if one.compared is not None]
        return cls.model_validate(
            {
                "peer": name,
                "ledger_id": frame,
                "currency": currency,
                "out": format_amount(sum(one.out for one in flows)),
                "in": format_amount(sum(one.in_ for one in flows)),
                "in_flight": format_amount(sum(one.in_flight for one in flows)),
                "disputed": format_amount(surplus + deficit),
                "delta": format_amount(surplus - deficit + sum(one.delta for one in flows)),
                "as_of": min(compared, default=now),
            }
        )


class CrossFrameAudit(LazyModel):
    """Every corridor in which units were ever reserved, by ledger id; one with swaps once for each of its two currencies."""

    pairs: list[CrossFramePair]


async def cross_frame_audit(tx: Tx, currency: str) -> CrossFrameAudit:
    """The audit across registries, with the own currency; `tx` must be one snapshot."""
    names = {peer.ledger_id: peer.name for peer in await federation.peers(tx)}
    now = await clock.now(tx)
    flows = await _flows(tx, currency)
    return CrossFrameAudit(
        pairs=[
            CrossFramePair.of(names.get(frame, frame), frame, unit, found, now)
            for (frame, unit), found in flows.items()
        ]
    )


async def _flows(tx: Tx, currency: str) -> dict[tuple[str, str], list[Flow]]:
    """By ledger id and currency, the own currency of each corridor first."""
    compared, compared_swaps = await store.compared_pairs(tx), await store.compared_swaps(tx)
    swapped = await transfers.swapped_totals(tx, currency)
    flows: dict[tuple[str, str], list[Flow]] = {}
    for own in await ledger.corridor_totals(tx):
        plain = Flow(
            own.committed_out,
            own.committed_in,
            own.confirmed_out,
            compared.get(own.frame),
            own.reserved_out,
            own.delta,
        )
        flows[own.frame, currency] = [plain]
        for swaps in swapped.get(own.frame, ()):
            found = compared_swaps.get((own.frame, swaps.currency))
            flow = Flow(swaps.out, swaps.in_, swaps.confirmed, found)
            flows.setdefault((own.frame, swaps.currency), []).append(flow)
    return flows
