"""Judge a page of relayed items: the statements of the relay about homes, and the items that each home signed. Pure functions of bytes and keys."""

import re
from collections import Counter
from typing import Any

import msgspec

from hansa.rooms.catalogue.relays.records import HOPS_MAX, DeclaredHome
from hansa.rooms.catalogue.rules import BIGINT_MAX

from .judging import is_number, mark_of, read_envelope, why_refused
from .records import Origin, PageRefused, RelayedPage

HOMES_MAX = 200
"""Of one page."""
URL_MAX = 500

_LEDGER_ID = re.compile(r"[a-z0-9.-]{3,253}(/registry/[A-Za-z0-9._-]{1,128})?", re.ASCII)


class JudgedItems(msgspec.Struct):
    """Items of one home whose signatures hold, in its newest epoch; `refused_card` names the first one refused."""

    epoch: int
    items: list[dict[str, Any]] = msgspec.field(default_factory=list)
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    refused_card: str | None = None


def judge_relayed_page(body: bytes, limit: int, own_trust_domain: str) -> RelayedPage:
    """The page that these bytes are, its homes one hop farther than from the relay. Raises: PageRefused."""
    page = read_envelope(body, limit)
    declared = page.get("homes")
    if not isinstance(declared, list) or len(declared) > HOMES_MAX:
        raise PageRefused("page_unreadable")
    homes = {home.ledger_id: home for home in map(_home, declared)}
    items: dict[str, list[Any]] = {}
    refused: Counter[str] = Counter()
    for item in page["items"]:
        ledger_id = item.get("source_registry") if isinstance(item, dict) else None
        if not isinstance(ledger_id, str) or ledger_id not in homes:
            refused["home_unnamed"] += 1
        elif ledger_id.partition("/")[0] == own_trust_domain:
            refused["relay_of_own"] += 1
        else:
            items.setdefault(ledger_id, []).append(item)
    return RelayedPage(page["next"], page["more"], page["epoch"], len(page["items"]), homes, items, refused)


def judge_items(items: list[Any], origin: Origin, epoch: int | None) -> JudgedItems:
    """The items that their home signed in the newest epoch that it signed here, or in `epoch`, the one known."""
    sound, refused, mark = [], Counter[str](), None
    for item in items:
        signed_in = item.get("epoch")
        reason = why_refused(item, signed_in, origin) if is_number(signed_in, BIGINT_MAX) else "item_invalid"
        if reason is None:
            sound.append(item)
        else:
            refused[reason] += 1
            mark = mark or mark_of(item)
    newest = max([item["epoch"] for item in sound], default=epoch or 0)
    judged = JudgedItems(max(newest, epoch or 0), refused=refused, refused_card=mark)
    for item in sound:
        if item["epoch"] == judged.epoch:
            judged.items.append(item)
        else:
            judged.refused["epoch_older"] += 1
    return judged


def _home(stated: Any) -> DeclaredHome:
    """Raises: PageRefused."""
    members = stated if isinstance(stated, dict) else {}
    ledger_id, url, hops = (members.get(name) for name in DeclaredHome._fields)
    is_named = isinstance(ledger_id, str) and _LEDGER_ID.fullmatch(ledger_id) is not None
    is_placed = isinstance(url, str) and len(url) <= URL_MAX and url.isprintable()
    if not is_named or not is_placed or not is_number(hops, HOPS_MAX - 1) or hops == 0:
        raise PageRefused("page_unreadable")
    assert isinstance(ledger_id, str)
    assert isinstance(url, str)
    assert isinstance(hops, int)
    return DeclaredHome(ledger_id, url.rstrip("/"), hops + 1)
