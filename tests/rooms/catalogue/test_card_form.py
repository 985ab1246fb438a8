import json
import random

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.utils.proto_utils import validate_proto_required_fields

from hansa.rooms.catalogue import CardInvalid, card_template
from hansa.rooms.catalogue.form import check_card, require_card
from tests.properties.scale import by_tier
from tests.registry import card_of

OLD = {
    "name": "Old",
    "description": "Speaks 0.3.",
    "url": "https://old.example.org/a2a",
    "version": "1.0.0",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "s", "name": "S", "description": "Does S.", "tags": ["s"], "security": [{"key": []}]}],
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "security": [{"key": ["read"]}],
    "additionalInterfaces": [{"url": "https://old.example.org/grpc", "transport": "GRPC"}],
    "authSchemes": ["bearer"],
}


def test_the_template_is_a_valid_card():
    assert check_card(card_template()).troubles == ()


def test_an_old_card_gets_the_new_half():
    card = require_card(OLD)
    assert card["supportedInterfaces"] == [
        {"url": "https://old.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "0.3.0"},
        {"url": "https://old.example.org/grpc", "protocolBinding": "GRPC", "protocolVersion": "0.3.0"},
    ]
    assert card["securitySchemes"]["key"]["apiKeySecurityScheme"] == {"location": "header", "name": "X-Key"}
    assert card["securityRequirements"] == [{"schemes": {"key": {"list": ["read"]}}}]
    assert {name: card[name] for name in OLD if name not in {"securitySchemes", "skills"}} == {
        name: OLD[name] for name in OLD if name not in {"securitySchemes", "skills"}
    }


def test_a_new_card_gets_the_old_half():
    schemes = {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}}
    needed = [{"schemes": {"key": {"list": []}}}]
    card = require_card(card_of(securitySchemes=schemes, securityRequirements=needed))
    assert (card["url"], card["preferredTransport"], card["protocolVersion"]) == (
        "https://agent.example.org/a2a",
        "JSONRPC",
        "1.0",
    )
    assert card["securitySchemes"]["key"]["type"] == "apiKey"
    assert card["securitySchemes"]["key"]["in"] == "header"
    assert card["security"] == [{"key": []}]


