"""A card template."""

from typing import Any


def card_template() -> dict[str, Any]:
    """A small A2A 1.0 card that is valid as it stands; the owner writes its own words and addresses into it."""
    return {
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
