"""Shapes of emission policies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, StrictBool, model_validator

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody

from .rules import Policy

Decision = StrictBool | None


class PolicyChange(RequestBody):
    """The changes; at least one member. Null removes the setting."""

    emit_from_teg: Decision = Field(
        default=None, description="Whether the ledger's side may record this event."
    )
    emit_from_registry: Decision = Field(
        default=None, description="Whether the registry's side may record this event."
    )
    skip_in_projection: StrictBool = Field(default=False, description="Whether folds exclude these events.")

    @model_validator(mode="after")
    def _says_something(self) -> "PolicyChange":
        if not self.model_fields_set:
            raise ValueError("name at least one of emit_from_teg, emit_from_registry, skip_in_projection")
        return self

    def members(self) -> dict[str, Any]:
        """The members that were sent."""
        return self.model_dump(exclude_unset=True)


class PolicyOut(LazyModel):
    """The policy of one event type."""

    event_type: str
    emit_from_teg: Decision
    emit_from_registry: Decision
    skip_in_projection: bool
    updated_at: datetime

    @classmethod
    def of(cls, policy: Policy) -> "PolicyOut":
        return cls(
            event_type=policy.event_type,
            emit_from_teg=policy.rule.emit_from_teg,
            emit_from_registry=policy.rule.emit_from_registry,
            skip_in_projection=policy.rule.skip_in_projection,
            updated_at=policy.updated_at,
        )


class PoliciesOut(LazyModel):
    """Every emission policy, and the treatment of events without a policy."""

    items: list[PolicyOut]
    fail_closed: Annotated[
        bool,
        Field(
            description="Whether the registry's side refuses events without a policy, as the ledger's does."
        ),
    ]
