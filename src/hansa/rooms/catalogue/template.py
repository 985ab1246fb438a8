"""A card template."""

import copy
from typing import Any

from .card_formats import with_both_formats
from .changed_format import with_changed_format


def card_template() -> dict[str, Any]:
    """A small card that is valid as it stands, in the formats 1.0 and 0.3; the owner writes its own words and addresses into it."""
    whole = with_both_formats(copy.deepcopy(_TEMPLATE))
    return {name: whole[name] for name in (*_TEMPLATE, *whole)}


def without_examples(card: dict[str, Any]) -> dict[str, Any]:
    """A card without the 0.3 members that were left as in the template while their counterparts of 1.0 were written: they are derived anew."""
    template, provider = card_template(), card.get("provider")
    name = provider.get("name") if isinstance(provider, dict) else None
    is_of_template = card.get("url") == template["url"] or name == template["provider"]["name"]
    return with_changed_format(card, template) if is_of_template else card


_TEMPLATE: dict[str, Any] = {
    "name": "My agent",
    "description": "What the agent does, for whom, and what input it needs.",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://agent.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "provider": {"organization": "My organization", "url": "https://example.com"},
    "capabilities": {"streaming": False, "pushNotifications": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [
        {
            "id": "first-skill",
            "name": "First skill",
            "description": "One thing that the agent can be asked to do.",
            "tags": ["example"],
        }
    ],
    "tags": ["example"],
    "pricing": {"model": "per-request", "base_rate": 0},
}
