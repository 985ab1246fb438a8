"""Track records and scores as they are read and written."""

from datetime import date, datetime

import msgspec

from hansa_verify import Kind, Score


class StoredSignal(msgspec.Struct, frozen=True):
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


class PaidJob(msgspec.Struct, frozen=True):
    """A paid job: the first of its counterparty on its day is verified, a foreign one was paid from another registry."""

    signal: StoredSignal
    is_contract: bool
    is_verified: bool
    is_foreign: bool


class RecordedSignal(msgspec.Struct, frozen=True):
    """A signal that the records count: a job that is `verified` counts toward marks, `foreign` ones were paid from other registries."""

    id: int
    event_seq: int
    at: datetime
    kind: Kind
    giver: str
    receiver: str
    counts: bool
    is_verified: bool
    is_foreign: bool


class TrackRecord(msgspec.Struct, frozen=True):
    """Track record of an agent: the jobs and disputes that count up to now. `volume` and `fees` are in minor units.

    `fees` are those of the jobs for agents of this registry that count since the last dispute that the agent lost as its defendant.
    """

    jobs_verified: int = 0
    jobs_foreign: int = 0
    volume: int = 0
    fees: int = 0
    contracts_completed: int = 0
    disputes_won: int = 0
    disputes_lost: int = 0
    first_job_at: datetime | None = None


class Epoch(msgspec.Struct, frozen=True):
    """A computation of all scores: `through` is the last signal that was there."""

    epoch: date
    through: int
    formula: str
    computed_at: datetime


class GradeChange(msgspec.Struct, frozen=True):
    """The grade of an agent from this epoch on."""

    epoch: date
    grade: str
    score: int


class Reputation(msgspec.Struct, frozen=True):
    """The score of an agent in the newest epoch, which is None before the first one."""

    agent_did: str
    score: Score
    epoch: Epoch | None


class ExportCursor(msgspec.Struct, frozen=True):
    """Up to which signal and which agent an export has been read."""

    signal: int = 0
    agent: str = ""


class ExportPage(msgspec.Struct, frozen=True):
    """Some of the signals and scores of an epoch; `next` is None on the last page."""

    epoch: Epoch | None
    signals: list[StoredSignal]
    scores: dict[str, int]
    next: ExportCursor | None
