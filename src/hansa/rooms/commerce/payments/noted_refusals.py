"""Refusals of settle requests, noted for the log of the agent that presented the token."""

from collections.abc import Iterator
from contextlib import contextmanager

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.values.errors import Refused, Unavailable
from hansa.rooms import operations


@contextmanager
def noting_refusals(runtime: Runtime, did: str) -> Iterator[None]:
    """Note a refusal, which goes on to the agent."""
    try:
        yield
    except Refused as refusal:
        note_refusal(runtime, did, refusal)
        raise


def note_refusal(runtime: Runtime, did: str, refusal: Refused) -> None:
    """Note a refused token; an outage is none."""
    if not isinstance(refusal, Unavailable):
        operations.note_refused_payment_token(runtime, did, refusal.detail, None)
