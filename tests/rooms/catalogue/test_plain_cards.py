"""The quick look at a mirrored card takes nothing that the whole judgement would not take as it stands."""

import copy
import random
from typing import Any

import pytest

from hansa.rooms.catalogue import card_template
from hansa.rooms.catalogue.form import check_card, check_peer_card, peers_part
from hansa.rooms.catalogue.mirrors.apply import is_plain
from tests.properties.scale import by_tier, printed_seed
from tests.registry import card_of

ODD: list[Any] = [
    None, "", "x", " x ", "a\x00b", "tab\tand\nline", "\ud800", "\x7f", "e\u0301", "Übersetzer 翻訳", "x" * 2049,
    "x" * 200_000, "https://ok.example.org/a", "javascript:alert(1)", "https://u:p@host.example.org", "ws://a.example",
    0, -1, 2**70, 1e308, float("nan"), float("inf"), True, False, [], {}, [[]], [{}], [None], ["x"], [1], {"x": None},
    {"list": ["read"]}, {"schemes": {"key": {"list": []}}}, [{"key": ["read"]}], {"type": "http", "scheme": "bearer"},
    {"uri": "https://ok.example.org/x", "params": {"deep": [1, 2.5, {"k": "v"}]}},
]  # fmt: skip
NAMES = [
    "name", "description", "url", "documentationUrl", "iconUrl", "endpoints", "endpoints.x", "supported_interfaces",
    "securitySchemes", "securityRequirements", "security", "extensions", "tags", "pricing", "skills", "signatures",
    "supportsAuthenticatedExtendedCard", "additionalInterfaces", "humanReadableId", "x" * 300, "a2a", "teeDetails",
    "supportsPushNotifications", "pushNotifications", "extendedAgentCard",
    "apiKeySecurityScheme", "params", "capabilities", "tenant", "input_modes", "provider", "flare", "enforcement",
]  # fmt: skip


def whole(**more: Any) -> dict[str, Any]:
    """A card as another registry sends it: with both formats and a name."""
    card = check_card(card_of(humanReadableId="org/name", **more)).card
    assert card is not None
    return card


SEEDS = [
    whole(),
    whole(tags=["a"], pricing={"model": "per-request", "base_rate": 0.5}, endpoints={"a2a": "https://a.example.org"}),
    whole(securitySchemes={"k": {"type": "http", "scheme": "bearer"}}, security=[{"k": ["read"]}]),
    whole(
        capabilities={"extensions": [{"uri": "https://a.example.org/x", "required": True, "params": {"n": 1}}]},
        provider={"organization": "O", "url": "https://o.example.org"},
    ),
    whole(capabilities={"pushNotifications": True, "streaming": True}),
    whole(supportsAuthenticatedExtendedCard=True),
    check_card({**card_template(), "humanReadableId": "org/template"}).card or {},
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) below a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in ((value, key), *places(value[key]))]


def spoil(card: dict[str, Any], lot: random.Random) -> None:
    """Change one thing of the card: a value, a member more, a member less, a list's length, the depth."""
    holder, key = lot.choice(places(card))
    how = lot.randrange(6)
    odd = copy.deepcopy(lot.choice(ODD))
    if how == 0 and isinstance(holder, dict):
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[lot.choice(NAMES)] = odd
    elif how == 2 and isinstance(holder[key], list):
        holder[key] = holder[key] * lot.choice((0, 2, 300)) + [odd]
    elif how == 3:
        for _ in range(lot.choice((1, 30, 54, 57, 60, 100))):
            odd = [odd] if lot.random() < 0.5 else {"n": odd}
        holder[key] = odd
    else:
        holder[key] = odd


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_a_card_from_another_registry_is_plain(seed: int):
    assert is_plain(SEEDS[seed])
    assert check_peer_card(SEEDS[seed]).card == SEEDS[seed]


def test_what_the_quick_look_takes_the_whole_judgement_takes_as_it_stands():
    lot, taken = random.Random(printed_seed()), 0
    for _ in range(by_tier(800, 20_000, 500_000)):
        card = copy.deepcopy(lot.choice(SEEDS))
        for _ in range(lot.randint(1, 3)):
            spoil(card, lot)
        card = peers_part(card)
        if is_plain(card):
            taken += 1
            judged = check_peer_card(card)
            assert judged.troubles == ()
            assert judged.card == card
    assert taken > 50
