"""Cards that are plainly good: a quick look that takes a card only if the whole judgement would.

- It reads the official A2A types once, when it is loaded, and checks the same of a card: kinds and required members.
- A card that it does not take has no verdict yet: the whole judgement, ten times as slow, decides then.
"""

import json
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hansa.rooms.catalogue import human_readable_id, limits
from hansa.rooms.catalogue.auth_schemes import NO_CREDENTIAL
from hansa.rooms.catalogue.completion import FLAGS
from hansa.rooms.catalogue.form import CARD_MESSAGE, check_peer_card
from hansa.rooms.catalogue.shape import FREE_FORM

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
