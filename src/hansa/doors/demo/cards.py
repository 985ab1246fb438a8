"""The A2A 1.0 cards of the agents in the demo."""

from typing import Any

DEMO_TAG = "hansa-demo"
"""What identifies agents of demos."""


def demo_cards(run: str) -> list[dict[str, Any]]:
    """Five cards; `run` keeps their names apart from those of earlier demos on the same registry."""
    return [
        _card(
            run,
            "Lingua",
            "Translates between 24 languages and keeps the layout of documents.",
            "translate",
            "0.40",
        ),
        _card(run, "Meteo", "Local weather for the next ten days, with warnings.", "forecast", "0.05"),
        _card(
            run,
            "Ledgerline",
            "Reads invoices and receipts and returns their fields.",
            "extract-invoice",
            "0.25",
        ),
        _card(
            run, "Redpen", "Reviews pull requests and explains what it would change.", "review-code", "1.50"
        ),
        _card(run, "Precis", "Summarises long reports to one page with sources.", "summarise", "0.80"),
    ]


def echo_card(run: str, address: str, price: str, currency: str) -> dict[str, Any]:
    """The card of a paid service that the demo serves at this address."""
    card = _card(run, "Echo", "Returns each message unchanged, for a price.", "echo", price)
    interface = {"url": f"{address}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return {
        **card,
        "supportedInterfaces": [interface],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "pricing": {**card["pricing"], "currency": currency, "payment_required": True},
    }


def _card(run: str, name: str, description: str, skill: str, price: str) -> dict[str, Any]:
    host = f"https://{name.lower()}.agents.example.com"
    return {
        "name": f"{name} {run}",
        "description": description,
        "version": "1.0.0",
        "provider": {"organization": "Hansa demo", "url": "https://agents.example.com"},
        "documentationUrl": f"{host}/docs",
        "supportedInterfaces": [
            {"url": f"{host}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{host}/a2a/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            {
                "id": skill,
                "name": skill.replace("-", " ").capitalize(),
                "description": description,
                "tags": [skill, "demo"],
                "examples": [f"Please {skill.replace('-', ' ')} this."],
            }
        ],
        "pricing": {"model": "per_request", "base_rate": float(price), "currency": "AVT"},
        "tags": [DEMO_TAG, skill],
    }
