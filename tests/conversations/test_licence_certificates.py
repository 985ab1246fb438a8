"""Specification 2, "Federation licence certificate" and "Issuance rules": issue, install, list, suspend, revoke."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.errors import Refused
from hansa.foundation.values.jwk import jwk_of, thumbprint
from hansa.rooms import federation
from hansa.rooms.federation.licences import keys as licence_keys
from hansa.rooms.federation.licences import rules as licence_rules
from hansa_verify import licence_hash, read_certificate, read_issued_list, verify_licence
from tests.all_events import ALL_EVENTS
from tests.registry import StartRegistry, TestDeveloper, TestRegistry, at_once

ROOT = "/admin/federation/licences"
GENESIS = "genesis.example"
FRAME = "frame.example"


def mainframe(trust_domain: str, **more: Any) -> dict[str, Any]:
    return {
        "trust_domain": trust_domain,
        "is_central_registry": True,
        "sovereign_mainframes": [trust_domain],
        "registry_name": trust_domain.partition(".")[0],
        **more,
    }


class Issuer:
    """An administrator of licences at a registry."""

    def __init__(self, administrator: TestDeveloper) -> None:
        self.administrator = administrator
        self.registry = administrator.registry

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        return await self.registry.post(f"{ROOT}{path}", json=body, headers=self.administrator.headers)

    async def get(self, path: str = "", **params: Any) -> Any:
        return await self.registry.get(f"{ROOT}{path}", params=params, headers=self.administrator.headers)

    async def genesis(self) -> dict[str, Any]:
        answer = await self.post("/genesis", {})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def issue(self, **body: Any) -> dict[str, Any]:
        answer = await self.post("", body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def change(self, lid: str, act: str) -> Any:
        return await self.post(f"/{lid}/{act}", {"reason": f"To {act} it."})

    async def key(self) -> dict[str, Any]:
        answer = await self.get("/key")
        assert answer.status_code == 200, answer.text
        return answer.json()


async def issuer_of(registry: TestRegistry) -> Issuer:
    return Issuer(await registry.administrator("admin_federation"))


@pytest.fixture
async def genesis(start_registry: StartRegistry) -> Issuer:
    issuer = await issuer_of(await start_registry(**mainframe(GENESIS)))
    await issuer.genesis()
    return issuer


@pytest.fixture
async def frame(start_registry: StartRegistry) -> Issuer:
    return await issuer_of(await start_registry(**mainframe(FRAME)))


def new_key() -> dict[str, str]:
    return jwk_of(Ed25519PrivateKey.generate().public_key().public_bytes_raw())


def frame_body(trust_domain: str = FRAME, **more: Any) -> dict[str, Any]:
    return {
        "sub": {"trust_domain": trust_domain, "name": "Frame"},
        "plan": "founding",
        "key": new_key(),
    } | more


def operator_body(name: str = "north", **more: Any) -> dict[str, Any]:
    return {"sub": {"trust_domain": FRAME, "name": name}, "plan": "operator-free"} | more


def payload_of(certificate: str) -> dict[str, Any]:
    middle = certificate.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))


def header_of(compact: str) -> dict[str, Any]:
    first = compact.split(".", maxsplit=1)[0]
    return json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))


async def own_document(registry: TestRegistry) -> Any:
    return await registry.http.get("/.well-known/federation-licence.json")


async def list_of(registry: TestRegistry) -> dict[str, Any]:
    answer = await registry.http.get("/.well-known/federation-licences.json")
    assert answer.status_code == 200, answer.text
    return answer.json()["list"]


async def states_of(registry: TestRegistry) -> dict[str, str]:
    listed = payload_of(await list_of(registry))["licences"]
    return {entry["lid"]: entry["state"] for entry in listed}


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# Genesis.


async def test_only_the_genesis_issues_the_genesis_certificate_once_to_itself_self_signed(
    start_registry: StartRegistry,
):
    issuer = await issuer_of(await start_registry(**mainframe(GENESIS)))
    answer = await issuer.post("/genesis", {})
    assert answer.status_code == 201, answer.text
    issued = answer.json()
    assert set(issued) == {"certificate", "hash", "lid", "state"}
    payload, key = payload_of(issued["certificate"]), await issuer.key()
    kid = key["kid"]
    assert header_of(issued["certificate"]) == {"alg": "EdDSA", "kid": kid, "typ": "licence+jws"}
    assert payload["kind"] == "fed.licence.v1"
    assert (payload["type"], payload["plan"], payload["exp"]) == ("genesis", "genesis", None)
    assert payload["sub"]["trust_domain"] == payload["iss"]["trust_domain"] == payload["network"] == GENESIS
    assert payload["iss"]["licence"] is None
    assert payload["key"] == {name: key[name] for name in ("kty", "crv", "x")}
    assert issued["hash"] == licence_hash(issued["certificate"])
    assert read_certificate(issued["certificate"]).signature.is_by(
        read_certificate(issued["certificate"]).public_key or b""
    )
    assert refusal(await issuer.post("/genesis", {})) == (409, "LICENCE_GENESIS_HELD")


async def test_of_many_genesis_certificates_asked_for_at_once_one_is_issued(start_registry: StartRegistry):
    issuer = await issuer_of(await start_registry(**mainframe(GENESIS)))
    answers = await at_once(*(issuer.post("/genesis", {}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"is_central_registry": True},
        {"sovereign_mainframes": ["hansa.local"]},
        {"is_central_registry": True, "sovereign_mainframes": ["other.example"]},
    ],
)
async def test_licence_issuance_answers_503_on_anything_that_is_not_an_allow_listed_mainframe(
    start_registry: StartRegistry, settings: dict[str, Any]
):
    issuer = await issuer_of(await start_registry(**settings))
    body = operator_body() | {"sub": {"trust_domain": "hansa.local", "name": "north"}}
    assert refusal(await issuer.post("/genesis", {})) == (503, "FRAME_ONLY")
    assert refusal(await issuer.post("", body)) == (503, "FRAME_ONLY")
    for act in ("suspend", "reinstate", "revoke"):
        assert refusal(await issuer.change("some-lid", act)) == (503, "FRAME_ONLY")
    assert (await own_document(issuer.registry)).status_code == 404
    assert (await issuer.registry.http.get("/.well-known/federation-licences.json")).status_code == 404


# Frame certificates.


async def test_a_frame_certificate_is_issued_only_after_the_genesis_holds_its_own(frame: Issuer):
    answer = await frame.post("", frame_body("other.example"))
    assert refusal(answer) == (409, "LICENCE_GENESIS_MISSING")


async def test_the_genesis_issues_a_frame_certificate_chained_to_itself(genesis: Issuer):
    body = frame_body(days=30)
    issued = await genesis.issue(**body)
    payload = payload_of(issued["certificate"])
    own = (await own_document(genesis.registry)).json()
    assert (payload["type"], payload["network"], payload["key"]) == ("frame", GENESIS, body["key"])
    assert payload["iss"]["licence"] == own["hash"]
    assert payload["exp"] == payload["iat"] + 30 * 86_400
    verdict = verify_licence(
        issued["certificate"],
        [own["certificate"]],
        root_hash=own["hash"],
        lists=[await list_of(genesis.registry)],
    )
    assert (verdict.code, verdict.hash) == ("verified", issued["hash"]), verdict.reason


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sub": {"trust_domain": GENESIS, "name": "Itself"}}, "sub.trust_domain"),
        ({"plan": "genesis"}, "plan"),
        ({"plan": "operator-free"}, "plan"),
        ({"key": None}, "key"),
        ({"key": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}}, "key"),
        ({"key": {"kty": "OKP", "crv": "Ed25519", "x": "AQ" + "A" * 41}}, "key"),
        ({"plan": "enterprise", "days": None}, "days"),
    ],
)
async def test_what_the_rules_of_issuance_refuse_is_a_422_that_names_the_member(
    genesis: Issuer, change: dict[str, Any], field: str
):
    answer = await genesis.post("", frame_body() | change)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == field
    assert len((await genesis.get()).json()["items"]) == 1


@pytest.mark.parametrize("days", [0, 3651, 1.5, "30", True])
async def test_an_issuer_may_set_a_term_of_1_to_3650_days(genesis: Issuer, days: object):
    assert (await genesis.post("", frame_body(days=days))).status_code == 422
    assert (await genesis.issue(**frame_body(days=3650)))["state"] == "active"


async def test_days_absent_is_the_plans_default_and_null_is_perpetual_where_the_plan_allows_it(
    genesis: Issuer,
):
    government = payload_of((await genesis.issue(**frame_body(plan="government")))["certificate"])
    assert government["exp"] - government["iat"] == 365 * 86_400
    founding = payload_of((await genesis.issue(**frame_body(days=None)))["certificate"])
    assert founding["exp"] is None


async def test_an_issuer_refuses_a_certificate_of_2000_characters_or_more(genesis: Issuer):
    url = "https://frame.example/" + "a" * 470
    long_name = "\U0001f600" * 255
    body = frame_body(sub={"trust_domain": FRAME, "name": long_name, "url": url})
    answer = await genesis.post("", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "sub")


async def test_issuing_marks_every_older_active_or_suspended_certificate_of_the_subject_superseded(
    genesis: Issuer,
):
    first = await genesis.issue(**frame_body())
    second = await genesis.issue(**frame_body(sub={"trust_domain": FRAME, "name": "Renamed"}))
    assert (await genesis.change(second["lid"], "suspend")).status_code == 200
    third = await genesis.issue(**frame_body())
    other = await genesis.issue(**frame_body("other.example"))
    states = await states_of(genesis.registry)
    assert [states[one["lid"]] for one in (first, second, third, other)] == [
        "superseded",
        "superseded",
        "active",
        "active",
    ]


# Operator certificates.


async def test_a_frame_issues_operator_certificates_for_its_own_trust_domain_without_key(frame: Issuer):
    payload = payload_of((await frame.issue(**operator_body()))["certificate"])
    assert (payload["type"], payload["network"], payload["iss"]["licence"]) == ("operator", None, None)
    assert "key" not in payload


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": new_key()}, "key"),
        ({"plan": "founding"}, "plan"),
        ({"plan": "genesis"}, "plan"),
        ({"sub": {"trust_domain": FRAME, "name": ".."}}, "sub.name"),
        ({"sub": {"trust_domain": FRAME, "name": "a b"}}, "sub.name"),
        ({"sub": {"trust_domain": FRAME, "name": "a" * 121}}, "sub.name"),
    ],
)
async def test_an_operator_certificate_against_the_rules_is_a_422_that_names_the_member(
    frame: Issuer, change: dict[str, Any], field: str
):
    answer = await frame.post("", operator_body() | change)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field), answer.text


async def test_the_chain_walks_operator_frame_genesis(genesis: Issuer, frame: Issuer):
    root = (await own_document(genesis.registry)).json()
    network = await genesis.issue(**frame_body(key=await frame.key()))
    installed = await frame.post(
        "/install", {"certificate": network["certificate"], "chain": [root["certificate"]]}
    )
    assert installed.status_code == 200, installed.text
    operator = await frame.issue(**operator_body())
    payload = payload_of(operator["certificate"])
    assert (payload["network"], payload["iss"]["licence"]) == (GENESIS, network["hash"])
    lists = [await list_of(genesis.registry), await list_of(frame.registry)]
    chain = [network["certificate"], root["certificate"]]
    verdict = verify_licence(operator["certificate"], chain, root_hash=root["hash"], lists=lists)
    assert verdict.code == "verified", verdict.reason
    other_root = verify_licence(operator["certificate"], chain, root_hash="0" * 64, lists=lists)
    assert other_root.code == "untrusted_root"
    assert (await genesis.change(network["lid"], "suspend")).status_code == 200
    suspended = verify_licence(
        operator["certificate"],
        chain,
        root_hash=root["hash"],
        lists=[await list_of(genesis.registry), lists[1]],
    )
    assert suspended.code == "suspended"


# Installing.


async def test_operators_are_issued_anew_when_their_frame_joins_a_network_and_not_when_it_renews(
    genesis: Issuer, frame: Issuer
):
    before = await frame.issue(**operator_body(days=30))
    assert payload_of(before["certificate"])["network"] is None
    await joined(genesis, frame, await frame.key())
    code, lid = await operator_verdict(genesis, frame)
    assert (code, lid != before["lid"]) == ("verified", True)
    await joined(genesis, frame, await frame.key())
    assert await operator_verdict(genesis, frame) == ("verified", lid)


async def test_an_installed_certificate_without_a_trusted_root_is_unverified(genesis: Issuer, frame: Issuer):
    root = (await own_document(genesis.registry)).json()
    network = await genesis.issue(**frame_body(key=await frame.key()))
    body = {"certificate": network["certificate"], "chain": [root["certificate"]]}
    installed = (await frame.post("/install", body)).json()
    shown = (await own_document(frame.registry)).json()
    assert installed == shown == body | {"hash": network["hash"], "state": "unverified"}
    assert refusal(await frame.post("/genesis", {})) == (409, "LICENCE_GENESIS_HELD")


async def test_a_chain_that_ends_in_the_pinned_root_is_active_and_another_is_refused(
    genesis: Issuer, start_registry: StartRegistry
):
    root = (await own_document(genesis.registry)).json()
    for pinned, expected in ((root["hash"], "active"), ("0" * 64, None)):
        frame = await issuer_of(await start_registry(**mainframe(FRAME, federation_root_hash=pinned)))
        network = await genesis.issue(**frame_body(key=await frame.key()))
        answer = await frame.post(
            "/install", {"certificate": network["certificate"], "chain": [root["certificate"]]}
        )
        if expected:
            assert (answer.status_code, answer.json()["state"]) == (200, expected)
        else:
            assert refusal(answer) == (422, "LICENCE_INSTALL_REFUSED")
            assert (await own_document(frame.registry)).status_code == 404


async def test_installing_is_refused_unless_type_domain_key_and_signatures_fit(
    genesis: Issuer, frame: Issuer
):
    root = (await own_document(genesis.registry)).json()["certificate"]
    key = await frame.key()
    good = (await genesis.issue(**frame_body(key=key)))["certificate"]
    of_another_domain = (await genesis.issue(**frame_body("other.example", key=key)))["certificate"]
    of_another_key = (await genesis.issue(**frame_body()))["certificate"]
    head, middle, signature = good.split(".")
    forged = f"{head}.{middle}.{'A' * 86}"
    cases = [(root, [root]), (of_another_domain, [root]), (of_another_key, [root]), (forged, [root])]
    cases += [
        (good, [good]),
        (good + "A", [root]),
        ("x.y.z", [root]),
        (f"{head}.{middle}.{signature}=", [root]),
    ]
    for certificate, chain in cases:
        answer = await frame.post("/install", {"certificate": certificate, "chain": chain})
        assert refusal(answer) == (422, "LICENCE_INSTALL_REFUSED"), answer.text
    assert (await own_document(frame.registry)).status_code == 404


# States.


async def test_suspend_reinstate_and_revoke_act_on_the_subject(genesis: Issuer):
    issued = await genesis.issue(**frame_body())
    suspended = await genesis.change(issued["lid"], "suspend")
    assert (suspended.json()["state"], suspended.json()["changed"]) == ("suspended", [issued["lid"]])
    assert refusal(await genesis.change(issued["lid"], "suspend")) == (409, "LICENCE_STATE")
    assert (await genesis.change(issued["lid"], "reinstate")).json()["state"] == "active"
    assert refusal(await genesis.change(issued["lid"], "reinstate")) == (409, "LICENCE_STATE")
    successor = await genesis.issue(**frame_body())
    revoked = (await genesis.change(successor["lid"], "revoke")).json()
    assert sorted(revoked["changed"]) == sorted([issued["lid"], successor["lid"]])
    for act in ("revoke", "reinstate", "suspend"):
        assert refusal(await genesis.change(successor["lid"], act)) == (409, "LICENCE_STATE")
    assert set((await states_of(genesis.registry)).values()) == {"active", "revoked"}


async def test_the_genesis_certificate_is_never_changed_and_an_unknown_lid_is_404(genesis: Issuer):
    (item,) = (await genesis.get()).json()["items"]
    for act in ("suspend", "reinstate", "revoke"):
        assert refusal(await genesis.change(item["lid"], act)) == (409, "LICENCE_STATE")
        assert refusal(await genesis.change("unknown", act)) == (404, "LICENCE_UNKNOWN")
        assert refusal(await genesis.change(item["hash"], act)) == (404, "LICENCE_UNKNOWN")


async def test_an_expired_certificate_shows_as_expired_and_is_not_reinstated(genesis: Issuer):
    issued = await genesis.issue(**frame_body(days=1))
    await genesis.change(issued["lid"], "suspend")
    past = "UPDATE federation_certificate SET issued_at = now() - interval '2 days', expires_at = now() - interval '1 day' WHERE lid = $1"
    await genesis.registry.database.transaction(lambda tx: tx.execute(past, issued["lid"]))
    assert refusal(await genesis.change(issued["lid"], "reinstate")) == (409, "LICENCE_STATE")
    live = await genesis.issue(**frame_body(days=1))
    await genesis.registry.database.transaction(lambda tx: tx.execute(past, live["lid"]))
    (shown,) = (await genesis.get(state="expired")).json()["items"]
    assert (shown["lid"], shown["state"]) == (live["lid"], "expired")
    assert refusal(await genesis.change(live["lid"], "suspend")) == (409, "LICENCE_STATE")


async def test_of_acts_on_one_subject_at_once_each_sees_what_the_one_before_left(genesis: Issuer):
    issued = await genesis.issue(**frame_body())
    answers = await at_once(*(genesis.change(issued["lid"], "suspend") for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    await at_once(*(genesis.issue(**frame_body()) for _ in range(8)))
    states = list((await states_of(genesis.registry)).values())
    assert (states.count("active"), states.count("superseded")) == (2, 8)


# Reading.


async def test_the_list_is_signed_and_holds_every_certificate_with_its_own(genesis: Issuer):
    before = await list_of(genesis.registry)
    issued = await genesis.issue(**frame_body(days=10))
    text = await list_of(genesis.registry)
    listed, kid = read_issued_list(text), (await genesis.key())["kid"]
    assert header_of(text) == {"alg": "EdDSA", "kid": kid, "typ": "licence-list+jws"}
    own, newer = listed.licences
    assert (own["type"], newer["hash"]) == ("genesis", issued["hash"])
    assert set(newer) == {
        "hash", "lid", "type", "sub_trust_domain", "sub_name", "plan", "iat", "exp", "state", "updated_at"
    }  # fmt: skip
    assert payload_of(text)["generated_at"] > payload_of(before)["generated_at"]
    assert abs(listed.generated_at.timestamp() - time.time()) < 60
    assert await list_of(genesis.registry) == text


async def test_two_lists_never_bear_the_same_second(genesis: Issuer):
    texts = set()
    for _ in range(3):
        await genesis.issue(**frame_body())
        texts |= set(await at_once(*(list_of(genesis.registry) for _ in range(4))))
    seconds = [payload_of(text)["generated_at"] for text in texts]
    assert len(seconds) == len(set(seconds)) == 3


async def test_a_licence_is_looked_up_by_its_hash_in_public(genesis: Issuer):
    issued = await genesis.issue(**frame_body())
    path = f"/public/federation/licences/{issued['hash']}"
    shown = (await genesis.registry.get(path)).json()
    assert (shown["lid"], shown["certificate"], shown["state"]) == (
        issued["lid"],
        issued["certificate"],
        "active",
    )
    assert shown["type"] == "frame"
    own = (await genesis.registry.http.get("/.well-known/federation-licence.json")).json()
    issuer = payload_of(own["certificate"])["iss"]
    assert shown["issuer"] == {name: issuer[name] for name in ("trust_domain", "name", "kid")}
    assert abs(datetime.fromisoformat(shown["as_of"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert (await genesis.registry.get(f"/public/federation/licences/{'0' * 64}")).status_code == 404
    assert (await genesis.registry.get("/public/federation/licences/nothing")).status_code == 422


async def test_the_listing_filters_by_state_type_and_subject_newest_first(genesis: Issuer):
    one = await genesis.issue(**frame_body("a.example"))
    two = await genesis.issue(**frame_body("b.example"))
    await genesis.change(one["lid"], "suspend")
    lids = [item["lid"] for item in (await genesis.get(type="frame")).json()["items"]]
    assert set(lids) == {one["lid"], two["lid"]}
    assert [item["lid"] for item in (await genesis.get(state="suspended")).json()["items"]] == [one["lid"]]
    assert [item["lid"] for item in (await genesis.get(sub="b.example")).json()["items"]] == [two["lid"]]
    page = (await genesis.get(limit=1, offset=2)).json()
    assert (len(page["items"]), page["pagination"]["total_items"]) == (1, 3)


# Records.


async def test_each_act_is_one_event_of_kind_certificate_and_a_row_of_the_audit_log(genesis: Issuer):
    issued = await genesis.issue(**frame_body())
    for act in ("suspend", "reinstate", "revoke"):
        await genesis.change(issued["lid"], act)
    events = (
        f"SELECT event_type, data->>'kind' AS kind FROM {ALL_EVENTS} AS e"
        " WHERE data->>'licence_id' = $1 ORDER BY seq"
    )
    audit_log = "SELECT act FROM plumbing_admin_act WHERE subject = $1 ORDER BY id"
    database, lid = genesis.registry.database, issued["lid"]
    rows = await database.query(lambda tx: tx.fetch(events, lid))
    acts = await database.query(lambda tx: tx.fetch(audit_log, lid))
    kinds = [row["event_type"].removeprefix("FederationLicense") for row in rows]
    assert kinds == ["Issued", "Suspended", "Reinstated", "Revoked"]
    assert {row["kind"] for row in rows} == {"certificate"}
    assert [row["act"].rpartition(".")[2] for row in acts] == ["issue", "suspend", "reinstate", "revoke"]


async def rotate_licensing_key(registry: TestRegistry) -> federation.NewLicensingKey:
    runtime = registry.runtime
    return await registry.database.transaction(
        lambda tx: federation.rotate_licensing_key(tx, None, runtime.settings, runtime.seal, reason=None)
    )


async def joined(genesis: Issuer, frame: Issuer, key: dict[str, Any]) -> dict[str, Any]:
    """The certificate that the genesis issued to this key, installed at the frame."""
    root = (await own_document(genesis.registry)).json()["certificate"]
    issued = await genesis.issue(**frame_body(key=key))
    answer = await frame.post("/install", {"certificate": issued["certificate"], "chain": [root]})
    assert answer.status_code == 200, answer.text
    return issued


async def operator_verdict(genesis: Issuer, frame: Issuer) -> tuple[str, str]:
    """The verdict on the live certificate of the operator, with today's chain and lists, and its lid."""
    root = (await own_document(genesis.registry)).json()["certificate"]
    held = (await own_document(frame.registry)).json()["certificate"]
    listed = (await frame.get(state="active", sub="north")).json()["items"]
    assert len(listed) == 1
    lists = [await list_of(frame.registry), await list_of(genesis.registry)]
    verdict = verify_licence(
        listed[0]["certificate"], [held, root], root_hash=licence_hash(root), lists=lists
    )
    return verdict.code, listed[0]["lid"]


