r"""An agent as search engines of the web read it: schema.org, in JSON-LD, for the agent's public page.

The page writes it into `<script type="application/ld+json">`, with `<`, `>` and `&` as `\u003c`, `\u003e` and `\u0026`
(Jinja's `tojson` does that): an owner's `</script>` then ends nothing. A block of that type is data, so a
Content-Security-Policy without inline scripts lets it stand and nothing in it runs.
"""

import re
from typing import Any

from hansa.foundation.values.visible_text import legible, seen
from hansa.foundation.values.web_address import dialled
from hansa.rooms.catalogue.payment import declared_price, is_paid, rate_of
from hansa.rooms.catalogue.records import Card

PRICE_MAX_DIGITS = 40

_CURRENCY = re.compile(r"[A-Za-z][A-Za-z0-9]{1,11}", re.ASCII)


def agent_json_ld(card: Card, page_url: str) -> dict[str, Any]:
    """Return the agent of a card read with its document; `page_url` is the address of its page.

    The owner's words are given as text that can be seen; only http and https addresses become addresses, as they are
    dialled.
    """
    document = card.card_data or {}
    members = {
        "@context": "https://schema.org",
        "@type": "SoftwareApplication",
        "@id": card.did or page_url,
        "url": page_url,
        "name": legible(card.name),
        "description": _text(card.description),
        "applicationCategory": "AI agent",
        "identifier": card.did,
        "softwareVersion": _text(document.get("version")),
        "keywords": _texts(document.get("tags")),
        "featureList": _skills(document.get("skills")),
        "provider": _provider(document.get("provider")),
        "softwareHelp": _help(document.get("documentationUrl")),
        "offers": _offer(declared_price(document), card.settlement_currency),
        "datePublished": card.created_at.isoformat(),
        "dateModified": card.updated_at.isoformat(),
    }
    return {member: value for member, value in members.items() if value is not None}


def _skills(skills: Any) -> list[str] | None:
    """The names of the skills; a mirrored card was judged by another registry and may hold anything."""
    return (
        _texts([one.get("name") for one in skills if isinstance(one, dict)])
        if isinstance(skills, list)
        else None
    )


def _provider(provider: Any) -> dict[str, str] | None:
    name = _text(provider.get("organization")) if isinstance(provider, dict) else None
    if name is None:
        return None
    url = dialled(provider.get("url"))
    return {"@type": "Organization", "name": name, **({"url": url} if url else {})}


def _help(address: Any) -> dict[str, str] | None:
    url = dialled(address)
    return {"@type": "CreativeWork", "url": url} if url else None


def _offer(stated: Any, own_currency: str) -> dict[str, str] | None:
    """A price that is a plain number in a currency that is named; an owner may have written anything there."""
    if not isinstance(stated, dict):
        return None
    rate, currency = rate_of(stated), stated.get("currency", own_currency)
    # A paid card without a rate, or with rate 0, has a price that is not stated.
    if rate is None or (is_paid(stated) and not rate) or abs(rate.adjusted()) > PRICE_MAX_DIGITS:
        return None
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        return None
    return {"@type": "Offer", "price": f"{rate:f}", "priceCurrency": currency.upper()}


def _text(value: Any) -> str | None:
    return (seen(value).strip() or None) if isinstance(value, str) else None


def _texts(values: Any) -> list[str] | None:
    return [text for value in values if (text := _text(value))] or None if isinstance(values, list) else None
