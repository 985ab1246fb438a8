"""Shapes of the showcase."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.foundation.values.secret_forms import without_secrets
from hansa.foundation.values.visible_text import plain

from .pinning import PINS_MAX, Pin
from .reading import ShowcaseItem

NOTE_MAX = 200


class ShowcaseItemOut(LazyModel):
    """Agent that is shown, and why."""

    did: str
    name: str
    reason: Literal["pinned", "most_verified", "newest", "best_answering"]
    note: str = Field(
        description="Statement of the administrators on a pinned agent, else the reason in words."
    )


class ShowcaseOut(LazyModel):
    """Listed, callable agents of this registry: pinned ones first, one agent for each owner."""

    items: list[ShowcaseItemOut]
    as_of: datetime

    @classmethod
    def of(cls, items: Sequence[ShowcaseItem], as_of: datetime) -> "ShowcaseOut":
        """The showcase as JSON."""
        return cls(
            items=[ShowcaseItemOut.model_validate(item, from_attributes=True) for item in items], as_of=as_of
        )


class PinIn(RequestBody):
    """Agent of this registry that is pinned."""

    did: Annotated[str, Field(min_length=10, max_length=DID_MAX_CHARACTERS)]
    note: Annotated[str, Field(max_length=NOTE_MAX), AfterValidator(plain)] = ""


class PinsIn(RequestBody):
    """All pins, in the order in which they are shown; an empty list removes them."""

    pinned: Annotated[list[PinIn], Field(max_length=PINS_MAX)]

    @model_validator(mode="after")
    def _each_once(self) -> "PinsIn":
        if len({pin.did for pin in self.pinned}) < len(self.pinned):
            raise ValueError("pinned names an agent twice; name each agent once")
        return self

    def pins(self) -> list[Pin]:
        """The pins as they are stored; notes are without secrets."""
        return [Pin(pin.did, without_secrets(pin.note)[:NOTE_MAX]) for pin in self.pinned]


class PinOut(LazyModel):
    """Pinned agent."""

    did: str
    note: str


class PinsOut(LazyModel):
    """All pins, in the order in which they are shown."""

    pinned: list[PinOut]

    @classmethod
    def of(cls, pins: Sequence[Pin]) -> "PinsOut":
        """The pins as JSON."""
        return cls(pinned=[PinOut(did=pin.did, note=pin.note) for pin in pins])