async def test_a_frames_new_key_waits_for_its_certificate_and_then_the_operators_are_issued_anew(
    genesis: Issuer, frame: Issuer
):
    await joined(genesis, frame, await frame.key())
    issued = await frame.issue(**operator_body(days=30))
    assert await operator_verdict(genesis, frame) == ("verified", issued["lid"])
    new = await rotate_licensing_key(frame.registry)
    assert new.is_waiting
    assert (await frame.key())["x"] != jwk_of(new.public_key)["x"]
    assert await operator_verdict(genesis, frame) == ("verified", issued["lid"])
    await joined(genesis, frame, jwk_of(new.public_key))
    assert (await frame.key())["x"] == jwk_of(new.public_key)["x"]
    code, lid = await operator_verdict(genesis, frame)
    assert (code, lid != issued["lid"]) == ("verified", True)
    certificates = (await frame.get(sub="north")).json()["items"]
    assert {one["lid"]: one["state"] for one in certificates} == {lid: "active", issued["lid"]: "superseded"}
    former, anew = (
        payload_of(next(one["certificate"] for one in certificates if one["lid"] == name))
        for name in (issued["lid"], lid)
    )
    assert (anew["exp"], anew["plan"], anew["sub"]) == (former["exp"], former["plan"], former["sub"])
    assert anew["iss"]["kid"] == thumbprint(new.public_key) != former["iss"]["kid"]


