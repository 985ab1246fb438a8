"""The supply page: its terms added up, its course over time, and the chain of attestations."""

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from hansa.doors.console.plots import Plot
from hansa.doors.console.rendering import both_forms, grouped, page_or_json
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import UNIT, ZERO, format_amount
from hansa.rooms import auditor, journal

RECORDS_SHOWN = 60
POINTS_SHOWN = 120
DAYS_SHOWN = 60

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)


class SupplyTerms(LazyModel):
    """`issued` - `destroyed` + `transit_net` = `net_supply`; `delta` = `net_supply` - `circulating`. Decimal strings."""

    issued: str
    destroyed: str
    transit_net: str
    net_supply: str
    circulating: str
    delta: str


class SupplyAt(LazyModel):
    """Findings of an audit cycle."""

    checked_at: datetime
    issued: str
    destroyed: str
    circulating: str
    agent_count: int


class VolumeOn(LazyModel):
    """Payments of a day (UTC), without fees."""

    day: date
    payments: int
    amount: str


class SupplyOut(LazyModel):
    """The supply now and over time."""

    status: str = Field(examples=["OK"])
    checked_at: datetime
    as_of_event_seq: int
    currency: str
    terms: SupplyTerms
    agent_count: int
    history: list[SupplyAt] = Field(description="Audit cycles from the first to the newest, evenly spaced.")
    volume: list[VolumeOn] = Field(description="The newest days on which anything was paid, oldest first.")

    @classmethod
    def of(
        cls,
        watch: auditor.SupplyWatch,
        currency: str,
        history: Sequence[auditor.SupplyPoint],
        volume: Sequence[journal.DayVolume],
    ) -> "SupplyOut":
        """The public form of these readings."""
        supply = watch.supply
        terms = SupplyTerms(
            issued=format_amount(supply.terms.issued),
            destroyed=format_amount(supply.terms.destroyed),
            transit_net=format_amount(supply.terms.transit),
            net_supply=format_amount(supply.net_supply),
            circulating=format_amount(supply.circulating),
            delta=format_amount(supply.delta),
        )
        return cls(
            status=watch.status,
            checked_at=watch.checked_at,
            as_of_event_seq=supply.as_of_seq,
            currency=currency,
            terms=terms,
            agent_count=supply.agent_count,
            history=[_at(point) for point in history],
            volume=[
                VolumeOn(day=one.day, payments=one.payments, amount=format_amount(one.amount))
                for one in volume
            ],
        )


class AttestedLine(msgspec.Struct, frozen=True):
    """A record of the chain as the page shows it. `delta` is None where it attests no reading."""

    record: auditor.Attestation
    status: str | None
    delta: str | None
    gap: tuple[datetime, datetime] | None

    @classmethod
    def of(cls, record: auditor.Attestation) -> "AttestedLine":
        """Reads the signed text; amounts keep their digits."""
        said = json.loads(record.payload, parse_float=str, parse_int=str)
        gap = said.get("gap")
        times = gap and (datetime.fromisoformat(gap["from"]), datetime.fromisoformat(gap["to"]))
        return cls(record, said.get("live_status"), said.get("delta"), times)


@both_forms(router, "/supply")
async def show_supply(_: Public, request: Request, db: Db, settings: Config) -> Response:
    """The supply: its terms, its course, and the chain of attestations with its gaps."""
    frame = settings.ledger_id
    watch = await auditor.watch_supply(db)
    chain, history, volume, records = await db.query(
        lambda tx: read_together(
            tx,
            lambda tx: auditor.read_watch(tx, frame),
            lambda tx: auditor.supply_over_time(tx, POINTS_SHOWN),
            lambda tx: journal.volume_by_day(tx, DAYS_SHOWN),
            lambda tx: auditor.list_attestations(tx, frame, None, RECORDS_SHOWN),
        )
    )
    found = SupplyOut.of(watch, settings.settlement_currency, history, volume)
    return page_or_json(
        request,
        "supply.html",
        found,
        is_ok=watch.is_ok,
        plots=plots_over_time(history, volume, settings.settlement_currency),
        chain=chain,
        records=[AttestedLine.of(record) for record in records],
    )


def _at(point: auditor.SupplyPoint) -> SupplyAt:
    return SupplyAt(
        checked_at=point.checked_at,
        issued=format_amount(point.issued),
        destroyed=format_amount(point.destroyed),
        circulating=format_amount(point.circulating),
        agent_count=point.agent_count,
    )


def plots_over_time(
    history: Sequence[auditor.SupplyPoint], volume: Sequence[journal.DayVolume], currency: str
) -> list[Plot]:
    """The plots for which there is anything to draw: circulation and agents at audit cycles, payments by day (UTC)."""
    plots = []
    if history:
        labels = [f"{point.checked_at:%Y-%m-%d %H:%M}" for point in history]
        times = [point.checked_at.timestamp() for point in history]
        for title, per_unit, values, shown in (
            (
                "Units in circulation",
                UNIT,
                [point.circulating for point in history],
                [f"{grouped(format_amount(point.circulating))} {currency}" for point in history],
            ),
            (
                "Agents",
                1,
                [point.agent_count for point in history],
                [str(point.agent_count) for point in history],
            ),
        ):
            plots.append(Plot(title, list(zip(labels, values, strict=True)), shown, times, per_unit))
    if volume:
        days = _without_gaps(volume)
        shown = [f"{grouped(format_amount(one.amount))} {currency}" for one in days]
        plots.append(Plot("Paid each day", [(f"{one.day}", one.amount) for one in days], shown))
        counts = [f"{one.payments}" for one in days]
        plots.append(
            Plot("Payments each day", [(f"{one.day}", one.payments) for one in days], counts, per_unit=1)
        )
    return plots


def _without_gaps(volume: Sequence[journal.DayVolume]) -> list[journal.DayVolume]:
    """The newest days up to the last one, each day once; days without a payment are zero."""
    known = {one.day: one for one in volume}
    last = volume[-1].day
    first = max(volume[0].day, last - timedelta(days=DAYS_SHOWN - 1))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return [known.get(day) or journal.DayVolume(day, 0, ZERO) for day in days]