def test_the_old_half_names_an_old_interface_where_there_is_one():
    interfaces = [
        {"url": "https://a.example.org/1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "https://a.example.org/0", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3.0"},
    ]
    card = require_card(card_of(supportedInterfaces=interfaces))
    assert (card["url"], card["preferredTransport"]) == ("https://a.example.org/0", "HTTP+JSON")
    assert card["additionalInterfaces"] == [{"url": "https://a.example.org/1", "transport": "JSONRPC"}]


@pytest.mark.parametrize("given", [OLD, card_of(), card_template()])
def test_official_readers_of_both_versions_read_the_stored_card(given):
    card = require_card(given)
    validate_proto_required_fields(parse_agent_card(json.loads(json.dumps(card))))
    assert OldCard.model_validate(card).url == card["url"]


def test_the_a2a_endpoint_serves_where_no_interface_is_named():
    given = card_of(endpoints={"a2a": "https://a.example.org/a2a", "websocket": "wss://a.example.org/ws"})
    del given["supportedInterfaces"]
    assert require_card(given)["url"] == "https://a.example.org/a2a"


def test_a_stored_card_is_taken_again_unchanged():
    card = require_card(OLD)
    assert require_card(card) == card


def test_unknown_members_are_kept():
    extra = {
        "pricing": {"model": "per-request", "base_rate": 0.5},
        "x": {"deep": [1, None, True]},
        "tags": ["a"],
    }
    card = require_card(card_of(**extra))
    assert {name: card[name] for name in extra} == extra


def test_what_the_platform_owns_is_dropped():
    platform = ["status", "did", "federation_metadata", "flare", "signatures", "enforcement", "track_record"]
    base = "https://hansa.dev/extensions/v1/"
    given = card_of(**{name: {"forged": True} for name in platform})
    given["extensions"] = [
        {"uri": base + kind}
        for kind in ("enforcement", "reputation-bond", "reputation/bond", "track-record", "mine")
    ]
    given["capabilities"] = {"extensions": [{"uri": base + "track_record/"}, {"uri": "urn:mine"}]}
    card = require_card(given)
    assert not set(platform) & set(card)
    assert card["extensions"] == [{"uri": base + "mine"}]
    assert card["capabilities"]["extensions"] == [{"uri": "urn:mine"}]


def test_texts_are_stored_in_one_unicode_form():
    assert require_card(card_of("Cafe\u0301"))["name"] == "Caf\u00e9"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *[(member, None) for member in ("name", "description", "supportedInterfaces")],
        ("name", ""),
        ("name", "x" * 129),
        ("name", " x"),
        ("name", 7),
        ("name", "a\x07b"),
        ("description", ""),
        ("description", "x" * 8193),
        ("version", 1),
        ("version", "x" * 2049),
        ("skills", "none"),
        ("skills", [None]),
        ("skills", [{"id": "s", "name": "S", "description": "", "tags": ["t"]}]),
        ("skills", [{"id": "s", "name": "S", "description": "D", "tags": ["x" * 61]}]),
        ("skills", [{"id": str(n), "name": "S", "description": "D", "tags": ["t"]} for n in range(257)]),
        ("capabilities", []),
        ("capabilities", {"streaming": "yes"}),
        ("defaultInputModes", "text/plain"),
        ("agentVersion", 1),
        ("authSchemes", "bearer"),
        ("supportsAuthenticatedExtendedCard", "yes"),
        ("supportedInterfaces", []),
        ("supportedInterfaces", [{"url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]),
        (
            "supportedInterfaces",
            [{"url": "ftp://a.b", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        ),
        ("supportedInterfaces", [{"url": "https://a.b", "protocol_binding": "J", "protocol_version": "1.0"}]),
        ("supported_interfaces", []),
        ("securityRequirements", [[]]),
        ("securitySchemes", {"a": []}),
        ("provider", []),
        ("url", "javascript:alert(1)"),
        ("url", 5),
        ("url", ""),
        ("iconUrl", "data:text/html,x"),
        ("documentationUrl", "https://user:word@example.org"),
        ("endpoints", {"api": "file:///etc/passwd"}),
        ("endpoints", []),
        ("pricing", "free"),
        ("extensions", {}),
        ("additionalInterfaces", "x"),
        ("tags", "x"),
        ("tags", [1]),
        ("tags", [""]),
        ("tags", ["t"] * 65),
        ("humanReadableId", "NoSlash"),
        ("humanReadableId", "Org/Name"),
        ("humanReadableId", "org/../name"),
        ("humanReadableId", 4),
        ("humanReadableId", "admin/help"),
        ("humanReadableId", "fee-collector/one"),
        ("skills", [{"id": "s", "name": "S", "description": 3, "tags": ["t"]}]),
        ("securitySchemes", {"a": {"type": []}}),
        ("securitySchemes", []),
        ("x", "y" * 2049),
        ("x", list(range(20_001))),
        ("x" * 257, 1),
    ],
)
def test_a_card_that_is_not_of_the_form_is_refused_and_the_trouble_named(member, value):
    with pytest.raises(CardInvalid) as refused:
        require_card({**card_of(), member: value})
    assert refused.value.field
    assert refused.value.detail


@pytest.mark.parametrize(
    ("members", "paths"),
    [
        ({"name": 7}, ["$.name"]),
        ({"capabilities": {"streaming": "yes"}}, ["$.capabilities.streaming"]),
        ({"skills": [{"id": "s", "name": "S", "tags": ["t"]}]}, ["$.skills[0].description"]),
        ({"x'y": "a\x07"}, ["$['x\\'y']"]),
        ({"a b": {"c": ["\x07"]}}, ["$['a b'].c[0]"]),
        (
            {"securitySchemes": {"a.b": {"apiKeySecurityScheme": {}}}},
            [
                "$.securitySchemes['a.b'].apiKeySecurityScheme.location",
                "$.securitySchemes['a.b'].apiKeySecurityScheme.name",
            ],
        ),
        (
            {"name": 7, "version": 1, "skills": [{"id": "", "name": "S", "description": "D", "tags": [1]}]},
            ["$.skills[0].tags", "$.name", "$.version", "$.skills[0].tags[0]", "$.skills[0].id"],
        ),
        (
            {
                "supportedInterfaces": [
                    {"url": "https://a.b", "protocol_binding": "J", "protocolVersion": "1"}
                ]
            },
            ["$.supportedInterfaces[0].protocol_binding"],
        ),
    ],
)
def test_every_fault_is_named_by_its_json_path(members, paths):
    assert [error.field for error in check_card({**card_of(), **members}).troubles] == paths


def test_no_distorted_card_crashes_the_judge():
    chance = random.Random(7)
    odd = [None, [], {}, "", "x", 0, 1e308, True, [None], {"a": None}, [{}], {"type": {}}, 10**60, [[]]]
    for _ in range(by_tier(300, 3_000, 30_000)):
        card = json.loads(json.dumps(chance.choice([OLD, card_of(), require_card(OLD)])))
        here = card
        for _ in range(chance.randrange(4)):
            inner = [
                v
                for v in (here.values() if isinstance(here, dict) else here)
                if isinstance(v, dict | list) and v
            ]
            if not inner:
                break
            here = chance.choice(inner)
        place = chance.choice(list(here)) if isinstance(here, dict) else chance.randrange(len(here))
        here[place] = chance.choice(odd)
        check_card(card)


OLDEST = {
    "protocolVersion": "1.0",
    "humanReadableId": "acme/oldest",
    "agentVersion": "2.3",
    "name": "Oldest",
    "description": "In the older form.",
    "url": "https://oldest.example.org:8443/a2a",
    "authSchemes": [{"scheme": "apiKey"}, {"scheme": "none"}],
    "provider": {"name": "Acme"},
    "capabilities": {"streaming": False, "supportsPushNotifications": True},
    "skills": [{"id": "s", "name": "S", "description": "Does S."}],
    "tags": ["a", "b"],
}


def test_a_card_in_the_older_form_is_completed_from_what_it_says():
    checked = check_card(OLDEST)
    assert checked.troubles == ()
    card = checked.card
    assert card is not None
    assert card["version"] == "2.3"
    assert card["provider"] == {
        "name": "Acme",
        "organization": "Acme",
        "url": "https://oldest.example.org:8443",
    }
    assert (card["defaultInputModes"], card["defaultOutputModes"]) == (["text/plain"], ["text/plain"])
    assert card["skills"][0]["tags"] == ["a", "b"]
    assert card["capabilities"]["pushNotifications"] is True
    assert card["securitySchemes"]["apiKey"]["apiKeySecurityScheme"] == {
        "location": "header",
        "name": "X-Api-Key",
    }
    assert card["security"] == [{"apiKey": []}, {}]
    assert [note.field for note in checked.completions] == [
        "$.version",
        "$.defaultInputModes",
        "$.defaultOutputModes",
        "$.provider.organization",
        "$.provider.url",
        "$.skills[0].tags",
    ]
    assert OLDEST.keys() <= card.keys()


@pytest.mark.parametrize(
    ("given", "member", "value"),
    [
        ({"agentVersion": None}, "version", "1.0.0"),
        ({"skills": None}, "skills", [{"id": "default", "name": "Oldest", "description": "In the older form.", "tags": ["a", "b"]}]),
        ({"skills": []}, "skills", [{"id": "default", "name": "Oldest", "description": "In the older form.", "tags": ["a", "b"]}]),
        ({"tags": None}, "skills", [{"id": "s", "name": "S", "description": "Does S.", "tags": ["s"]}]),
        ({"provider": {"url": "https://acme.example.org"}}, "provider", {"name": "Oldest", "organization": "Oldest", "url": "https://acme.example.org"}),
        ({"capabilities": None}, "capabilities", {}),
        ({"authSchemes": None}, "authSchemes", [{"scheme": "none"}]),
        ({"supportedInterfaces": [{"url": "https://o.example.org", "transport": "GRPC"}], "url": None}, "supportedInterfaces",
         [{"url": "https://o.example.org", "transport": "GRPC", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]),
    ],
)  # fmt: skip
def test_what_a_card_lacks_is_completed(given, member, value):
    assert require_card({**OLDEST, **given})[member] == value


def test_a_whole_card_is_not_completed():
    assert check_card(card_template()).completions == ()
    assert check_card(require_card(OLDEST)).completions == ()


@pytest.mark.parametrize("missing", ["name", "description", "url"])
def test_name_description_and_address_are_never_completed(missing):
    assert check_card({**OLDEST, missing: None}).troubles


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (
            {"supportsAuthenticatedExtendedCard": True, "capabilities": {"extendedAgentCard": False}},
            "$.supportsAuthenticatedExtendedCard",
        ),
        (
            {"supportsAuthenticatedExtendedCard": False, "capabilities": {"extendedAgentCard": True}},
            "$.supportsAuthenticatedExtendedCard",
        ),
        (
            {"capabilities": {"supportsPushNotifications": True, "pushNotifications": False}},
            "$.capabilities.supportsPushNotifications",
        ),
    ],
)
def test_a_card_that_contradicts_itself_is_refused(given, field):
    (error,) = check_card({**OLDEST, **given}).troubles
    assert error.field == field
    assert "contradicts" in error.message


@pytest.mark.parametrize(
    "given",
    [{"supportsAuthenticatedExtendedCard": True}, {"capabilities": {"extendedAgentCard": True}}],
)
def test_an_extended_card_is_announced_in_both_halves(given):
    card = require_card(card_of(**given))
    assert card["capabilities"]["extendedAgentCard"] is True
    assert card["supportsAuthenticatedExtendedCard"] is True
    assert "extendedAgentCard" not in require_card(card_of())["capabilities"]


OAUTH = {"tokenUrl": "https://o.example.org/token", "scopes": ["read"]}


@pytest.mark.parametrize(
    ("entries", "security", "kinds"),
    [
        ([{"scheme": "none"}], None, {}),
        (["bearer"], [{"bearer": []}], {"bearer": "http"}),
        ([{"scheme": "mtls"}], [{"mtls": []}], {"mtls": "mutualTLS"}),
        ([{"scheme": "oauth2", **OAUTH}], [{"oauth2": ["read"]}], {"oauth2": "oauth2"}),
        ([{"scheme": "oauth2", "tokenUrl": OAUTH["tokenUrl"]}], [{"oauth2": []}], {"oauth2": "http"}),
        ([{"scheme": "unheard of"}, 5, {"scheme": ["x"]}], None, {}),
    ],
)
def test_auth_schemes_become_security_schemes(entries, security, kinds):
    card = require_card({**OLDEST, "authSchemes": entries})
    assert card.get("security") == security
    assert {name: scheme["type"] for name, scheme in card.get("securitySchemes", {}).items()} == kinds
    assert card["authSchemes"] == entries


@pytest.mark.parametrize(
    ("scheme", "entry"),
    [
        ({"httpAuthSecurityScheme": {"scheme": "Bearer"}}, {"scheme": "bearer"}),
        ({"apiKeySecurityScheme": {"location": "header", "name": "X"}}, {"scheme": "apiKey"}),
        ({"mtlsSecurityScheme": {}}, {"scheme": "mutualTLS"}),
        (
            {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": OAUTH["tokenUrl"], "scopes": {"read": "Read"}}}}},
            {"scheme": "oauth2", **OAUTH},
        ),
    ],
)  # fmt: skip
def test_security_schemes_become_auth_schemes(scheme, entry):
    needed = [{"schemes": {"key": {"list": []}}}]
    card = require_card(card_of(securitySchemes={"key": scheme}, securityRequirements=needed))
    assert card["authSchemes"] == [entry]
