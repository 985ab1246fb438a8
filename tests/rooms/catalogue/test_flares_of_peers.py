"""Flares that another registry states of its agents: of other forms they count as absent, and none is shown as more than it is."""

from typing import Any

import pytest
from msgspec.structs import replace

from hansa.rooms import catalogue
from hansa.rooms.achievements.badge import Badge, draw
from hansa.rooms.catalogue.flares import is_stated_encircled
from tests.rooms.catalogue.catalogue_cards import publish


@pytest.mark.parametrize(
    ("stated", "is_encircled"),
    [
        ({"encirclement": "ring"}, True),
        ({"encirclement": "ring-of-another-registry"}, True),
        ({"encirclement": None, "overlay": "stars"}, False),
        *(
            ({"encirclement": value}, False)
            for value in ("", "x" * 65, "<svg>", "Ring", 1, True, ["ring"], {})
        ),
        *((value, False) for value in (None, "ring", ["encirclement"], 7)),
    ],
)
def test_a_card_is_encircled_by_the_name_of_a_variant_alone(stated: Any, is_encircled: bool):
    assert is_stated_encircled({"flare": stated}) is is_encircled
    assert is_stated_encircled({}) is False


@pytest.mark.parametrize(
    "stated",
    [
        None,
        "Sovereign",
        {"grade": 99, "mark": "Sovereign", "foreign": True},
        {"grade": True, "corner": "</svg><script>alert(1)</script>"},
        {"grade": -1, "encirclement": {"url": "https://evil.example"}},
        {"mark": "<b>Sovereign</b>", "grade": "7", "overlay": "url(https://evil.example)"},
    ],
)
async def test_a_flare_of_another_form_draws_a_plain_badge(registry, stated: Any):
    published = await publish(registry, "Of a peer")
    card = await registry.database.read(lambda tx: catalogue.card_of(tx, str(published.id)))
    members = {"source_registry": "peer", "card_data": {**card.card_data, "flare": stated}}
    shown = catalogue.shown_flare(replace(card, **members))
    assert (shown.mark, shown.grade, shown.is_foreign, shown.flares) == (None, 0, False, catalogue.Flares())
    drawn = draw(Badge("Of a peer", "active", shown))
    assert "evil" not in drawn
    assert "script" not in drawn


async def test_the_mark_of_a_peers_agent_is_named_by_its_grade(registry):
    published = await publish(registry, "Graded")
    card = await registry.database.read(lambda tx: catalogue.card_of(tx, str(published.id)))
    flare = {
        "mark": "Emperor",
        "grade": 4,
        "foreign": True,
        "corner": "laurel",
        "encirclement": "ring",
        "overlay": "rays",
    }
    members = {"source_registry": "peer", "card_data": {**card.card_data, "flare": flare}}
    shown = catalogue.shown_flare(replace(card, **members))
    assert (shown.mark, shown.grade, shown.is_foreign) == ("Veteran", 4, True)
    assert shown.flares == catalogue.Flares("laurel", "ring", "rays")
