"""Compare all mirrors of a peer with its cards, by digests, and read again only the ranges that differ.

A card that is missed here, or that stayed here after its end, is found whatever the cause: every card is in one range of both.
"""

import json
from typing import Any

from hansa.foundation.plumbing.outgoing import CallLimits
from hansa.rooms import federation
from hansa.rooms.catalogue.exports import ranges_of_mirrors
from hansa.rooms.catalogue.exports.records import Range
from hansa.rooms.catalogue.rules import BIGINT_MAX

from . import pages, rules, store
from .pages import Reading
from .records import JudgedPage, PageRefused

DIGEST_LIMITS = CallLimits(seconds=60.0, body_bytes=64 * 1024)
RANGES_MAX = 2_000
"""Ranges that are compared or read in one comparison; what is left differs still at the next one."""
PARTS = 16


async def reconcile(reading: Reading) -> None:
    """Read the ranges that differ. Raises: PageRefused, OutgoingTrouble."""
    waiting, looked_at = [""], 0
    while waiting and looked_at < RANGES_MAX:
        prefix = waiting.pop()
        looked_at += 1
        theirs = await _ranges_at_peer(reading, prefix)
        ours = await _ranges_here(reading, prefix)
        for part in rules.differing(theirs, ours):
            if rules.is_read_whole(part):
                looked_at += 1
                await _read_range(reading, part.prefix)
            else:
                waiting.append(part.prefix)
    await reading.runtime.database.transaction(lambda tx: store.note_reconciled(tx, reading.peer.id))


async def _ranges_here(reading: Reading, prefix: str) -> list[Range]:
    ledger_id = reading.origin.ledger_id
    return await reading.runtime.database.query(lambda tx: ranges_of_mirrors(tx, prefix, ledger_id))


async def _ranges_at_peer(reading: Reading, prefix: str) -> list[Range]:
    path = f"{pages.CARDS_PATH}/digest?prefix={prefix}"
    answer = await federation.call_peer(reading.runtime, reading.peer, "GET", path, limits=DIGEST_LIMITS)
    if answer.status != pages.OK:
        raise PageRefused(f"answered_{answer.status}")
    try:
        said = json.loads(answer.body)
        listed = said["ranges"]
        found = [Range(part["prefix"], part["cards"], part["digest"]) for part in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PageRefused("digest_unreadable") from None
    if len(found) > PARTS or not all(_is_sound(part, prefix) for part in found):
        raise PageRefused("digest_unreadable")
    return found


def _is_sound(part: Any, prefix: str) -> bool:
    is_part = isinstance(part.prefix, str) and len(part.prefix) == len(prefix) + 1
    is_counted = type(part.cards) is int and 0 < part.cards <= BIGINT_MAX
    return is_part and part.prefix.startswith(prefix) and is_counted and isinstance(part.digest, str)


async def _read_range(reading: Reading, prefix: str) -> None:
    found: list[JudgedPage] = []
    endless, since = rules.Endless(), None
    while not found or found[-1].more:
        page = await pages.fetch_page(reading, pages.CARDS_PATH, since, rules.PAGE_SIZE_MAX, prefix)
        endless.require_progress(since, page)
        found.append(page)
        since = page.next
        if sum(one.size for one in found) > rules.PAGE_SIZE_MAX:
            raise PageRefused("range_too_large")
    await pages.apply_range(reading, prefix, found)
