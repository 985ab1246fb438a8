"""Pins of the showcase, by administrators of the platform. A list replaces the one before; a pinned agent is shown while it is listed and callable."""

from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.catalogue.errors import AgentNotHere

from . import store

PINS_MAX = 20


class Pin(msgspec.Struct, frozen=True):
    """Pinned agent, and what the administrators state about it."""

    did: str
    note: str


async def pin_agents(tx: Tx, administrator: Developer, wanted: Sequence[Pin]) -> None:
    """Replace the pins. Raises: AgentNotHere, AreasWithheld."""
    if unknown := await store.unknown(tx, [pin.did for pin in wanted]):
        raise AgentNotHere(context={"dids": unknown})
    await store.replace_pins(tx, [pin.did for pin in wanted], [pin.note for pin in wanted])
    await record_admin_act(
        tx, administrator, act="showcase.pin", subject="showcase", reason=f"{len(wanted)} pins"
    )


async def pins(tx: Tx) -> list[Pin]:
    """The pins in their order, those that are not shown at present too."""
    return [Pin(did, note) for did, note in await store.pins(tx)]