async def test_what_a_stolen_key_signs_is_worthless_once_the_genesis_issued_for_another(
    genesis: Issuer, frame: Issuer
):
    await joined(genesis, frame, await frame.key())
    runtime = frame.registry.runtime
    stolen = await frame.registry.database.query(lambda tx: licence_keys.present_key(tx, runtime.seal))
    held = (await own_document(frame.registry)).json()["certificate"]
    await joined(genesis, frame, jwk_of((await rotate_licensing_key(frame.registry)).public_key))
    root = (await own_document(genesis.registry)).json()["certificate"]
    await frame.issue(**operator_body())
    genuine = (await frame.get(state="active")).json()["items"][0]["certificate"]
    forged = licence_rules.sign_compact(
        stolen,
        "licence+jws",
        {**payload_of(genuine), "lid": "forged", "iss": {**payload_of(genuine)["iss"], "kid": stolen.kid}},
    )
    lists = [await list_of(frame.registry), await list_of(genesis.registry)]
    verdict = verify_licence(forged, [held, root], root_hash=licence_hash(root), lists=lists)
    assert not verdict.is_valid


async def test_a_registry_without_a_network_certificate_signs_with_the_new_key_at_once(frame: Issuer):
    issued = await frame.issue(**operator_body())
    new = await rotate_licensing_key(frame.registry)
    assert not new.is_waiting
    assert (await frame.key())["x"] == jwk_of(new.public_key)["x"]
    states = await states_of(frame.registry)
    assert (states.pop(issued["lid"]), list(states.values())) == ("superseded", ["active"])
    assert header_of(await list_of(frame.registry))["kid"] == thumbprint(new.public_key)


