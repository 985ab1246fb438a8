"""Parts of a document that a replacement keeps, and parts that it changes."""

from typing import Any

from hansa.foundation.values.canonical import canonical_json
from hansa.rooms.catalogue.form import PLATFORM_MEMBERS, is_platform_extension


def successor(stored: dict[str, Any], judged: dict[str, Any]) -> dict[str, Any]:
    """Return the judged document with the platform's members of the present one, and with its name where it brings none."""
    kept = {
        name: member
        for name, member in stored.items()
        if name in PLATFORM_MEMBERS or (name == "humanReadableId" and name not in judged)
    }
    extensions = stored.get("extensions", [])
    if said := [extension for extension in extensions if is_platform_extension(extension)]:
        kept["extensions"] = [*judged.get("extensions", []), *said]
    return {**judged, **kept}


def changed_keys(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    """The members of the top that differ, in order. Numbers differ as they are written: 1 is not 1.0."""
    return tuple(
        name
        for name in sorted(old.keys() | new.keys())
        if (name in old) != (name in new) or canonical_json(old[name]) != canonical_json(new[name])
    )
