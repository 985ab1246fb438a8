"""Tools of an MCP server: their hash, and the skills of a card that they become. No I/O."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hansa.foundation.values.canonical import digest
from hansa.foundation.values.visible_text import seen
from hansa.rooms.catalogue.limits import DESCRIPTION_MAX, NAME_MAX, SKILLS_MAX, text_troubles

from .server_json import MEMBER, is_server

TOOL_TAG = "mcp-tool"
"""Tag of the skills that are tools; the registry alone writes skills with it."""
SCHEMA_BYTES_MAX = 16 * 1024
SCHEMA_VALUES_MAX = 10_000
"""Of the input schemas of all tools on one card; those beyond are left out."""
SHA = "tools_sha256"

_NAME = re.compile(r"[\x21-\x7e]{1,128}", re.ASCII)


class Tools(msgspec.Struct, frozen=True):
    """The tools that a server lists: each once, by name, as it stated them."""

    stated: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, listed: Sequence[Any]) -> "Tools":
        """Return the tools of a list without those that have no usable name."""
        named = {
            tool["name"]: {name: value for name, value in tool.items() if name != "_meta"}
            for tool in reversed(listed)
            if isinstance(tool, dict) and isinstance(tool.get("name"), str) and _NAME.fullmatch(tool["name"])
        }
        return cls(tuple(named[name] for name in sorted(named)))

    @property
    def sha256(self) -> str:
        """Hash of all that the server states of its tools, in hex; an order of the list changes nothing."""
        return digest(list(self.stated)).hex()

    def skills(self) -> list[dict[str, Any]]:
        """Return a skill for each tool, with its input schema where that is small enough for a card."""
        return list(_skills(self.stated[:SKILLS_MAX]))


def document_with(tools: Tools, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a card with these tools among its skills.

    Other skills stay where the card has an interface that is no MCP server, and where there are no tools.
    """
    skills = tools.skills()
    others = [one for one in stored.get("skills", []) if TOOL_TAG not in one.get("tags", [])]
    is_mixed = not all(is_server(one) for one in stored.get("supportedInterfaces", []))
    kept = others[: SKILLS_MAX - len(skills)] if is_mixed or not skills else []
    return {**stored, "skills": [*kept, *skills]}


def listing_with(tools: Tools, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statements of the server on a card with the hash of its tools."""
    return {MEMBER: {**stored.get(MEMBER, {}), SHA: tools.sha256}}


def hash_on(stored: Mapping[str, Any]) -> str | None:
    """Return the hash of the tools that a card has; None before they were first read."""
    sha256: str | None = stored.get(MEMBER, {}).get(SHA)
    return sha256


def _skills(stated: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    left = SCHEMA_VALUES_MAX
    for tool in stated:
        title = tool.get("title")
        name = _shown(title if isinstance(title, str) else "", NAME_MAX) or tool["name"]
        described = tool.get("description")
        skill = {
            "id": tool["name"],
            "name": name,
            "description": _shown(described if isinstance(described, str) else "", DESCRIPTION_MAX) or name,
            "tags": [TOOL_TAG],
        }
        schema = tool.get("inputSchema")
        if _fits(schema) and (values := _values_in(schema)) <= left:
            left -= values
            skill["input_schema"] = schema
        yield skill


def _fits(schema: Any) -> bool:
    """Return whether a schema may stand on a card."""
    is_small = isinstance(schema, dict) and len(json.dumps(schema)) <= SCHEMA_BYTES_MAX
    return is_small and not any(text_troubles({"input_schema": schema}))


def _values_in(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(_values_in(one) for one in (value.values() if isinstance(value, dict) else value))
    return 1


def _shown(text: str, most: int) -> str:
    return seen(text).strip()[:most].strip()