async def test_the_key_of_the_genesis_is_not_rotated(genesis: Issuer):
    before = await genesis.key()
    with pytest.raises(Refused, match="founds a new network"):
        await rotate_licensing_key(genesis.registry)
    assert await genesis.key() == before


async def test_rotations_at_once_leave_one_key_that_waits(genesis: Issuer, frame: Issuer):
    await joined(genesis, frame, await frame.key())
    found = await at_once(*(rotate_licensing_key(frame.registry) for _ in range(4)))
    waiting = "SELECT public_key FROM federation_licensing_key WHERE is_next"
    rows = await frame.registry.database.read(lambda tx: tx.fetch(waiting))
    assert [row["public_key"] for row in rows] in [[new.public_key] for new in found]


async def test_the_licence_signing_key_is_another_than_that_of_the_card(genesis: Issuer):
    key = await genesis.key()
    card_keys = (await genesis.registry.http.get("/.well-known/registry-jwks.json")).json()["keys"]
    assert key["x"] not in {one["x"] for one in card_keys}
    assert key["kid"] == thumbprint(base64.urlsafe_b64decode(key["x"] + "="))


# The registry card.


async def federation_block(registry: TestRegistry) -> dict[str, Any]:
    card = (await registry.http.get("/.well-known/registry-card.json")).json()
    return card["federation"] | {"tier": card["identity"]["tier"]}


