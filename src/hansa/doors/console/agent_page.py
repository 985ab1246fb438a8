"""One agent as its page shows it: the registry's statements on it, and apart from them the owner's text."""

from typing import Any
from urllib.parse import quote

import msgspec

from hansa.doors.console.badges import marks_of
from hansa.doors.console.call_snippets import (
    Interface,
    Snippet,
    interfaces_of,
    payment_steps,
    snippets_of,
    wallet_step,
)
from hansa.doors.console.prices import Price, price_of
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.money import format_amount
from hansa.rooms import catalogue, commerce

SKILLS_SHOWN = 64


class Skill(msgspec.Struct, frozen=True):
    """A skill in its owner's words."""

    name: str
    description: str
    tags: list[str]
    examples: list[str]


class AgentPage(msgspec.Struct, frozen=True):
    """Content of the page of one agent."""

    card: catalogue.Card
    is_exported: bool
    path: str
    price: Price
    marks: list[str]
    version: str
    organization: Any
    organization_url: Any
    documentation_url: Any
    tags: list[str]
    skills: list[Skill]
    skills_left_out: int
    interfaces: list[Interface]
    snippets: list[Snippet]
    payment: list[Snippet]
    json_ld: dict[str, Any]

    @classmethod
    def of(cls, card: catalogue.Card, settings: Settings, *, is_exported: bool) -> "AgentPage":
        """The page of a card that was read with its document; `is_exported`: this registry exports it signed."""
        document = card.card_data or {}
        provider = _object(document.get("provider"))
        price = price_of(document, card.settlement_currency)
        interfaces = interfaces_of(document)
        path = path_of(card.did, card.card_id)
        skills = [_skill(skill) for skill in _objects(document.get("skills"))]
        return cls(
            card=card,
            is_exported=is_exported,
            path=path,
            price=price,
            marks=marks_of(
                card,
                is_verified=card.host_verified_at is not None or card.signature_verified_at is not None,
            ),
            version=_text(document.get("version")),
            organization=provider.get("organization"),
            organization_url=provider.get("url"),
            documentation_url=document.get("documentationUrl"),
            tags=_texts(document.get("tags")),
            skills=skills[:SKILLS_SHOWN],
            skills_left_out=max(0, len(skills) - SKILLS_SHOWN),
            interfaces=interfaces,
            snippets=list(
                snippets_of(
                    interfaces,
                    export_path=export_path_of(card.did) if card.did and is_exported else None,
                    is_paid=not price.is_free,
                    base_url=settings.base_url,
                )
            ),
            payment=_payment(card, price, interfaces, settings) if interfaces else [],
            json_ld=catalogue.agent_json_ld(card, settings.base_url + path),
        )

    @property
    def export_path(self) -> str | None:
        """Path of its signed card: here, or for a mirror under the address of its home; None without an agent."""
        return export_path_of(self.card.did) if self.card.did else None

    @property
    def is_bought_here(self) -> bool:
        """Return whether a person can buy a call of it in the browser."""
        return (
            self.card.did is not None
            and self.card.source_registry is None
            and self.card.status == "active"
            and not self.price.is_free
        )

    @property
    def bond(self) -> str | None:
        """The reputation bond of an agent of this registry in words, or None without one."""
        card = self.card
        if card.bond_state is None or card.bond_amount is None:
            return None
        return f"{format_amount(card.bond_amount)} {card.settlement_currency}, {card.bond_state}"

    @property
    def is_for_search_engines(self) -> bool:
        """Return whether anyone who looks for agents may find this page."""
        return self.card.status == "active" and self.card.is_active and not self.card.unlisted


def path_of(did: str | None, card_id: int) -> str:
    """Return the path of a card's page: under the DID of its agent, under the number of the card where it has none."""
    return f"/agents/{quote(did, safe=':') if did else card_id}"


def export_path_of(did: str) -> str:
    """Return the path at which the registry of an agent serves its signed card."""
    return f"/api/v1/agents/{quote(did, safe=':')}/card-export"


def _skill(skill: dict[str, Any]) -> Skill:
    return Skill(
        name=_text(skill.get("name")),
        description=_text(skill.get("description")),
        tags=_texts(skill.get("tags")),
        examples=_texts(skill.get("examples")),
    )


def _payment(
    card: catalogue.Card, price: Price, interfaces: list[Interface], settings: Settings
) -> list[Snippet]:
    """How a call is paid, where the price is one amount of this registry's unit and the payee is an agent of this registry."""
    is_payable = (
        card.did is not None and card.source_registry is None and price.unit == settings.settlement_currency
    )
    if card.did is None or not is_payable or price.is_free or price.amount is None:
        return []
    networks = commerce.Networks.of(settings)
    return [
        *payment_steps(card.did, price.amount, settings.base_url),
        *wallet_step(interfaces, networks.wallet, networks.asset),
    ]


# A mirrored card was judged by another registry: its members may be of any kind.
def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
