"""The registry card 0.6: its members, its signature, and the rights to write them."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import asyncpg
import jsonschema
import pytest

from hansa.rooms import federation
from hansa_verify import read_keys
from hansa_verify.registry_card import BASIC_PATHS, CardReader, verify_registry_card
from hansa_verify.schema import form_error

CARD = "/.well-known/registry-card.json"
EDIT = "/admin/registry-card"
CACHED = "public, max-age=300, stale-while-revalidate=600"


async def card_of(registry):
    answer = await registry.http.get(CARD)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def keys_of(registry):
    return read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())


async def verdict_of(registry, **asked):
    text = (await registry.http.get(CARD)).text
    return verify_registry_card(text, await keys_of(registry), **asked)


async def edit(registry, administrator, **blocks):
    return await registry.http.put(f"/api/v1{EDIT}", json=blocks, headers=administrator.headers)


async def publish(registry):
    runtime = registry.runtime
    return await registry.database.transaction(
        lambda tx: federation.publish_card(tx, runtime.settings, runtime.seal)
    )


async def let_signature_age(registry, age):
    """Move the signing time of the newest version back by `age`."""
    connection = await asyncpg.connect(registry.database.dsn)
    try:
        await connection.execute(
            "ALTER TABLE federation_registry_card_version DISABLE TRIGGER USER;"
            f"UPDATE federation_registry_card_version SET signed_at = signed_at - interval '{age}';"
            "ALTER TABLE federation_registry_card_version ENABLE TRIGGER USER"
        )
    finally:
        await connection.close()


async def test_the_card_is_served_with_its_tag_and_cache_headers_and_is_readable_by_pages_of_other_hosts(
    registry,
):
    answer = await registry.http.get(CARD)
    card = answer.json()
    assert answer.headers["etag"] == f'"{card["lifecycle"]["card_etag"]}"'
    assert answer.headers["cache-control"] == CACHED
    assert answer.headers["access-control-allow-origin"] == "*"
    assert card["registry_card_version"] == "0.6"
    assert card["identity"]["spiffe_id"] == "spiffe://hansa.local/registry/hansa"
    assert card["identity"]["did_namespace"] == card["identity"]["trust_domain"] == "hansa.local"
    assert card["identity"]["tier"] == "standalone"
    assert card["fees"]["cross_registry"]["base_rate_percent"] == 0.5
    assert card["capabilities"]["supports_payment_protocol"] == ["a2a-payment-v1"]
    assert card["capabilities"]["minting_capability"] == "sovereign"
    assert "compliance" not in card


@pytest.mark.parametrize("spelling", ["{}", '"{}"', 'W/"{}"', '"x", "{}"', "*"])
async def test_a_reader_that_has_the_card_gets_304_with_the_same_headers_whether_the_tag_is_quoted_or_not(
    registry, spelling
):
    first = await registry.http.get(CARD)
    tag = first.json()["lifecycle"]["card_etag"]
    answer = await registry.http.get(CARD, headers={"If-None-Match": spelling.format(tag)})
    assert (answer.status_code, answer.content) == (304, b"")
    for name in ("etag", "cache-control"):
        assert answer.headers[name] == first.headers[name]


async def test_another_tag_gets_the_card(registry):
    answer = await registry.http.get(CARD, headers={"If-None-Match": '"0123"'})
    assert answer.status_code == 200


async def test_the_card_follows_its_own_schema_and_the_schema_refuses_any_other_member(registry):
    answer = await registry.http.get("/.well-known/registry-card-schema.json")
    schema = answer.json()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    card = await card_of(registry)
    assert list(validator.iter_errors(card)) == []
    for block in (card, card["identity"], card["fees"]["fx"], card["signature"]):
        block["surplus"] = 1
        assert list(validator.iter_errors(card)) != []
        del block["surplus"]
    # Open by the specification.
    for block in (card["endpoints"], card["federation"]["licence"]):
        block["more"] = "https://example.org"
        assert list(validator.iter_errors(card)) == []


async def test_the_signature_covers_the_basic_paths_first_and_both_its_forms_verify(registry):
    card = await card_of(registry)
    block = card["signature"]
    assert tuple(block["signed_canonical"][:13]) == BASIC_PATHS
    assert {"identity.did_namespace", "capabilities", "fees.settlement_currency"} < set(
        block["signed_canonical"]
    )
    assert (block["alg"], block["jwks_url"]) == ("EdDSA", "/.well-known/registry-jwks.json")
    assert block["jws"].count("..") == 1
    verdict = await verdict_of(registry)
    assert verdict.code == "verified", verdict.steps
    assert verdict.signed["fees.settlement_currency"] == "AVT"
    assert verdict.expires_at - verdict.signed_at == timedelta(days=30)


async def test_a_changed_signed_leaf_is_refused_and_a_changed_unsigned_one_is_not_believed(registry):
    card = await card_of(registry)
    keys = await keys_of(registry)
    card["identity"]["display_name"] = "Another"
    verdict = verify_registry_card(json.dumps(card), keys)
    assert verdict.is_valid
    assert "identity.display_name" not in verdict.signed
    card["fees"]["settlement_currency"] = "EUR"
    assert verify_registry_card(json.dumps(card), keys).code == "bad_signature"


async def test_the_three_refusals_of_a_namespace_keep_their_codes(registry):
    keys = await keys_of(registry)
    card = await card_of(registry)
    own = CardReader(own_namespace="hansa.local")
    assert verify_registry_card(json.dumps(card), keys, reader=own).code == "did_namespace_self"
    of_own_frame = CardReader(own_namespace="hansa.local", is_of_own_frame=True)
    assert verify_registry_card(json.dumps(card), keys, reader=of_own_frame).is_valid
    proved = CardReader(proved_domain="other.example")
    assert verify_registry_card(json.dumps(card), keys, reader=proved).code == "did_namespace_mismatch"
    for namespace in ("treasury", "Upper", "", "-x", 7):
        card["identity"]["did_namespace"] = namespace
        assert verify_registry_card(json.dumps(card), keys).code == "did_namespace_invalid"


async def test_live_figures_change_neither_the_tag_nor_the_signature(registry):
    before = await card_of(registry)
    await registry.developer()
    await (await registry.developer()).agent()
    after = await card_of(registry)
    assert after["stats"]["events"] > before["stats"]["events"]
    assert after["lifecycle"] == before["lifecycle"]
    assert after["signature"] == before["signature"]


async def test_a_signature_is_renewed_at_half_its_window_without_another_tag(registry):
    before = await card_of(registry)
    await publish(registry)
    assert (await card_of(registry))["signature"] == before["signature"]
    await let_signature_age(registry, "14 days 23 hours")
    await publish(registry)
    assert (await card_of(registry))["signature"] == before["signature"]
    await let_signature_age(registry, "2 hours")
    renewed = await publish(registry)
    after = await card_of(registry)
    assert renewed.version == 2
    assert after["lifecycle"]["card_etag"] == before["lifecycle"]["card_etag"]
    assert after["signature"]["kid"] == before["signature"]["kid"]
    assert (await verdict_of(registry)).is_valid


async def test_a_new_key_signs_the_card_at_once_and_the_old_signature_counts_for_seven_more_days(registry):
    old = (await registry.http.get(CARD)).text
    administrator = await registry.administrator("admin_platform")
    answer = await registry.post("/admin/registry-signing-key/rotate", headers=administrator.headers)
    assert answer.status_code == 200, answer.text
    card = await card_of(registry)
    assert card["signature"]["kid"] == answer.json()["kid"]
    assert card["lifecycle"]["card_etag"] == json.loads(old)["lifecycle"]["card_etag"]
    history = read_keys((await registry.http.get("/.well-known/registry-jwks-history.json")).json())
    now = datetime.now(UTC)
    for days, code in ((0, "verified"), (6, "verified"), (8, "key_retired"), (31, "key_retired")):
        assert verify_registry_card(old, history, at=now + timedelta(days=days)).code == code
    assert verify_registry_card(json.dumps(card), history, at=now + timedelta(days=31)).code == "expired"


async def test_every_signed_version_is_a_leaf_of_the_log_and_stays_readable(registry):
    first = await registry.get("/public/registry-card/versions/1")
    assert first.status_code == 200
    assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert verify_registry_card(first.text, await keys_of(registry)).is_valid
    taken = "SELECT object_id, encode(sha256, 'hex') FROM plumbing_log_outbox WHERE kind = 'registry_card'"
    (row,) = await registry.database.query(lambda tx: tx.fetch(taken))
    assert tuple(row) == ("1", sha256(first.content).hexdigest())
    assert (await registry.get("/public/registry-card/versions/2")).status_code == 404
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await registry.database.transaction(
            lambda tx: tx.execute("DELETE FROM federation_registry_card_version")
        )


async def test_the_public_route_answers_the_own_card_by_its_names_and_404_for_a_peer_that_is_unknown(
    registry,
):
    card = await card_of(registry)
    for query in ("", "?peer=hansa", "?registry=local", "?registry=hansa.local"):
        answer = await registry.get(f"/public/registry-card{query}")
        shown = answer.json()
        assert shown["card"]["signature"] == card["signature"]
        assert (shown["source"], shown["fetched_at"], shown["verdicts"]) == ("local", None, [])
    answer = await registry.get("/public/registry-card?peer=stranger")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "PEER_UNKNOWN")


async def test_an_administrator_replaces_blocks_and_leaves_the_others(registry):
    administrator = await registry.administrator("admin_platform")
    before = await card_of(registry)
    answer = await edit(
        registry,
        administrator,
        description="A registry for translators.",
        operator={"display_name": "Anna", "latitude": 53.0, "longitude": 9.9937},
        tags=["translation"],
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["version"] == 2
    answer = await edit(
        registry, administrator, visual={"orb_color": "#00ff7f", "sovereign_variant": "hanse"}
    )
    assert answer.status_code == 200, answer.text
    card = await card_of(registry)
    assert card["description"] == "A registry for translators."
    assert card["operator"] == {"display_name": "Anna", "latitude": 53, "longitude": 9.9937}
    assert card["visual"]["sovereign_variant"] == "hanse"
    assert card["lifecycle"]["card_etag"] != before["lifecycle"]["card_etag"]
    verdict = await verdict_of(registry)
    assert verdict.signed["visual.sovereign_variant"] == "hanse"
    assert verdict.signed["operator.longitude"] is not None
    answer = await edit(registry, administrator, operator=None)
    assert answer.status_code == 200, answer.text
    assert "operator" not in await card_of(registry)
    read = await registry.get(EDIT, headers=administrator.headers)
    assert set(read.json()["editable"]) == {"description", "tags", "visual"}
    acts = await registry.get("/admin/audit-log", headers=administrator.headers)
    assert [act["act"] for act in acts.json()["items"]].count("registry_card.edit") == 3


@pytest.mark.parametrize(
    "block", ["identity", "fees", "federation", "signature", "capabilities", "lifecycle"]
)
async def test_a_derived_block_cannot_be_written_and_the_refusal_names_it(registry, block):
    administrator = await registry.administrator("admin_platform")
    answer = await edit(registry, administrator, **{"description": "Not stored.", block: {}})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (422, "REGISTRY_CARD_BLOCK_LOCKED", block)
    assert "description" not in await card_of(registry)


async def test_latitude_and_longitude_have_six_fraction_digits(registry):
    administrator = await registry.administrator("admin_platform")
    operator = {"display_name": "Ada", "latitude": 52.516275, "longitude": -13.377704}
    assert (await edit(registry, administrator, operator=operator)).status_code == 200
    text = (await registry.http.get("/.well-known/registry-card.json")).text
    assert '"latitude":52.516275' in text.replace(" ", "")
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    verdict = verify_registry_card(text, keys)
    assert verdict.code == "verified"
    assert str(verdict.signed["operator.longitude"]) == "-13.377704"


async def test_the_card_and_the_fee_route_state_one_velocity_scaling_factor(registry):
    stated = (await card_of(registry))["fees"]["intra_registry"]["velocity_scaling_factor"]
    assert stated == 10 == int((await registry.get("/teg/fees")).json()["velocity_scaling_factor"])


@pytest.mark.parametrize(
    ("blocks", "field"),
    [
        ({}, None),
        ({"motto": "x"}, "motto"),
        ({"description": 7}, "description"),
        ({"description": "x" * 2001}, "description"),
        ({"description": "left\u202eright"}, "description"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"tags": ["x" * 49]}, "tags[0]"),
        ({"operator": {"bio": "x"}}, "operator.display_name"),
        ({"operator": {"display_name": "x", "latitude": 90.5}}, "operator.latitude"),
        ({"operator": {"display_name": "x", "latitude": 1.0000001}}, "operator.latitude"),
        ({"operator": {"display_name": "x", "latitude": True}}, "operator.latitude"),
        ({"operator": {"display_name": "x", "twitter_handle": "@a-b"}}, "operator.twitter_handle"),
        ({"operator": {"display_name": "x", "github_url": "https://gitlab.com/x"}}, "operator.github_url"),
        (
            {"operator": {"display_name": "x", "operator_avatar_url": "/static/../x"}},
            "operator.operator_avatar_url",
        ),
        ({"operator": {"display_name": "x", "url": "javascript:alert(1)"}}, "operator.url"),
        ({"visual": {"orb_color": "red"}}, "visual.orb_color"),
        ({"visual": {"orb_color": "#00ff7f\n"}}, "visual.orb_color"),
        ({"visual": {"orb_pulse_speed_hz": 3.1}}, "visual.orb_pulse_speed_hz"),
        ({"visual": {"flare_encirclement_overlay": "x"}}, "visual.flare_encirclement_variant"),
        ({"visual": {"icon_url": "https://example.org/x.png"}}, "visual.icon_url"),
        ({"links": [{"title": "x"}]}, "links[0].url"),
        ({"commitments": [{"title": "x", "text": "y", "more": 1}]}, "commitments[0].more"),
    ],
)
async def test_a_member_that_is_not_as_specified_is_refused_by_its_name(registry, blocks, field):
    administrator = await registry.administrator("admin_platform")
    before = await card_of(registry)
    answer = await edit(registry, administrator, **blocks)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"].get("field") == field
    assert (await card_of(registry))["signature"] == before["signature"]


async def test_only_an_administrator_of_the_platform_reads_and_writes_the_editable_card(registry):
    assert (await registry.get(EDIT)).status_code == 401
    stranger = await registry.administrator("admin_treasury")
    assert (await registry.get(EDIT, headers=stranger.headers)).status_code == 403
    assert (await edit(registry, stranger, description="x")).status_code == 403


async def test_two_edits_at_the_same_moment_both_count(registry):
    administrator = await registry.administrator("admin_platform")
    answers = await asyncio.gather(
        edit(registry, administrator, description="One."),
        edit(registry, administrator, tags=["two"]),
        publish(registry),
    )
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    card = await card_of(registry)
    assert (card["description"], card["tags"]) == ("One.", ["two"])
    assert (await verdict_of(registry)).is_valid


@pytest.mark.parametrize(
    ("settings", "tier", "minting"),
    [
        ({"registry_tier": "sandbox"}, "sandbox", "disabled"),
        ({"registry_tier": "cloud-operator"}, "cloud-operator", "disabled"),
        ({"is_central_registry": True}, "standalone", "sovereign"),
        (
            {"is_central_registry": True, "sovereign_mainframes": ["hansa.local"]},
            "sovereign-mainframe",
            "sovereign",
        ),
    ],
)
async def test_the_tier_follows_from_the_settings(start_registry, settings, tier, minting):
    registry = await start_registry(**settings)
    card = await card_of(registry)
    assert card["identity"]["tier"] == tier
    assert card["capabilities"]["minting_capability"] == minting
    assert (await verdict_of(registry)).is_valid


async def test_a_registry_without_an_issuer_states_no_namespace(start_registry):
    registry = await start_registry(did_namespace="")
    assert (await card_of(registry))["identity"]["did_namespace"] is None
    assert (await verdict_of(registry)).is_valid


def test_the_leaves_marked_basic_are_the_basic_paths_of_the_verifier():
    marked = [row.path for row in federation.CARD_PATHS if row.marks & federation.CardMark.BASIC]
    assert sorted(marked) == sorted(BASIC_PATHS)


async def test_the_federation_block_states_how_the_registry_can_be_joined(start_registry):
    base = "https://registry.example.org"
    closed = await start_registry(public_base_url=base, agent_identity_issuer="none")
    stated = (await card_of(closed))["federation"]
    assert (stated["accepts_peers"], stated["trust_bundle_url"], stated["peer_count"]) == (False, None, 0)
    open_to_peers = await start_registry(
        public_base_url=base, federation_port=8443, federation_sync_interval_seconds=120
    )
    stated = (await card_of(open_to_peers))["federation"]
    assert (stated["accepts_peers"], stated["sync_interval_seconds"]) == (True, 120)
    assert stated["trust_bundle_url"] == f"{base}/.well-known/spiffe-bundle.json"


async def test_the_bridge_is_stated_where_it_works(start_registry):
    frame = {
        "trust_domain": "frame.example",
        "is_central_registry": True,
        "sovereign_mainframes": ["frame.example"],
    }
    for settings, expected in (
        ({}, "none"),
        ({"federation_port": 8443}, "none"),
        (frame, "none"),
        ({**frame, "federation_port": 8443}, "frame_to_frame"),
    ):
        card = await card_of(await start_registry(**settings))
        assert card["capabilities"]["bridge_capability"] == expected, settings


FX_TRUE = {
    "enabled": True,
    "currency": "AVT",
    "rate_mode": "pool",
    "fee_pct": 0.5,
    "fee_split": {"pool_retained_pct": 100, "fee_collector_pct": 0},
    "size_cap": "10",
    "reserve_floor": "1",
    "slippage_max": 1,
    "breaker_pct": 5,
    "note": "Swaps.",
}
EXCHANGE_TRUE = {
    "enabled": True,
    "currency": "AVT",
    "endpoints": dict.fromkeys(("listings", "order", "passport_inbound"), "https://registry.example.org/x"),
    "fee_bps_default": 30,
    "stock_card": {"url": "https://registry.example.org/stock", "digest": None},
    "solvency_card": {"url": "https://registry.example.org/solvency"},
}


def without(block: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != name}


FORMS = [
    ("fx", {"enabled": False, "route_enabled": False}, True),
    ("fx", {"enabled": False, "route_enabled": True, "route_gateway_registry_id": "g.example"}, True),
    ("fx", FX_TRUE, True),
    ("fx", without(FX_TRUE, "note"), True),
    ("fx", {"enabled": False}, False),
    ("fx", {"enabled": True}, False),
    ("fx", {"enabled": False, "route_enabled": True}, False),
    ("fx", {"enabled": False, "route_enabled": False, "route_gateway_registry_id": "g.example"}, False),
    ("fx", {**FX_TRUE, "enabled": False, "route_enabled": False}, False),
    *(("fx", without(FX_TRUE, name), False) for name in FX_TRUE if name not in {"enabled", "note"}),
    ("exchange", {"enabled": False, "passport_enabled": False}, True),
    ("exchange", EXCHANGE_TRUE, True),
    ("exchange", {"enabled": False}, False),
    ("exchange", {"enabled": True, "passport_enabled": True}, False),
    ("exchange", {"enabled": False, "passport_enabled": False, "currency": "AVT"}, False),
    *(("exchange", without(EXCHANGE_TRUE, name), False) for name in EXCHANGE_TRUE if name != "enabled"),
]


async def test_fx_and_exchange_have_the_members_of_their_form_and_no_others(registry_of_file):
    """Both by the published schema and by the verifier with which peers judge the card."""
    validator = jsonschema.Draft202012Validator(
        (await registry_of_file.http.get("/.well-known/registry-card-schema.json")).json()
    )
    card = await card_of(registry_of_file)
    for name, block, is_right in FORMS:
        card["fees"][name], kept = block, card["fees"][name]
        assert (form_error(card, "registry_card") is None) is is_right, block
        assert validator.is_valid(card) is is_right, block
        card["fees"][name] = kept
