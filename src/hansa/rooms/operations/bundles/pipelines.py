"""Pipelines in the bundle of an agent, supplied by the room that owns pipelines."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.database import Tx


class PipelinesOfBundle(msgspec.Struct, frozen=True):
    """Definitions of pipelines as plain JSON objects, without runs, identifiers or secrets."""

    export_pipelines: Callable[[Tx, str], Awaitable[list[dict[str, Any]]]]
    """Return the definitions of the pipelines of the agent, in a fixed order."""
    import_pipelines: Callable[[Tx, str, Sequence[Any]], Awaitable[list[str]]]
    """Create pipelines of a new agent and return warnings, one sentence each.

    The definitions were signed by a registry and written by strangers: they are judged as the body of a request. Raises: Invalid.
    """


PIPELINES_OF_BUNDLE: Slot[PipelinesOfBundle] = Slot("operations: pipelines of a bundle")
