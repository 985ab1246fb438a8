"""Completion of a card in the protocol's older form with the members that A2A 1.0 requires and that form does not know.

Every value comes from the card itself or is a fixed default; name, description and address are never completed.
Members that the card states stay as they are.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from .limits import NAME_MAX, ROOT, TAG_MAX, Trouble, below, item

VERSION_DEFAULT = "1.0.0"
MODES_DEFAULT = ("text/plain",)
BINDING_DEFAULT = "JSONRPC"
PROTOCOL_DEFAULT = "1.0"
SKILL_ID = "default"
TAG_DEFAULT = "general"
FLAGS = (
    (("supportsAuthenticatedExtendedCard",), ("capabilities", "extendedAgentCard")),
    (("capabilities", "supportsPushNotifications"), ("capabilities", "pushNotifications")),
)
"""Members of the older form that say the same as a member of A2A 1.0."""


def completed(card: dict[str, Any]) -> tuple[dict[str, Any], tuple[Trouble, ...]]:
    """The card with its interfaces, completed, and a note for each member that was added."""
    work = _Completion(card)
    work.top_level()
    work.interfaces()
    work.provider()
    work.skills()
    return work.card, tuple(work.notes)


def contradictions(card: dict[str, Any]) -> Iterator[Trouble]:
    """Members of the two forms that say opposite things."""
    for old, new in FLAGS:
        said = {_member(card, old), _member(card, new)}
        if said == {True, False}:
            yield Trouble(".".join((ROOT, *old)), f"This member contradicts {'.'.join((ROOT, *new))}.")


class _Completion:
    """A card while it is completed; the caller's objects are not changed."""

    def __init__(self, card: dict[str, Any]) -> None:
        self.card = dict(card)
        self.notes: list[Trouble] = []

    def top_level(self) -> None:
        agent_version = self.card.get("agentVersion")
        if isinstance(agent_version, str) and agent_version:
            self._add(self.card, ROOT, "version", agent_version, "from agentVersion")
        self._add(self.card, ROOT, "version", VERSION_DEFAULT)
        if self.card.get("capabilities") is None:
            self._add(self.card, ROOT, "capabilities", {})
        for member in ("defaultInputModes", "defaultOutputModes"):
            self._add(self.card, ROOT, member, list(MODES_DEFAULT))

    def interfaces(self) -> None:
        for position, interface in enumerate(self._copied_items("supportedInterfaces")):
            path = item(below(ROOT, "supportedInterfaces"), position)
            self._add(interface, path, "protocolBinding", interface.get("transport") or BINDING_DEFAULT)
            self._add(interface, path, "protocolVersion", PROTOCOL_DEFAULT)

    def provider(self) -> None:
        if not isinstance(self.card.get("provider"), dict):
            return
        provider = self.card["provider"] = dict(self.card["provider"])
        path = below(ROOT, "provider")
        for name, source in ((provider.get("name"), "provider.name"), (self.card.get("name"), "name")):
            if isinstance(name, str) and name.strip():
                self._add(provider, path, "organization", name, f"from {source}")
        if origin := _origin(self.card):
            self._add(provider, path, "url", origin, "from the agent's address")

    def skills(self) -> None:
        name, description = self.card.get("name"), self.card.get("description")
        if isinstance(name, str) and isinstance(description, str) and name and description:
            skill = {"id": SKILL_ID, "name": name[:NAME_MAX], "description": description}
            self._add(self.card, ROOT, "skills", [skill], "from name and description")
        for position, skill in enumerate(self._copied_items("skills")):
            path = item(below(ROOT, "skills"), position)
            if self.card.get("tags"):
                self._add(skill, path, "tags", self.card["tags"], "from the card's tags")
            self._add(skill, path, "tags", [_tag_of(skill)])

    def _copied_items(self, member: str) -> list[dict[str, Any]]:
        """The objects of a list, which may be changed; none where the member is no list of objects."""
        items = self.card.get(member)
        if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
            return []
        copies = self.card[member] = [dict(one) for one in items]
        return copies

    def _add(self, holder: dict[str, Any], path: str, member: str, value: Any, source: str = "") -> None:
        """Set a member that is missing, null or empty; one of another kind is left for the checks to refuse."""
        declared = holder.get(member)
        if declared is None or (isinstance(declared, type(value)) and not declared):
            holder[member] = value
            self.notes.append(
                Trouble(
                    below(path, member), f"Completed {source}." if source else "Completed with a default."
                )
            )


def _tag_of(skill: dict[str, Any]) -> str:
    """The id of a skill as its only tag, where nothing else is known of it."""
    name = skill.get("id")
    return name if isinstance(name, str) and 1 <= len(name) <= TAG_MAX else TAG_DEFAULT


def _origin(card: dict[str, Any]) -> str | None:
    interfaces = card.get("supportedInterfaces")
    first = interfaces[0] if isinstance(interfaces, list) and interfaces else None
    url = first.get("url") if isinstance(first, dict) else None
    if not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else None


def _member(card: dict[str, Any], path: tuple[str, ...]) -> bool | None:
    value: Any = card
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, bool) else None
