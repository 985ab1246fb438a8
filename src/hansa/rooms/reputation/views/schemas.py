"""Shapes of the views."""

from datetime import date

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.money import format_amount
from hansa.rooms.reputation.scores import Reputation, ScoreComponent
from hansa_verify import SCORE_MAX

from .records import Edge, ForeignFrame, Graph, VolumeDay, VolumeProfile


class TrustOut(LazyModel):
    """Trust in an agent: its score as a number from 0 to 1."""

    agent_did: str
    global_trust: float = Field(ge=0, le=1, description="The score divided by 1000.")
    score: int = Field(ge=0, le=SCORE_MAX)
    grade: str
    epoch: date | None = Field(description="The UTC day of the scores; null before the first ones.")

    @classmethod
    def of(cls, found: Reputation) -> "TrustOut":
        """The answer for an agent."""
        return cls(
            agent_did=found.agent_did,
            global_trust=found.score.score / SCORE_MAX,
            score=found.score.score,
            grade=found.score.grade,
            epoch=found.epoch.epoch if found.epoch else None,
        )


class TrustScoreOut(TrustOut):
    """Trust in an agent, with the parts of its score and its place among all agents."""

    components: list[ScoreComponent]
    rank_percentile: float | None = Field(
        description="Percentage of the scored agents with a lower score; null for an agent that nothing counts for yet."
    )

    @classmethod
    def ranked(cls, found: Reputation, rank_percentile: float | None) -> "TrustScoreOut":
        """The answer for an agent with its place."""
        return cls(
            **TrustOut.of(found).model_dump(),
            components=ScoreComponent.all_of(found.score),
            rank_percentile=rank_percentile,
        )


class TrustNode(LazyModel):
    """An agent with its score."""

    did: str
    score: int


class TrustEdge(LazyModel):
    """Payments that count from one agent to another."""

    payer: str = Field(serialization_alias="from", description="The paying agent.")
    payee: str = Field(serialization_alias="to", description="The paid agent.")
    evidence: str = Field(
        description="Fees of the payments, halved every 90 days: decimal string, in units.", examples=["0.2"]
    )
    jobs: int = Field(description="Number of the payments.")

    @classmethod
    def of(cls, edge: Edge) -> "TrustEdge":
        """The edge as it is answered."""
        return cls(
            payer=edge.giver, payee=edge.receiver, evidence=format_amount(edge.evidence), jobs=edge.jobs
        )


class TrustGraphOut(LazyModel):
    """Agents around an agent, and the payments between them that count."""

    nodes: list[TrustNode]
    edges: list[TrustEdge] = Field(
        description="Those with the most evidence; the edges of the agent itself come first."
    )
    truncated: bool = Field(description="There are more edges than were asked for.")

    @classmethod
    def of(cls, graph: Graph) -> "TrustGraphOut":
        """The graph as it is answered."""
        return cls(
            nodes=[TrustNode(did=did, score=score) for did, score in graph.scores.items()],
            edges=[TrustEdge.of(edge) for edge in graph.edges],
            truncated=graph.truncated,
        )


class VolumeDayOut(LazyModel):
    """Payments of one UTC day."""

    date: date
    received: str = Field(serialization_alias="in", description="Decimal string, in units.", examples=["30"])
    paid: str = Field(serialization_alias="out", description="Decimal string, in units.", examples=["10"])
    jobs: int = Field(description="Number of the payments.")

    @classmethod
    def of(cls, day: VolumeDay) -> "VolumeDayOut":
        """The day as it is answered."""
        return cls(
            date=day.day, received=format_amount(day.received), paid=format_amount(day.paid), jobs=day.jobs
        )


class VolumeProfileOut(LazyModel):
    """Settled payments of an agent by day. Days without any are left out."""

    days: list[VolumeDayOut]
    counterparties: int
    top_share: float = Field(ge=0, le=1, description="Share of the volume with the largest counterparty.")
    same_owner_share: float = Field(
        ge=0, le=1, description="Share of the volume with agents of the same owner."
    )

    @classmethod
    def of(cls, profile: VolumeProfile) -> "VolumeProfileOut":
        """The profile as it is answered."""
        return cls(
            days=[VolumeDayOut.of(day) for day in profile.days],
            counterparties=profile.counterparties,
            top_share=profile.top_share,
            same_owner_share=profile.same_owner_share,
        )


class ForeignFrameOut(LazyModel):
    """Work of an agent for the agents of another frame."""

    ledger_id: str = Field(examples=["other.example.org"])
    jobs: int = Field(description="Number of the payments that count.")
    volume: str = Field(description="Payments received: decimal string, in units of this registry.")
    disputes_lost: int

    @classmethod
    def of(cls, frame: ForeignFrame) -> "ForeignFrameOut":
        """The frame as it is answered."""
        return cls(
            ledger_id=frame.ledger_id,
            jobs=frame.jobs,
            volume=format_amount(frame.volume),
            disputes_lost=frame.disputes_lost,
        )


class ForeignFramesOut(LazyModel):
    """Work of an agent abroad, those frames with the most jobs first; at most 200."""

    frames: list[ForeignFrameOut]
