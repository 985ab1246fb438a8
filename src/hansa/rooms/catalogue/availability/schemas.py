"""Availability as it is answered. Shares are decimal strings, hashes base64."""

import json
from base64 import b64encode
from collections.abc import Sequence
from datetime import date
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa_verify import AVAILABILITY_KIND, CLASSES_MS, bounds_of_day, bounds_of_days, median_class

from .exchange import MESSAGE_MAX_CHARACTERS
from .records import Availability, DayProof, PeerDay, ProbedDay
from .rules import hours_of

Share = str | None
CLASSES = ", ".join(map(str, CLASSES_MS))


def _texts(hashes: Sequence[bytes]) -> list[str]:
    return [b64encode(one).decode() for one in hashes]


class LoggedStatementOut(LazyModel):
    """Entry of the statement in the log of the registry."""

    index: int
    entry: str = Field(description="The leaf: canonical JSON with the members v, kind, id, sha256 and at.")
    hashes: list[str] = Field(description="The path from the leaf to the root of the checkpoint, base64.")


class DayProofOut(LazyModel):
    """Proof of the hours of one day."""

    statement: dict[str, Any] = Field(
        examples=[{"kind": "registry.availability.v1", "day": "2026-11-30", "agents": 4711}],
        description="Statement `registry.availability.v1` of the day with a detached JWS by the registry key: the number of"
        " agents and the root of the tree over all of them.",
    )
    index: int = Field(description="Place of the agent in the tree.")
    hashes: list[str] = Field(description="The path from the leaf of the agent to the root, base64.")
    log: LoggedStatementOut

    @classmethod
    def of(cls, proof: DayProof) -> "DayProofOut":
        """The proof as it is answered."""
        entry = proof.log
        return cls(
            statement=dict(proof.statement),
            index=proof.index,
            hashes=_texts(proof.hashes),
            log=LoggedStatementOut(index=entry.index, entry=entry.entry, hashes=_texts(entry.hashes)),
        )


class AvailableDayOut(LazyModel):
    """One day (UTC) of an agent."""

    day: date
    lower: Share = Field(
        examples=["0.9583"],
        description="Share of the measured hours in which every probe was answered, rounded down.",
    )
    upper: Share = Field(
        examples=["1.0000"],
        description="Share of the measured hours in which any probe was answered, rounded up.",
    )
    measured_hours: int
    hours: list[list[int] | None] | None = Field(
        examples=[[[4, 3, 1, 0, 0, 0], None]],
        description="24 hours; each has the number of probes, then the answers within"
        f" {CLASSES} milliseconds, each in one class; null without a probe.",
    )
    proof: DayProofOut | None = Field(description="Null where nothing was measured.")

    @classmethod
    def of(cls, one: ProbedDay) -> "AvailableDayOut":
        """The day as it is answered."""
        bounds = bounds_of_day(one.hours or ())
        lower, upper = bounds.texts
        return cls(
            day=one.day,
            lower=lower,
            upper=upper,
            measured_hours=bounds.measured,
            hours=one.hours,
            proof=None if one.proof is None else DayProofOut.of(one.proof),
        )


class PeerStatementsIn(RequestBody):
    """Statements of the caller about agents of this registry."""

    messages: list[Annotated[str, Field(min_length=1, max_length=MESSAGE_MAX_CHARACTERS)]] = Field(
        max_length=1, description="One compact JWS of type fed-availability+jws by the caller's registry key."
    )


class PeerStatementsOut(LazyModel):
    """How many days of agents are new here."""

    messages: list[str] = Field(description="Always empty.")
    stored: int


class PeerDayOut(LazyModel):
    """One day of an agent as a peer states it."""

    day: date
    hours: list[list[int] | None] = Field(examples=[[[4, 3, 1, 0, 0, 0], None]])
    statement: dict[str, Any] = Field(
        examples=[{"kind": "registry.availability.v1", "day": "2026-11-30", "agents": 4711}],
        description="Statement of the day with a detached JWS by the key of the peer.",
    )
    index: int
    hashes: list[str] = Field(description="The path from the leaf of the agent to the root, base64.")


class PeerAvailabilityOut(LazyModel):
    """Availability of an agent as a peer measured it: the statement of the peer alone, in no bound of this registry."""

    registry: str = Field(examples=["hansa:peer.example"], description="Ledger id of the peer.")
    lower: Share = Field(examples=["0.9981"])
    upper: Share = Field(examples=["0.9994"])
    measured_days: int
    days: list[PeerDayOut] = Field(description="Stated days, the oldest first.")

    @classmethod
    def of(cls, registry: str, days: Sequence[PeerDay]) -> "PeerAvailabilityOut":
        """The days of one peer as they are answered."""
        lower, upper = (whole := bounds_of_days(bounds_of_day(hours_of(one.counts)) for one in days)).texts
        return cls(
            registry=registry,
            lower=lower,
            upper=upper,
            measured_days=whole.measured,
            days=[
                PeerDayOut(
                    day=one.day,
                    hours=hours_of(one.counts),
                    statement=json.loads(one.statement),
                    index=one.place,
                    hashes=_texts(one.hashes),
                )
                for one in days
            ],
        )


class AvailabilityOut(LazyModel):
    """Availability of an agent in 90 days, as this registry measured it: verified offline by `hansa verify availability`."""

    kind: Literal["agent.availability.v1"]
    registry: str = Field(
        examples=["hansa:hansa.example"], description="Ledger id of the registry that made the probes."
    )
    agent_did: str
    from_: date = Field(alias="from")
    to: date
    lower: Share = Field(
        examples=["0.9981"],
        description="Mean of the lower bounds of the measured days, rounded down; null without any.",
    )
    upper: Share = Field(examples=["0.9994"], description="Mean of their upper bounds, rounded up.")
    measured_days: int = Field(description="Days with a probe. Others do not count.")
    median_ms_max: int | None = Field(
        description=f"Half of the answers took no longer, in milliseconds: one of {CLASSES}; null without any."
    )
    days: list[AvailableDayOut] = Field(description="90 days, the oldest first.")
    checkpoint: str | None = Field(description="The signed checkpoint of the log to which the proofs lead.")
    peers: list[PeerAvailabilityOut] = Field(
        description="Statements of peers that probe the agent too, as they signed them; a peer proves them by its own log."
    )

    @classmethod
    def of(cls, found: Availability, registry: str) -> "AvailabilityOut":
        """The availability as it is answered."""
        lower, upper = (whole := bounds_of_days(bounds_of_day(one.hours or ()) for one in found.days)).texts
        return cls.model_validate(
            {
                "kind": AVAILABILITY_KIND,
                "registry": registry,
                "agent_did": found.agent_did,
                "from": found.days[0].day,
                "to": found.days[-1].day,
                "lower": lower,
                "upper": upper,
                "measured_days": whole.measured,
                "median_ms_max": median_class(one.hours or () for one in found.days),
                "days": [AvailableDayOut.of(one) for one in found.days],
                "checkpoint": found.checkpoint,
                "peers": [
                    PeerAvailabilityOut.of(peer, list(days))
                    for peer, days in groupby(found.peers, key=lambda one: one.registry)
                ],
            }
        )
