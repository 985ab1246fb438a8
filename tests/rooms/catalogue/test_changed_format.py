"""Two members that state the same in the 1.0 and the older form: the one that its owner changed stands."""

import copy
from typing import Any

import pytest

from hansa.rooms.catalogue.changed_format import with_changed_format
from hansa.rooms.catalogue.errors import CardInvalid
from hansa.rooms.catalogue.form import require_card
from tests.registry import card_of

A, B, C = (f"https://{name}.example.org/a2a" for name in "abc")
BEARER = {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}, "security": [{"key": []}]}


def interface(url: str, version: str = "1.0", binding: str = "JSONRPC", **more: Any) -> dict[str, Any]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version, **more}


def stored_card(**more: Any) -> dict[str, Any]:
    return require_card(card_of(provider={"organization": "Acme", "url": A}, **more))


def written_back(stored: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the stored card after it was read and written back with these members; None: left out."""
    document = copy.deepcopy(stored) | changes
    return require_card(with_changed_format(document, stored))


CARDS = [
    card_of(),
    card_of(**BEARER, supportsAuthenticatedExtendedCard=True),
    card_of(
        supportedInterfaces=[interface(A, tenant="one"), interface(A, "0.3"), interface(B, "0.3", "GRPC")]
    ),
    card_of(url=B, agentVersion="7", authSchemes=["mtls"]),
    card_of(url=A, protocolVersion="0.3.0", authSchemes=[{"scheme": "oauth2"}], **BEARER),
    card_of(capabilities={"pushNotifications": True, "extendedAgentCard": False}),
    {"name": "Old", "description": "An old one.", "url": A, "authSchemes": ["bearer", "none"]},
]


@pytest.mark.parametrize("card", CARDS)
def test_a_document_that_is_written_again_changes_nothing(card: dict[str, Any]):
    stored = require_card(card)
    assert require_card(with_changed_format(copy.deepcopy(card), stored)) == stored
    assert written_back(stored) == stored


@pytest.mark.parametrize(
    ("change", "derived"),
    [
        ({"version": "2"}, {"agentVersion": "2"}),
        ({"agentVersion": "2"}, {"version": "2"}),
        ({"provider": {"organization": "New", "name": "Acme", "url": A}}, {"name": "New"}),
        ({"provider": {"organization": "Acme", "name": "New", "url": A}}, {"organization": "New"}),
        ({"supportedInterfaces": [interface(B)]}, {"url": B, "protocolVersion": "1.0"}),
        ({"url": B}, {"supportedInterfaces": [interface(B)]}),
        ({"url": B, "protocolVersion": "0.3.0"}, {"supportedInterfaces": [interface(B, "0.3.0")]}),
        (
            {"preferredTransport": "GRPC"},
            {"supportedInterfaces": [interface(card_of()["supportedInterfaces"][0]["url"], binding="GRPC")]},
        ),
        (
            {"supportsAuthenticatedExtendedCard": True},
            {"capabilities": {"streaming": False, "extendedAgentCard": True}},
        ),
        ({"capabilities": {"extendedAgentCard": True}}, {"supportsAuthenticatedExtendedCard": True}),
        (
            {"authSchemes": ["bearer"]},
            {"security": [{"bearer": []}], "securityRequirements": [{"schemes": {"bearer": {"list": []}}}]},
        ),
        (BEARER, {"authSchemes": [{"scheme": "bearer"}]}),
    ],
)
def test_the_changed_half_stands_and_the_other_is_derived_anew(
    change: dict[str, Any], derived: dict[str, Any]
):
    card = written_back(stored_card(), **change)
    shown = card["provider"] if "provider" in change else card
    assert {name: shown[name] for name in derived} == derived
    assert card == require_card(card)


def test_an_ability_is_taken_back_in_either_half():
    stored = stored_card(supportsAuthenticatedExtendedCard=True)
    by_old = written_back(stored, supportsAuthenticatedExtendedCard=False)
    assert "extendedAgentCard" not in by_old["capabilities"]
    by_new = written_back(stored, capabilities={"streaming": False, "extendedAgentCard": False})
    assert "supportsAuthenticatedExtendedCard" not in by_new


def test_opposite_changes_of_an_ability_are_refused():
    with pytest.raises(CardInvalid, match="contradicts"):
        written_back(
            stored_card(), supportsAuthenticatedExtendedCard=True, capabilities={"extendedAgentCard": False}
        )


def test_a_changed_address_keeps_the_place_version_and_tenant_of_its_interface():
    stored = stored_card(supportedInterfaces=[interface(A, tenant="one"), interface(B, "0.3")])
    assert (stored["url"], stored["additionalInterfaces"]) == (B, [{"url": A, "transport": "JSONRPC"}])
    moved = written_back(stored, url=C)
    assert moved["supportedInterfaces"] == [interface(A, tenant="one"), interface(C, "0.3")]
    more = written_back(
        stored, additionalInterfaces=[*stored["additionalInterfaces"], {"url": C, "transport": "GRPC"}]
    )
    assert more["supportedInterfaces"] == [
        interface(B, "0.3"),
        interface(A, tenant="one"),
        interface(C, "0.3", "GRPC"),
    ]
    fewer = written_back(stored, additionalInterfaces=[])
    assert fewer["supportedInterfaces"] == [interface(B, "0.3")]


def test_the_same_address_in_two_versions_moves_in_both():
    stored = stored_card(supportedInterfaces=[interface(A), interface(A, "0.3")])
    moved = written_back(stored, url=B, additionalInterfaces=[{"url": B, "transport": "JSONRPC"}])
    assert moved["supportedInterfaces"] == [interface(B), interface(B, "0.3")]


def test_halves_that_were_written_each_by_itself_both_stand():
    stored = stored_card(url=A, supportedInterfaces=[interface(B)], agentVersion="7")
    changed = written_back(stored, supportedInterfaces=[interface(C)], version="8")
    assert (changed["url"], changed["supportedInterfaces"]) == (A, [interface(C)])
    assert (changed["agentVersion"], changed["version"]) == ("7", "8")


def test_a_document_of_one_half_takes_nothing_from_the_other():
    stored = stored_card(**BEARER, supportsAuthenticatedExtendedCard=True)
    new = card_of(version="2", supportedInterfaces=[interface(B)], capabilities={"extendedAgentCard": True})
    card = require_card(with_changed_format(new, stored))
    assert card == require_card(new)
    old = {"name": "Old", "description": "An old one.", "url": C, "authSchemes": ["bearer"]}
    assert require_card(with_changed_format(old, stored)) == require_card(old)


@pytest.mark.parametrize("form", ["type", "httpAuthSecurityScheme"])
def test_a_scheme_and_its_requirements_are_changed_in_one_form(form: str):
    skill = {**card_of()["skills"][0], "security": [{"key": []}]}
    stored = stored_card(**BEARER, skills=[skill])
    scheme = stored["securitySchemes"]["key"]
    assert scheme["httpAuthSecurityScheme"] == {"scheme": "bearer"}
    changed = {**scheme, "scheme": "basic"} if form == "type" else {**scheme, form: {"scheme": "basic"}}
    card = written_back(stored, securitySchemes={"key": changed})
    assert card["securitySchemes"]["key"] == {
        "type": "http",
        "scheme": "basic",
        "httpAuthSecurityScheme": {"scheme": "basic"},
    }
    assert card["authSchemes"] == []
    more = written_back(stored, security=[{"key": []}, {}])
    assert more["securityRequirements"] == [{"schemes": {"key": {"list": []}}}, {"schemes": {}}]
    assert {"scheme": "none"} in more["authSchemes"]
    freed = written_back(stored, skills=[{**stored["skills"][0], "securityRequirements": []}])
    assert freed["skills"][0]["security"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"agentVersion": ""},
        {"agentVersion": 5},
        {"url": 5},
        {"additionalInterfaces": [{"url": []}]},
        {"securitySchemes": {"key": {"type": []}}},
        {"securitySchemes": [], "security": {}},
        {"skills": [{"id": {}}]},
        {"provider": "Acme"},
        {"capabilities": []},
    ],
)
def test_members_of_another_kind_are_judged_as_in_any_card(change: dict[str, Any]):
    stored = stored_card(**BEARER)
    written = copy.deepcopy(stored) | change
    assert with_changed_format(written, stored)["name"] == stored["name"]
