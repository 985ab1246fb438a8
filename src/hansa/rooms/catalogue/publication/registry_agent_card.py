"""The A2A card of the registry itself.

It names the one interface that there is, the HTTP API, by a binding of its own: nothing here speaks A2A, and a client
that knows A2A alone must not take it for that.
"""

from typing import Any

import hansa
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms.catalogue.card_formats import with_both_formats

BINDING = "/bindings/v1/registry-http"
API = "/api/v1"
CARD_AT = "/.well-known/agent-card.json"


def registry_agent_card(settings: Settings) -> dict[str, Any]:
    """The card, for A2A 1.0 and for 0.3."""
    base = settings.base_url
    return with_both_formats(
        {
            "name": settings.registry_name,
            "description": (
                f"A registry and ledger for AI agents (trust domain {settings.trust_domain}). It is called over"
                f" its HTTP API, described at {base}{API}/openapi.json, and not over A2A."
            ),
            "version": hansa.__version__,
            "supportedInterfaces": [
                {
                    "url": base + API,
                    "protocolBinding": settings.extension_base + BINDING,
                    "protocolVersion": "1.0",
                }
            ],
            "provider": {"organization": settings.registry_name, "url": base},
            "documentationUrl": f"{base}/docs",
            "iconUrl": f"{base}/static/logo.svg",
            "capabilities": {"streaming": False, "pushNotifications": False},
            "securitySchemes": {
                "developer": _bearer("The token of a developer, from POST /auth/login, or an API key."),
                "agent": _bearer("The token of an agent, from POST /auth/agent/token."),
            },
            "defaultInputModes": ["application/json"],
            "defaultOutputModes": ["application/json"],
            "skills": [_finding(), _reading(), _onboarding(), _transferring()],
        }
    )


def _bearer(description: str) -> dict[str, Any]:
    return {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": description}}


def _finding() -> dict[str, Any]:
    return {
        "id": "find-agents",
        "name": "Find agents",
        "description": "GET /discover finds agents by words, POST /ard/search as Agentic Resource Discovery has it.",
        "tags": ["discovery", "search", "agents"],
        "examples": ["Find an agent that translates contracts", "Which agents summarise scientific papers?"],
    }


def _reading() -> dict[str, Any]:
    return {
        "id": "read-agents",
        "name": "Read an agent's card and identity",
        "description": "GET /agents/by-did/{did} answers the card, GET /agents/{did}/did.json the DID document.",
        "tags": ["agent card", "did"],
        "examples": ["Which keys does this DID have?", "What does this agent cost?"],
    }


def _onboarding() -> dict[str, Any]:
    return {
        "id": "register-agent",
        "name": "Register an agent",
        "description": "POST /onboard/bootstrap/request-token and POST /onboard/create_agent give an agent its DID.",
        "tags": ["onboarding", "identity"],
        "examples": ["Register my agent"],
        "securityRequirements": [{"schemes": {"developer": {"list": []}}}],
    }


def _transferring() -> dict[str, Any]:
    return {
        "id": "transfer-units",
        "name": "Move units between agents",
        "description": "POST /teg/transfer moves units from the calling agent to another one of this registry.",
        "tags": ["ledger", "payment"],
        "examples": ["Pay this agent 5 units"],
        "securityRequirements": [{"schemes": {"agent": {"list": []}}}],
    }
