"""An owner's document beside the stored one: of two members that state the same in two forms, the changed one stands.

The unchanged one is left out, so that it is derived anew. Both are kept where

- the document states one of the two only: the other is derived, as of any card,
- both were changed: they stand as written, and are refused where they contradict each other,
- the stored two do not state the same: the owner has written each by itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from .auth_schemes import auth_schemes_of
from .card_formats import (
    BINDING_DEFAULT,
    OLD_VERSION,
    WRAPPERS,
    main_interface,
    readable_by_both,
    scheme_in_both_forms,
    with_both_requirements,
    with_both_securities,
)
from .completion import FLAGS

Document: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
Address: TypeAlias = tuple[str, str]
"""The URL of an interface and its protocol binding."""

PAIRS: tuple[tuple[Path, Path], ...] = (
    (("agentVersion",), ("version",)),
    (("provider", "name"), ("provider", "organization")),
    *FLAGS,
)
REQUIREMENTS: tuple[Path, Path] = ("security",), ("securityRequirements",)
SECURITY = frozenset({"securitySchemes", "security", "securityRequirements"})
AUTH_SCHEMES = frozenset({"authSchemes"})
CONNECTION = frozenset({"url", "preferredTransport", "protocolVersion", "additionalInterfaces"})


def with_changed_format(written: Document, stored: Document) -> Document:
    """The written document without the members that were left as stored while their counterparts were changed."""
    stored = readable_by_both(stored)
    document = _with_changed_connection(_with_changed_auth_schemes(written, stored), stored)
    for old, new in PAIRS:
        document = _with_changed(document, stored, old, new, _are_same)
    document = _with_changed(document, stored, *REQUIREMENTS, _are_same_requirements)
    return _with_changed_skills(_with_changed_schemes(document, stored), stored)


def _with_changed(
    written: Document, stored: Document, old: Path, new: Path, are_same: Callable[[Any, Any], bool]
) -> Document:
    old_written, new_written = _member(written, old), _member(written, new)
    old_stored, new_stored = _member(stored, old), _member(stored, new)
    if old_written is None or new_written is None or not are_same(old_stored, new_stored):
        return written
    is_old_changed, is_new_changed = old_written != old_stored, new_written != new_stored
    if is_old_changed == is_new_changed:
        return written
    if is_old_changed and (type(old_written) is not type(new_written) or old_written == ""):
        # Nothing can be derived from it: completing the document would state something else.
        return written
    return _without_member(written, new if is_old_changed else old)


def _are_same(old: Any, new: Any) -> bool:
    return bool(old == new or not (old or new))


def _are_same_requirements(old: Any, new: Any) -> bool:
    return new is not None and with_both_requirements({"securityRequirements": new})["security"] == old


class _Connection(NamedTuple):
    """How a 0.3 client calls the agent."""

    addresses: list[Address]
    version: Any


def _with_changed_connection(written: Document, stored: Document) -> Document:
    interfaces, new = stored.get("supportedInterfaces"), written.get("supportedInterfaces")
    before, after = _connection(stored), _connection(written)
    if not (interfaces and new and before and after):
        return written
    are_same = set(before.addresses) == {_address(one) for one in interfaces}
    is_old_changed, is_new_changed = after != before, new != interfaces
    if is_old_changed == is_new_changed or not are_same:
        return written
    if is_new_changed:
        return _without(written, CONNECTION)
    return {**written, "supportedInterfaces": _interfaces_of(after, before, interfaces)}


def _connection(document: Document) -> _Connection | None:
    url, additional = document.get("url"), document.get("additionalInterfaces")
    if not isinstance(url, str) or not url:
        return None
    others = additional if isinstance(additional, list) else []
    addresses: list[Any] = [
        (url, document.get("preferredTransport", BINDING_DEFAULT)),
        *((one.get("url"), one.get("transport")) for one in others if isinstance(one, dict)),
    ]
    if not all(isinstance(part, str) for address in addresses for part in address):
        return None
    return _Connection(addresses, document.get("protocolVersion", OLD_VERSION))


def _interfaces_of(after: _Connection, before: _Connection, interfaces: list[Document]) -> list[Document]:
    """Return the stored interfaces with the changed addresses: each keeps its place, its version and its other members."""
    main = main_interface(interfaces)
    version = {} if after.version == before.version else {"protocolVersion": after.version}
    ordered = [main, *(one for one in interfaces if one is not main)]
    if len(after.addresses) == len(ordered) and [_address(one) for one in ordered] == before.addresses:
        moved = [_at(one, address) for one, address in zip(ordered, after.addresses, strict=True)]
        moved[0].update(version)
        return [
            next(new for one, new in zip(ordered, moved, strict=True) if one is old) for old in interfaces
        ]
    known = {_address(one): one for one in reversed(ordered)}
    stored = [
        dict(known[address]) if address in known else _at({"protocolVersion": after.version}, address)
        for address in dict.fromkeys(after.addresses)
    ]
    stored[0].update(version)
    return stored


def _address(interface: Document) -> Address:
    return interface["url"], interface["protocolBinding"]


def _at(interface: Document, address: Address) -> Document:
    return {**interface, "url": address[0], "protocolBinding": address[1]}


def _with_changed_auth_schemes(written: Document, stored: Document) -> Document:
    listed, listed_before = written.get("authSchemes"), stored.get("authSchemes")
    declared = {name for name in SECURITY if written.get(name) is not None}
    if listed is None or not declared:
        return written
    # A requirement in either form: the document may state one of them only.
    has_dropped = not (declared & {"security", "securityRequirements"}) and stored.get("security") is not None
    is_list_changed = listed != listed_before
    is_rest_changed = has_dropped or any(written[name] != stored.get(name) for name in declared)
    if is_list_changed == is_rest_changed or not _lists_its_schemes(stored):
        return written
    return _without(written, SECURITY if is_list_changed else AUTH_SCHEMES)


def _lists_its_schemes(stored: Document) -> bool:
    """Return whether one of `authSchemes` and the A2A members follows from the other."""
    listed = stored.get("authSchemes")
    if listed == auth_schemes_of(stored):
        return True
    derived = with_both_securities({"authSchemes": listed, "skills": []})
    return all(derived.get(name) == stored.get(name) for name in SECURITY)


def _with_changed_schemes(written: Document, stored: Document) -> Document:
    schemes, before = written.get("securitySchemes"), stored.get("securitySchemes")
    if not isinstance(schemes, dict) or not isinstance(before, dict):
        return written
    return {
        **written,
        "securitySchemes": {name: _changed_scheme(one, before.get(name)) for name, one in schemes.items()},
    }


def _changed_scheme(written: Any, stored: Any) -> Any:
    if not isinstance(written, dict) or not isinstance(stored, dict):
        return written
    old, new = _forms(written)
    old_stored, new_stored = _forms(stored)
    are_same = stored in (scheme_in_both_forms(old_stored), scheme_in_both_forms(new_stored))
    if not old or not new or not are_same or (old == old_stored) == (new == new_stored):
        return written
    return new if old == old_stored else old


def _forms(scheme: Document) -> tuple[Document, Document]:
    """The members of a security scheme in its 0.3 form, and in its 1.0 form."""
    wrappers = frozenset(WRAPPERS.values())
    return _without(scheme, wrappers), {name: scheme[name] for name in scheme if name in wrappers}


def _with_changed_skills(written: Document, stored: Document) -> Document:
    skills = written.get("skills")
    if not isinstance(skills, list) or not all(isinstance(one, dict) for one in skills):
        return written
    before = {one["id"]: one for one in stored.get("skills", [])}
    changed = [
        _with_changed(one, before[one["id"]], *REQUIREMENTS, _are_same_requirements)
        if isinstance(one.get("id"), str) and one["id"] in before
        else one
        for one in skills
    ]
    return {**written, "skills": changed}


def _member(document: Document, path: Path) -> Any:
    value: Any = document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _without_member(document: Document, path: Path) -> Document:
    *holders, name = path
    if holders:
        return {**document, holders[0]: _without(document[holders[0]], frozenset({name}))}
    return _without(document, frozenset({name}))


def _without(holder: Document, names: frozenset[str]) -> Document:
    return {name: value for name, value in holder.items() if name not in names}
