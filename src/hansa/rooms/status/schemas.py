"""Shapes of status and incidents."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field

import hansa
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import plain_and_visible

from . import rules
from .records import (
    COMPONENTS,
    Check,
    Component,
    Incident,
    IncidentState,
    Kind,
    Measurements,
    NewIncident,
    State,
)

TITLE_MAX = 150
BODY_MAX = 4000

Title = Annotated[
    str,
    Field(min_length=1, max_length=TITLE_MAX, examples=["Payments settle late"]),
    AfterValidator(plain_and_visible),
]
Body = Annotated[
    str,
    Field(min_length=1, max_length=BODY_MAX, description="Plain text, shown without secrets."),
    AfterValidator(plain_and_visible),
]


class ComponentOut(LazyModel):
    """One component. `degraded` affects no requests, `failed` does; one that is `off` is not in use here."""

    name: Component
    state: State
    since: datetime | None = Field(
        description="Time since which the state lasts; null before it was measured."
    )


class IncidentUpdateOut(LazyModel):
    """Statement of an administrator on an incident."""

    id: UUID
    state: IncidentState
    body: str
    created_at: datetime


class IncidentOut(LazyModel):
    """Incident or maintenance, with its updates, newest first."""

    id: UUID
    kind: Kind
    title: str
    body: str
    components: list[Component]
    state: IncidentState
    starts_at: datetime
    ends_at: datetime | None = Field(description="Planned end of a maintenance.")
    created_at: datetime
    updated_at: datetime
    updates: list[IncidentUpdateOut]

    @classmethod
    def of(cls, one: Incident) -> "IncidentOut":
        """The incident as JSON."""
        return cls.model_validate(one, from_attributes=True)


class DayOut(LazyModel):
    """Share of a day (UTC) in which a component worked."""

    day: date
    uptime: float | None = Field(
        description="From 0 to 1, rounded down; null before the first measurement. Time without a measurement counts as down."
    )


class PublicStatus(LazyModel):
    """State of the registry: the worst of its components, each of them, incidents, and the uptime of 90 days."""

    state: State
    version: str
    components: list[ComponentOut]
    incidents: list[IncidentOut]
    uptime: dict[Component, list[DayOut]] = Field(description="By component, 90 days, the oldest first.")

    @classmethod
    def of(
        cls, checks: Sequence[Check], found: Measurements | None, incidents: Sequence[Incident]
    ) -> "PublicStatus":
        """The status as JSON; without measurements the database is away."""
        return cls(
            state=rules.worst({check.name: check.state for check in checks}),
            version=hansa.__version__,
            components=[
                ComponentOut(name=check.name, state=check.state, since=_since(check, found))
                for check in checks
            ],
            incidents=[IncidentOut.of(one) for one in incidents],
            uptime={
                name: [DayOut(day=day, uptime=share) for day, share in rules.uptime_of(found, name)]
                for name in (COMPONENTS if found else ())
                if found
            },
        )


class StackComponent(LazyModel):
    """State of one component; administrators of the platform also receive the finding."""

    state: State
    detail: str | None = None


class StackHealth(LazyModel):
    """State of all components together, and of each. With `failed` the status code is 503."""

    state: State
    components: dict[Component, StackComponent]


class IncidentIn(RequestBody):
    """Incident that is opened, or maintenance that is announced."""

    kind: Kind
    title: Title
    body: Body
    components: Annotated[list[Component], Field(max_length=len(COMPONENTS))]
    starts_at: AwareDatetime | None = Field(
        default=None, description="Now, where it is absent; in the future for a maintenance alone."
    )
    ends_at: AwareDatetime | None = Field(default=None, description="Planned end; of a maintenance alone.")

    def incident(self) -> NewIncident:
        """The incident that is stored."""
        return NewIncident(
            kind=self.kind,
            title=without_secrets(self.title)[:TITLE_MAX],
            body=without_secrets(self.body)[:BODY_MAX],
            components=[name for name in COMPONENTS if name in self.components],
            starts_at=self.starts_at,
            ends_at=self.ends_at,
        )


class IncidentUpdateIn(RequestBody):
    """Statement on an incident; `resolved` ends it."""

    state: Literal["investigating", "identified", "monitoring", "resolved"]
    body: Body

    @property
    def text(self) -> str:
        """The body without secrets."""
        return without_secrets(self.body)[:BODY_MAX]


def _since(check: Check, found: Measurements | None) -> datetime | None:
    """Time since which the state lasts; a state that differs from the measured one has lasted since that moment at most."""
    measured = found.components.get(check.name) if found else None
    if found is None or measured is None:
        return None
    return measured.since if measured.state == check.state else found.at
