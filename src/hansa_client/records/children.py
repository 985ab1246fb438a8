"""Answers about children of agents."""

from datetime import datetime

from .agents import NewAgent
from .record import Record


class SpawnedChild(NewAgent, frozen=True, kw_only=True):
    """A new child. `client_secret` and `private_key_pem` are shown only once."""

    parent_did: str
    expires_at: datetime


class Child(Record, frozen=True):
    """A child. `state` is living, ending or ended; `returned` are the units that went back to its parent."""

    child_did: str
    name: str
    parent_did: str
    state: str
    status: str
    funding: str
    balance: str
    held: str
    expires_at: datetime
    ended_at: datetime | None
    returned: str | None


class ChildPage(Record, frozen=True):
    """A page of children, newest first; `next` leads to the page after it."""

    items: list[Child]
    next: str | None


class WaitsFor(Record, frozen=True):
    """Reason for which a child has not ended yet."""

    kind: str
    detail: str


class EndedChild(Child, frozen=True):
    """A child that was ended, or is ending; `waits_for` is empty once it has ended."""

    waits_for: list[WaitsFor]
