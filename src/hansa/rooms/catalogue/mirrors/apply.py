"""Apply a page of a peer's cards: in one transaction, a few statements for some hundred cards each.

- Nothing but mirrors of this peer is touched: neither native cards nor those mirrored from others.
- Items that cannot be applied are left out and counted, and never keep the rest from being applied.
- A card never goes back: an older version of it changes nothing, in any order of pages.

Cards that are plainly good: a quick look that takes a card only if the whole judgement would.

- It reads the official A2A types once, when it is loaded, and checks the same of a card: kinds and required members.
- A card that it does not take has no verdict yet: the whole judgement, ten times as slow, decides then.
"""

import asyncio
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias
from uuid import uuid4

from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import human_readable_id, limits
from hansa.rooms.catalogue.auth_schemes import NO_CREDENTIAL
from hansa.rooms.catalogue.bonds import is_stated_bonded
from hansa.rooms.catalogue.completion import FLAGS
from hansa.rooms.catalogue.flares import is_stated_encircled
from hansa.rooms.catalogue.form import CARD_MESSAGE, check_peer_card, peers_part
from hansa.rooms.catalogue.rules import findable
from hansa.rooms.catalogue.shape import FREE_FORM

from . import rules, store
from .records import Home, MirrorResult, PeerCard, PeerItem, StoredVersion

