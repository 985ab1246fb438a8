"""Read the availability of an agent with the proofs of each day."""

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, timedelta

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.reading import card_of_agent

from . import peer_store, rules, store
from .closing import LOG_KIND
from .records import Availability, DayProof, LoggedStatements, ProbedDay, StoredDay

DAYS = 90

PROVE_IN_LOG: Slot[Callable[[Tx, str, Sequence[str]], Awaitable[LoggedStatements]]] = Slot(
    "catalogue: proofs of objects in the log"
)
"""Prove objects of a kind, by their ids; the room above owns the log."""


async def availability_of(tx: Tx, runtime: Runtime, did: str) -> Availability:
    """The 90 days before today of an agent with a card, this registry's own or mirrored; `tx` is one snapshot. Raises: CardUnknown."""
    await card_of_agent(tx, did)
    wanted = await _wanted_days(tx)
    stored = await store.closed_days(tx, did, wanted[0], wanted[-1])
    logged = await PROVE_IN_LOG.of(runtime)(tx, LOG_KIND, [one.day.isoformat() for one in stored])
    proved = await _proved(tx, stored, logged)
    days = [proved.get(day, ProbedDay(day)) for day in wanted]
    stated = await peer_store.stated_by_peers(tx, did, wanted[0], wanted[-1])
    return Availability(did, days, logged.checkpoint, stated)


async def measured_days(tx: Tx, did: str) -> list[ProbedDay]:
    """The same days without their proofs, for pages. Raises: CardUnknown."""
    await card_of_agent(tx, did)
    wanted = await _wanted_days(tx)
    stored = await store.closed_days(tx, did, wanted[0], wanted[-1])
    hours = {one.day: rules.hours_of(one.counts) for one in stored}
    return [ProbedDay(day, hours.get(day)) for day in wanted]


async def _wanted_days(tx: Tx) -> list[date]:
    end = (await clock.began_at(tx)).astimezone(UTC).date()
    return [end - timedelta(days=number) for number in range(DAYS, 0, -1)]


async def _proved(tx: Tx, stored: list[StoredDay], logged: LoggedStatements) -> dict[date, ProbedDay]:
    """The days whose statement is in the log: another one is proved within a minute."""
    found = [one for one in stored if one.day.isoformat() in logged.entries]
    places = [
        (one.day, rules.offset_of(node, one.agents))
        for one in found
        for nodes in rules.nodes_of_path(one.place, one.agents)
        for node in nodes
    ]
    hashes = iter(await store.hashes_at(tx, places)) if places else iter(())
    return {
        one.day: ProbedDay(
            one.day,
            rules.hours_of(one.counts),
            DayProof(
                json.loads(one.statement),
                one.place,
                rules.path_of(one.place, one.agents, hashes),
                logged.entries[one.day.isoformat()],
            ),
        )
        for one in found
    }
