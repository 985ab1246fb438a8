"""Track records and scores as they are read and written."""

from dataclasses import dataclass
from datetime import date, datetime

from hansa_verify import Kind, Score


@dataclass(frozen=True)
class StoredSignal:
    """A signal with the event that it was read from. `giver` is the payer or the complainant; amounts in minor units."""

    id: int
    event_seq: int
    event_type: str
    kind: Kind
    at: datetime
    giver: str
    receiver: str
    amount: int
    fee: int
    counts: bool


@dataclass(frozen=True)
class PaidJob:
    """A paid job: the first of its counterparty on its day is verified, a foreign one was paid from another registry."""

    signal: StoredSignal
    is_contract: bool
    is_verified: bool
    is_foreign: bool


@dataclass(frozen=True)
class TrackRecord:
    """What counts of an agent up to now. `volume` is in minor units."""

    jobs_verified: int = 0
    jobs_foreign: int = 0
    volume: int = 0
    contracts_completed: int = 0
    disputes_won: int = 0
    disputes_lost: int = 0
    first_job_at: datetime | None = None


@dataclass(frozen=True)
class Epoch:
    """A computation of all scores: `through` is the last signal that was there."""

    epoch: date
    through: int
    formula: str
    computed_at: datetime


@dataclass(frozen=True)
class GradeChange:
    """The grade of an agent from this epoch on."""

    epoch: date
    grade: str
    score: int


@dataclass(frozen=True)
class Reputation:
    """The score of an agent in the newest epoch, which is None before the first one."""

    agent_did: str
    score: Score
    epoch: Epoch | None


@dataclass(frozen=True)
class ExportCursor:
    """Up to which signal and which agent an export has been read."""

    signal: int = 0
    agent: str = ""


@dataclass(frozen=True)
class ExportPage:
    """Some of the signals and scores of an epoch; `next` is None on the last page."""

    epoch: Epoch | None
    signals: list[StoredSignal]
    scores: dict[str, int]
    next: ExportCursor | None