async def test_the_card_states_the_licence_that_is_held_and_its_hash_is_the_licence_hash(
    genesis: Issuer, frame: Issuer
):
    root = (await own_document(genesis.registry)).json()
    shown = await federation_block(genesis.registry)
    assert shown["licence"]["hash"] == root["hash"]
    assert (shown["licence"]["type"], shown["licence"]["network"]) == ("genesis", GENESIS)
    assert (shown["is_genesis_registry"], shown["is_sovereign_frame"]) == (True, True)
    before = await federation_block(frame.registry)
    assert set(before["licence"].values()) == {None}
    assert (before["is_genesis_registry"], before["is_sovereign_frame"]) == (False, False)
    network = await genesis.issue(**frame_body(key=await frame.key()))
    body = {"certificate": network["certificate"], "chain": [root["certificate"]]}
    assert (await frame.post("/install", body)).status_code == 200
    after = await federation_block(frame.registry)
    assert (after["licence"]["hash"], after["licence"]["state"]) == (network["hash"], "unverified")
    assert (after["is_genesis_registry"], after["is_sovereign_frame"]) == (False, False)


async def test_a_holder_of_a_verified_frame_certificate_that_is_not_allow_listed_is_a_regional_mainframe(
    genesis: Issuer, start_registry: StartRegistry
):
    root = (await own_document(genesis.registry)).json()
    frame = await issuer_of(await start_registry(trust_domain=FRAME, federation_root_hash=root["hash"]))
    assert (await federation_block(frame.registry))["tier"] == "standalone"
    network = await genesis.issue(**frame_body(key=await frame.key()))
    body = {"certificate": network["certificate"], "chain": [root["certificate"]]}
    assert (await frame.post("/install", body)).status_code == 200
    shown = await federation_block(frame.registry)
    assert (shown["tier"], shown["is_sovereign_frame"], shown["licence"]["state"]) == (
        "regional-mainframe",
        True,
        "active",
    )
