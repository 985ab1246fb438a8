"""Access to the internal routes: by the internal key, by a service's certificate, by a federation licence."""

import random
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from hansa.foundation.plumbing.keys.authority import IdentityAuthority, Svid
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.rooms import federation
from tests.founded import open_copy
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, StartRegistry, TestDeveloper, TestRegistry, at_once

ROUTES = ["/events/", "/events/aggregate/did:hansa:hansa.local:somebody", "/projections/supply-audit"]
KEYS = "/admin/federation/licence-keys"
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
async def registry(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestRegistry]:
    """One registry for all: each test admits somebody else."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("internal")) as registry:
        yield registry


@pytest.fixture(scope="module")
async def administrator(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_federation", "admin_platform")


async def status(registry: TestRegistry, headers: Any, path: str = "/events/") -> int:
    return (await registry.get(path, headers=headers)).status_code


async def change(administrator: TestDeveloper, licence_id: str, act: str) -> httpx2.Response:
    body = {"reason": f"To {act} it."}
    return await administrator.registry.post(
        f"{KEYS}/{licence_id}/{act}", json=body, headers=administrator.headers
    )


async def licence_of(administrator: TestDeveloper, trust_domain: str) -> dict[str, Any]:
    page = await administrator.registry.get(KEYS, params={"limit": 1000}, headers=administrator.headers)
    return next(item for item in page.json()["items"] if item["trust_domain"] == trust_domain)


# Federation licences.


async def test_a_licence_key_is_not_issued_for_the_registrys_own_trust_domain(
    administrator: TestDeveloper,
):
    registry = administrator.registry
    own = {"trust_domain": registry.settings.trust_domain}
    answer = await registry.post(KEYS, json=own, headers=administrator.headers)
    assert answer.status_code == 422, answer.text
    assert (answer.json()["error"]["code"], answer.json()["error"]["field"]) == (
        "FEDERATION_LICENCE_SELF",
        "trust_domain",
    )


@pytest.mark.parametrize("path", ROUTES)
async def test_an_admitted_registry_reads_the_internal_routes_by_its_licence_key(
    registry: TestRegistry, path: str
):
    shown = await registry.admitted(f"reader{ROUTES.index(path)}.example")
    assert await status(registry, shown, path) == 200
    key = shown["X-Federation-License"]
    for headers in (
        {"X-Federation-License": key[:-1]},
        {"X-Federation-License": key.upper()},
        {"X-Federation-License": key[:-1] + ("0" if key[-1] != "0" else "1")},
        {"X-Federation-License": ""},
        {"X-Federation-License": " "},
        {"X-Internal-Key": key},
        {"Authorization": f"Bearer {key}"},
        [("X-Federation-License", key), ("X-Federation-License", key)],
        {"X-Federation-License": ("é" * 71).encode()},
        {"X-Federation-License": "x" * 5000},
        {"X-Federation-License": key, "X-Internal-Key": "wrong"},
    ):
        assert await status(registry, headers, path) == 401, headers


async def test_a_licence_key_is_hfl_v1_and_64_hex_digits_71_characters_in_all_and_shown_once(
    registry: TestRegistry, administrator: TestDeveloper
):
    body = {"trust_domain": "once.example", "note": "A friend", "expires_in_days": 30}
    made = await registry.post(KEYS, json=body, headers=administrator.headers)
    assert made.status_code == 201, made.text
    returned = made.json()
    key = returned.pop("licence_key")
    assert len(key) == 71
    assert key.startswith("hfl_v1_")
    assert set(key.removeprefix("hfl_v1_")) <= set("0123456789abcdef")
    assert await licence_of(administrator, "once.example") == returned
    assert (returned["status"], returned["note"], returned["last_used_at"]) == ("active", "A friend", None)
    ends, begins = [datetime.fromisoformat(returned[member]) for member in ("expires_at", "issued_at")]
    assert ends - begins == 30 * DAY
    stored = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT l::text FROM federation_licence_key l WHERE trust_domain = 'once.example'"
        )
    )
    assert key not in stored
    assert key.removeprefix("hfl_v1_") not in stored


async def test_a_suspended_licence_is_refused_at_once_until_it_is_reinstated(
    registry: TestRegistry, administrator: TestDeveloper
):
    shown = await registry.admitted("halted.example")
    licence = await licence_of(administrator, "halted.example")
    assert (await change(administrator, licence["id"], "suspend")).json()["status"] == "suspended"
    refused = await registry.get("/events/", headers=shown)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "FEDERATION_LICENCE_SUSPENDED"
    assert (await change(administrator, licence["id"], "reinstate")).json()["status"] == "active"
    assert await status(registry, shown) == 200


async def test_a_revoked_licence_is_never_good_again(registry: TestRegistry, administrator: TestDeveloper):
    shown = await registry.admitted("ended.example")
    licence = await licence_of(administrator, "ended.example")
    assert (await change(administrator, licence["id"], "revoke")).json()["status"] == "revoked"
    assert await status(registry, shown) == 401
    for act in ("suspend", "reinstate", "revoke"):
        refused = await change(administrator, licence["id"], act)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "FEDERATION_LICENCE_STATE")
    again = await registry.admitted("ended.example")
    assert await status(registry, again) == 200


async def test_a_licence_past_its_end_is_refused_by_the_databases_clock(
    registry: TestRegistry, administrator: TestDeveloper
):
    shown = await registry.admitted("late.example", expires_in_days=1)
    assert await status(registry, shown) == 200
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_licence_key SET issued_at = now() - interval '2 days', expires_at = clock_timestamp()"
            " WHERE trust_domain = 'late.example'"
        )
    )
    assert await status(registry, shown) == 401
    licence = await licence_of(administrator, "late.example")
    assert licence["status"] == "expired"
    # What has expired may be replaced, and ended for good.
    assert await status(registry, await registry.admitted("late.example")) == 200
    assert (await change(administrator, licence["id"], "revoke")).status_code == 200


async def test_a_trust_domain_holds_one_licence_also_when_two_are_asked_for_at_once(
    registry: TestRegistry, administrator: TestDeveloper
):
    asked = [
        registry.post(KEYS, json={"trust_domain": "single.example"}, headers=administrator.headers)
        for _ in range(6)
    ]
    answers = await at_once(*asked)
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]


async def test_of_many_changes_at_once_one_is_made(registry: TestRegistry, administrator: TestDeveloper):
    await registry.admitted("torn.example")
    licence = await licence_of(administrator, "torn.example")
    answers = await at_once(*[change(administrator, licence["id"], "suspend") for _ in range(5)])
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"trust_domain": "system"},
        {"trust_domain": "UPPER.example"},
        {"trust_domain": "ab"},
        {"trust_domain": ".example"},
        {"trust_domain": "x" * 254},
        {"trust_domain": "spiffe://there.example"},
        {"trust_domain": "there.example\n"},
        {"trust_domain": "there.example", "expires_in_days": 0},
        {"trust_domain": "there.example", "expires_in_days": 3651},
        {"trust_domain": "there.example", "expires_in_days": "30"},
        {"trust_domain": "there.example", "note": ""},
        {"trust_domain": "there.example", "note": "x" * 501},
    ],
)
async def test_an_admission_out_of_bounds_is_refused(
    registry: TestRegistry, administrator: TestDeveloper, body: dict[str, Any]
):
    answer = await registry.post(KEYS, json=body, headers=administrator.headers)
    assert answer.status_code == 422, answer.text


async def test_the_registry_admits_every_domain_but_its_own(
    registry: TestRegistry, administrator: TestDeveloper
):
    body = {"trust_domain": registry.settings.trust_domain}
    answer = await registry.post(KEYS, json=body, headers=administrator.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "FEDERATION_LICENCE_SELF")


async def test_a_licence_that_is_not_there_is_not_found(administrator: TestDeveloper):
    for act in ("suspend", "reinstate", "revoke"):
        assert (await change(administrator, "1b4e28ba-2fa1-41d2-883f-0016d3cca427", act)).status_code == 404


async def test_what_becomes_of_a_licence_is_recorded_in_the_journal_and_in_the_audit_log(
    registry: TestRegistry, administrator: TestDeveloper
):
    await registry.admitted("recorded.example")
    licence = await licence_of(administrator, "recorded.example")
    acts = ("suspend", "reinstate", "revoke")
    for act in acts:
        await change(administrator, licence["id"], act)
    found = await registry.get("/events/aggregate/did:hansa:system:registry", headers=registry.internal)
    events = [
        (event["event_type"], event["data"])
        for event in found.json()["items"]
        if event["data"].get("licence_id") == licence["id"]
    ]
    data = {"licence_id": licence["id"], "trust_domain": "recorded.example", "kind": "admission_key"}
    kinds = ("Issued", "Suspended", "Reinstated", "Revoked")
    assert events == [(f"FederationLicense{kind}", data) for kind in kinds]
    log = await registry.get(
        "/admin/audit-log", params={"subject": licence["id"]}, headers=administrator.headers
    )
    returned = [(item["act"], item["reason"]) for item in log.json()["items"]]
    expected = [("federation_licence.issue", None)]
    expected += [(f"federation_licence.{act}", f"To {act} it.") for act in acts]
    assert returned == expected[::-1]


async def test_the_use_of_a_licence_is_noted_to_the_minute(
    registry: TestRegistry, administrator: TestDeveloper
):
    shown = await registry.admitted("busy.example")
    assert await status(registry, shown) == 200
    first = (await licence_of(administrator, "busy.example"))["last_used_at"]
    assert first is not None
    assert await status(registry, shown) == 200
    assert (await licence_of(administrator, "busy.example"))["last_used_at"] == first


# Certificates of services.


def as_rfc_9440(svid: Svid) -> dict[str, str]:
    der = x509.load_pem_x509_certificate(svid.certificate_pem.encode()).public_bytes(Encoding.DER)
    return {"Client-Cert": f":{b64encode(der).decode()}:"}


@pytest.mark.parametrize("path", ROUTES)
async def test_a_service_reads_the_internal_routes_by_the_certificate_that_a_named_proxy_forwards(
    registry: TestRegistry, path: str
):
    service = await registry.service("reader")
    assert await status(registry, registry.forwarding(service), path) == 200
    assert await status(registry, as_rfc_9440(service), path) == 200


async def test_nobody_elses_word_for_a_certificate_is_taken(start_registry: StartRegistry):
    registry = await start_registry(trusted_proxies=["192.0.2.1"])
    service = await registry.service("reader")
    for headers in (registry.forwarding(service), as_rfc_9440(service)):
        assert await status(registry, headers) == 401


async def test_a_certificate_that_was_revoked_or_has_ended_opens_nothing(registry: TestRegistry):
    service, other = await registry.service("leaked"), await registry.service("sound")
    assert await status(registry, registry.forwarding(service)) == 200
    await registry.database.transaction(lambda tx: federation.revoke_service(tx, "leaked"))
    assert await status(registry, registry.forwarding(service)) == 401
    assert await status(registry, registry.forwarding(other)) == 200
    assert await status(registry, registry.forwarding(await registry.service("leaked"))) == 200
    short = await registry.service("short", timedelta(seconds=2))
    assert await status(registry, registry.forwarding(short)) == 200
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_service_certificate SET issued_at = issued_at - interval '1 day',"
            " expires_at = clock_timestamp() WHERE name = 'short'"
        )
    )
    assert await status(registry, registry.forwarding(short)) == 401


async def test_a_certificate_that_is_no_services_opens_nothing(registry: TestRegistry, tmp_path: Path):
    authority, now = registry.runtime.authority, datetime.now(UTC)
    assert authority
    # Of the right authority, and nobody enrolled it.
    made_up = authority.issue("spiffe://hansa.local/service/reader", now=now, lifetime=DAY)
    agents = authority.issue("spiffe://hansa.local/agent/did-hansa-1", now=now, lifetime=DAY)
    elsewhere = IdentityAuthority(Keyring(tmp_path), "hansa.local")
    forged = elsewhere.issue("spiffe://hansa.local/service/reader", now=now, lifetime=DAY)
    for svid in (made_up, agents, forged):
        assert await status(registry, registry.forwarding(svid)) == 401


async def test_a_certificate_of_another_authority_opens_nothing_even_where_it_is_enrolled(
    registry: TestRegistry, tmp_path: Path
):
    elsewhere = IdentityAuthority(Keyring(tmp_path), "hansa.local")
    enrolled = await registry.database.transaction(
        lambda tx: federation.enrol_service(
            tx, elsewhere, name="foreign", trust_domain="hansa.local", lifetime=DAY
        )
    )
    assert await status(registry, registry.forwarding(enrolled.svid)) == 401


async def test_one_forwarded_certificate_is_taken_and_no_second(registry: TestRegistry):
    service = await registry.service("twice")
    nginx, standard = registry.forwarding(service), as_rfc_9440(service)
    assert await status(registry, {**nginx, **standard}) == 401
    assert await status(registry, [*nginx.items(), *nginx.items()]) == 401
    assert await status(registry, {**nginx, "Client-Cert": ""}) == 200
    assert await status(registry, {**standard, "X-SSL-Client-Cert": ""}) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Client-Cert": ":!!:"},
        {"Client-Cert": "::"},
        {"Client-Cert": ":AAAA:"},
        {"Client-Cert": "AAAA"},
        {"Client-Cert": f":{'A' * 16_384}:"},
        {"X-SSL-Client-Cert": "%00%FF"},
        {"X-SSL-Client-Cert": "-----BEGIN%20CERTIFICATE-----"},
        {"X-SSL-Client-Cert": quote("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")},
        {"X-SSL-Client-Cert": ("é" * 40).encode()},
    ],
)
async def test_a_forwarded_certificate_that_is_none_is_refused(
    registry: TestRegistry, headers: dict[str, Any]
):
    assert await status(registry, headers) == 401


async def test_no_altered_certificate_opens_anything_or_crashes_anything(registry: TestRegistry):
    service = await registry.service("altered")
    der = x509.load_pem_x509_certificate(service.certificate_pem.encode()).public_bytes(Encoding.DER)
    draw = random.Random(printed_seed())
    bits = range(8 * len(der))
    # Of the first bytes every bit: the forms that a certificate may have are encoded there.
    for bit in {*bits[:512], *draw.sample(bits, by_tier(300, len(bits), len(bits)))}:
        altered = bytearray(der)
        altered[bit // 8] ^= 1 << bit % 8
        headers = {"Client-Cert": f":{b64encode(altered).decode()}:"}
        assert await status(registry, headers) == 401, altered.hex()


async def test_without_an_authority_no_certificate_is_taken(
    start_registry: StartRegistry, registry: TestRegistry
):
    service = await registry.service("orphan")
    alone = await start_registry(agent_identity_issuer="none")
    assert await status(alone, alone.forwarding(service)) == 401