BATCH = 500
CARDS_PER_PEER_MAX = 250_000
Test: TypeAlias = Callable[[Any], bool]
# A value takes two characters at least, so a card as short as this has not too many.
TEXT_MAX = 2 * limits.VALUES_MAX
# The official reader counts a level of a free-form member twice or more, up to a hundred.
DEPTH_MAX = 30
# The official types hold numbers as doubles.
INTEGER_MAX = 2**53
SECURITY = ("securitySchemes", "securityRequirements", "security", "authSchemes")
WITHOUT_CREDENTIAL = {"authSchemes": [{"scheme": NO_CREDENTIAL}]}
FORMAT_0_3 = ("url", "preferredTransport", "protocolVersion", "agentVersion")
SECURITY_REMEMBERED = 1024
# This runs for every card of a page: plain loops here, where `all(...)` would take twice the time.
_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_EMPTY: tuple[object, ...] = ("", [])
_PROBE = {
    "name": "Probe",
    "description": "A card of which only the security is looked at.",
    "version": "1",
    "supportedInterfaces": [
        {"url": "https://example.org", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "url": "https://example.org",
    "preferredTransport": "JSONRPC",
    "protocolVersion": "1.0",
    "agentVersion": "1",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
}
_PROBE_SKILL = {"id": "probe", "name": "Probe", "description": "Nothing.", "tags": ["probe"]}


async def mirror_cards(
    tx: Tx,
    *,
    source_registry: str,
    trust_domain: str,
    settlement_currency: str,
    items: Iterable[Any],
    quota: int = CARDS_PER_PEER_MAX,
    synced_from: str | None = None,
) -> MirrorResult:
    """Apply the items that the registry `source_registry` sent; `trust_domain` is the namespace proved for it.

    An item is {did, version, card_data?, listing? {unlisted}, is_active?, deleted_at?}; without card_data it hides the
    mirror. `quota` bounds how many cards of the peer there are, hidden ones included. `synced_from`: the relay that brought
    them, None where they come from the registry itself.
    """
    home = Home(source_registry, trust_domain, settlement_currency)
    result = MirrorResult()
    await store.lock_peer(tx, source_registry)
    sound = list(_sound_items(items, trust_domain, result))
    newest = rules.latest(sound)
    result.skipped["repeated"] += len(sound) - len(newest)
    stored = await store.stored_versions(tx, list(newest))
    due = [item for item in newest.values() if _is_due(item, stored.get(item.did), source_registry, result)]
    await _hide(tx, home, [item for item in due if item.document is None], result)
    known = {item.did for item in due if item.did in stored}
    room = quota - await store.count_mirrors(tx, source_registry)
    judged: list[PeerCard] = []
    # One batch is judged in a thread while the one before it is written.
    for batch in [*_batches(item for item in due if item.document is not None), []]:
        fresh = [card for card in judged if card.did not in known]
        result.skipped["quota_reached"] += max(0, len(fresh) - max(0, room))
        fresh = fresh[: max(0, room)]
        room -= len(fresh)
        changed = [card for card in judged if card.did in known]
        _, judged = await asyncio.gather(
            _write(tx, home, changed, fresh, result),
            asyncio.to_thread(_judge, batch, home, synced_from or source_registry),
        )
        _note_invalid(batch, judged, result)
    result.skipped = +result.skipped
    return result


def _sound_items(items: Iterable[Any], trust_domain: str, result: MirrorResult) -> Iterator[PeerItem]:
    for item in items:
        newest = rules.read_item(item, trust_domain)
        if isinstance(newest, PeerItem):
            yield newest
        else:
            result.skipped[newest] += 1


def _is_due(item: PeerItem, stored: StoredVersion | None, source_registry: str, result: MirrorResult) -> bool:
    reason = rules.held_back(item, stored, source_registry)
    if reason is not None:
        result.skipped[reason] += 1
    elif stored is not None and stored.version == item.version:
        result.unchanged += 1
    else:
        return True
    return False


async def _hide(tx: Tx, home: Home, tombstones: list[PeerItem], result: MirrorResult) -> None:
    hidden = await store.hide(tx, home, tombstones)
    result.hidden += hidden
    result.unchanged += len(tombstones) - hidden


async def _write(
    tx: Tx, home: Home, changed: list[PeerCard], fresh: list[PeerCard], result: MirrorResult
) -> None:
    same = await store.note_versions(tx, home, changed)
    written = await store.replace(tx, home, changed) + await store.insert(tx, home, fresh)
    result.unchanged += same
    result.written += written
    # Another peer of the same namespace was faster, or an own agent has the DID.
    result.skipped["did_held_elsewhere"] += len(changed) + len(fresh) - same - written


def _note_invalid(batch: list[PeerItem], judged: list[PeerCard], result: MirrorResult) -> None:
    sound = {card.did for card in judged}
    invalid = [item for item in batch if item.did not in sound]
    result.skipped["card_invalid"] += len(invalid)
    if invalid and result.refused_card is None:
        result.refused_card = f"{invalid[0].did} {invalid[0].version}"


def _judge(batch: list[PeerItem], home: Home, synced_from: str) -> list[PeerCard]:
    cards = []
    for item in batch:
        document = _judged(item.document or {})
        if document is not None:
            cards.append(_peer_card(item, document, home, synced_from))
    return cards


def _judged(document: dict[str, Any]) -> dict[str, Any] | None:
    card = peers_part(document)
    return card if is_plain(card) else check_peer_card(document).card


def _peer_card(item: PeerItem, document: dict[str, Any], home: Home, synced_from: str) -> PeerCard:
    name = document.get("humanReadableId") or human_readable_id.generated(
        home.source_registry, document["name"], uuid4()
    )
    synced = {"source_registry": home.source_registry, "first_synced_from": synced_from}
    content = findable({**document, "humanReadableId": name, "federation_metadata": synced})
    listed = (item.is_active, item.unlisted, is_stated_bonded(document), is_stated_encircled(document))
    return PeerCard(item.did, item.version, name, *listed, content)


def _batches(items: Iterable[PeerItem]) -> Iterator[list[PeerItem]]:
    waiting = iter(items)
    while batch := list(islice(waiting, BATCH)):
        yield batch


def is_plain(card: dict[str, Any]) -> bool:
    """Return whether the whole judgement would take the card, and leave it as it is."""
    return (
        all(isinstance(card.get(member), str) for member in FORMAT_0_3)
        and isinstance(card.get("authSchemes"), list)
        and _flags_agree(card)
        and _names_its_provider(card)
        and human_readable_id.is_well_formed(card.get("humanReadableId"))
        and _is_a2a(card)
        and not any(limits.count_troubles(card))
        and _texts_are_plain(card)
        and _security_is_sound(card)
    )


def _flags_agree(card: dict[str, Any]) -> bool:
    """Return whether the two forms state the same of each ability that they call by different names."""
    capabilities = card.get("capabilities")
    if type(capabilities) is not dict:
        return False
    for old, new in FLAGS:
        declared = (capabilities if len(old) > 1 else card).get(old[-1], False)
        if type(declared) is not bool or declared is not (capabilities.get(new[-1]) is True):
            return False
    return True


def _names_its_provider(card: dict[str, Any]) -> bool:
    provider = card.get("provider")
    return not isinstance(provider, dict) or provider.get("name") is not None


def _texts_are_plain(card: dict[str, Any]) -> bool:
    try:
        text = _written.encode(card)
        text.encode()
    except (ValueError, RecursionError):
        return False
    # Control characters are escaped in this form, all but one. What is normalised as a whole is so in every part.
    return (
        len(text) <= TEXT_MAX
        and unicodedata.is_normalized("NFC", text)
        and "\x7f" not in text
        and not any(escape in text for escape in ("\\u", "\\b", "\\f"))
        and _members_fit(card, 1, is_endpoint=False)
    )


def _members_fit(holder: dict[str, Any], depth: int, *, is_endpoint: bool) -> bool:
    """The bounds of everything in an object."""
    for name, member in holder.items():
        below_endpoints = is_endpoint or (depth == 1 and name.startswith("endpoints"))
        if len(name) > limits.MEMBER_NAME_MAX or not _value_fits(member, name, depth, below_endpoints):
            return False
    return True


def _value_fits(value: Any, name: str, depth: int, is_endpoint: bool) -> bool:
    """The bounds of a value and of all in it; `name` is the member that holds it, through lists."""
    kind = type(value)
    if kind is str:
        most = limits.DESCRIPTION_MAX if name == "description" else limits.STRING_MAX
        return len(value) <= most and limits.is_fitting_url(name, value, is_endpoint=is_endpoint)
    if depth >= DEPTH_MAX:
        return False
    if kind is dict:
        return _members_fit(value, depth + 1, is_endpoint=is_endpoint)
    if kind is list:
        for item in value:  # noqa: SIM110
            if not _value_fits(item, name, depth + 1, is_endpoint):
                return False
        return True
    return value is None or -INTEGER_MAX <= value <= INTEGER_MAX


def _security_is_sound(card: dict[str, Any]) -> bool:
    """Judged in whole on a card that has nothing else; few forms of it exist, so the verdicts are remembered."""
    said = {member: card[member] for member in SECURITY if member in card}
    skills = [
        {member: skill[member] for member in SECURITY if member in skill}
        for skill in card["skills"]
        if not skill.keys().isdisjoint(SECURITY)
    ]
    return (said == WITHOUT_CREDENTIAL and not skills) or _security_verdict(json.dumps([said, skills]))


@lru_cache(maxsize=SECURITY_REMEMBERED)
def _security_verdict(security: str) -> bool:
    said, skills = json.loads(security)
    probe = {**_PROBE, **said, "skills": [{**_PROBE_SKILL, **skill} for skill in skills or [{}]]}
    return check_peer_card(probe).card == probe


def _test_of(message: Descriptor) -> Test:
    """Return the test by which the official type checks an object of this kind."""
    known = {field.json_name: _test_of_field(field) for field in message.fields}
    misspelt = frozenset(field.name for field in message.fields if field.name != field.json_name)
    required = frozenset(
        field.json_name
        for field in message.fields
        if FieldBehavior.REQUIRED in field.GetOptions().Extensions[field_behavior]
    )

    def passes(value: Any) -> bool:
        if type(value) is not dict or not value.keys() >= required or not value.keys().isdisjoint(misspelt):
            return False
        for name, member in value.items():
            test = known.get(name)
            if test is not None and not test(member):
                return False
        return all(value[name] not in _EMPTY for name in required)

    return passes


def _test_of_field(field: FieldDescriptor) -> Test:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _is_object
    one = _test_of_value(field)
    if not field.is_repeated:
        return one

    def all_pass(value: Any) -> bool:
        if type(value) is not list:
            return False
        for item in value:  # noqa: SIM110
            if not one(item):
                return False
        return True

    return all_pass


def _test_of_value(field: FieldDescriptor) -> Test:
    if field.message_type is not None:
        return _is_object if field.message_type.full_name == FREE_FORM else _test_of(field.message_type)
    return {FieldDescriptor.TYPE_STRING: _is_string, FieldDescriptor.TYPE_BOOL: _is_flag}[field.type]


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _is_string(value: Any) -> bool:
    return type(value) is str


def _is_flag(value: Any) -> bool:
    return type(value) is bool


_is_a2a = _test_of(CARD_MESSAGE)
