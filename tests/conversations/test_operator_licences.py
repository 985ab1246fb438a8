"""The specification on licence/mine: which operator gets which certificate, and the order of refusals."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import federation
from hansa.rooms.federation import CertificateAct, CertificateFilter
from hansa_verify import read_certificate
from tests.licences import TestGenesis
from tests.registry import StartRegistry, TestRegistry, at_once

FRAME = "frame.example"
ROUTE = "/federation/licence/mine"


def frame(**more: Any) -> dict[str, Any]:
    return {
        "trust_domain": FRAME,
        "registry_name": "frame",
        "is_central_registry": True,
        "sovereign_mainframes": [FRAME],
        "licensing_mode": "automatic",
        "trusted_proxies": ["127.0.0.1"],
        **more,
    }


def shown(registry: TestRegistry, path: str, hosts: Sequence[str] = ()) -> dict[str, str]:
    """The headers by which a proxy forwards a certificate of the frame with this path."""
    authority = registry.runtime.authority
    assert authority is not None
    svid = authority.issue(
        f"spiffe://{registry.settings.trust_domain}/{path}",
        now=datetime.now(UTC),
        lifetime=timedelta(hours=1),
        hosts=hosts,
    )
    return registry.forwarding(svid)


async def test_an_operator_is_known_by_its_spiffe_id_whatever_hosts_its_certificate_names_beside_it(
    start_registry: StartRegistry,
):
    registry = await start_registry(**frame())
    headers = shown(registry, "operator/north", hosts=["north.example.org", "127.0.0.1"])
    answer = await registry.get(ROUTE, headers=headers)
    assert answer.status_code == 200, answer.text
    for path in ("registry/north", "agent/north"):
        refused = await registry.get(ROUTE, headers=shown(registry, path, hosts=["north.example.org"]))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NOT_AN_OPERATOR")


async def mine(registry: TestRegistry, name: str = "north") -> dict[str, Any]:
    answer = await registry.get(ROUTE, headers=shown(registry, f"operator/{name}"))
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


async def change(registry: TestRegistry, act: Any) -> None:
    (held,), _ = await registry.database.read(
        lambda tx: federation.list_licence_certificates(tx, CertificateFilter())
    )
    wanted = CertificateAct(held.lid, act, "Because.")
    await registry.database.transaction(
        lambda tx: federation.change_certificate(tx, None, registry.settings, wanted)
    )


async def test_a_caller_without_a_live_certificate_gets_one_issued_when_policy_issues_automatically(
    start_registry: StartRegistry,
):
    registry = await start_registry(**frame(operator_plan="gold", operator_term_days=30))
    first = await mine(registry)
    assert first["operator"]["issued_now"] is True
    assert (first["network"], first["root"], first["frame_trust_domain"]) == (None, None, FRAME)
    assert first["policy"] == {"plan": "gold", "days": 30}
    payload = read_certificate(first["operator"]["certificate"]).payload
    assert (payload["type"], payload["plan"], payload["network"]) == ("operator", "gold", None)
    assert payload["sub"] == {
        "trust_domain": FRAME,
        "name": "north",
        "spiffe": f"spiffe://{FRAME}/operator/north",
    }
    again = await mine(registry)
    assert again["operator"] == {**first["operator"], "issued_now": False}
    assert (await mine(registry, "south"))["operator"]["hash"] != first["operator"]["hash"]


async def test_two_requests_at_the_same_moment_get_one_certificate(start_registry: StartRegistry):
    registry = await start_registry(**frame())
    answers = await at_once(*(mine(registry) for _ in range(4)))
    assert len({answer["operator"]["hash"] for answer in answers}) == 1
    assert sum(answer["operator"]["issued_now"] for answer in answers) == 1


async def test_the_answer_has_the_frames_network_certificate_and_its_root(start_registry: StartRegistry):
    registry = await start_registry(**frame())
    genesis = TestGenesis("genesis.example")
    key = await registry.database.read(federation.licensing_public_key)
    certificate = genesis.frame(FRAME, jwk_of(key))
    delivered = federation.Delivered(certificate, [genesis.certificate])
    settings, seal = registry.settings, registry.runtime.seal
    await registry.database.transaction(
        lambda tx: federation.join_network(tx, None, settings, seal, delivered)
    )
    answer = await mine(registry)
    assert answer["network"]["certificate"] == certificate
    assert (answer["network"]["state"], answer["network"]["reason"], answer["network"]["checked_at"]) == (
        "unverified",
        None,
        None,
    )
    assert answer["network"]["chain"] == [answer["root"]["certificate"]] == [genesis.certificate]
    payload = read_certificate(answer["operator"]["certificate"]).payload
    assert (payload["network"], payload["iss"]["licence"]) == ("genesis.example", answer["network"]["hash"])


@pytest.mark.parametrize(("act", "state"), [("suspend", "suspended"), ("revoke", "revoked")])
async def test_a_suspended_or_revoked_operator_gets_no_other_certificate(
    start_registry: StartRegistry, act: str, state: str
):
    registry = await start_registry(**frame())
    first = await mine(registry)
    await change(registry, act)
    answer = await mine(registry)
    assert answer["operator"] == {**first["operator"], "state": state, "issued_now": False}


async def test_an_expired_certificate_is_renewed(start_registry: StartRegistry):
    registry = await start_registry(**frame(operator_term_days=1))
    first = await mine(registry)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_certificate SET issued_at = now() - interval '2 days', expires_at = now() - interval '1 day'"
        )
    )
    answer = await mine(registry)
    assert answer["operator"]["issued_now"] is True
    assert answer["operator"]["hash"] != first["operator"]["hash"]


async def test_mode_manual_issues_nothing_by_itself(start_registry: StartRegistry):
    registry = await start_registry(**frame(licensing_mode="manual"))
    answer = await mine(registry)
    assert answer["operator"] is None
    assert answer["policy"] == {"plan": "operator-free", "days": None}


async def test_a_genesis_issues_no_operator_certificates(start_registry: StartRegistry):
    registry = await start_registry(**frame())
    runtime = registry.runtime
    await registry.database.transaction(
        lambda tx: federation.found_network(tx, None, runtime.settings, runtime.seal)
    )
    answer = await mine(registry)
    assert answer["operator"] is None
    assert answer["root"]["hash"] == answer["network"]["hash"]


async def test_refusals_come_in_the_order_401_403_503_409(start_registry: StartRegistry):
    registry = await start_registry(
        trust_domain=FRAME, trusted_proxies=["127.0.0.1"], sovereign_mainframes=[], licensing_mode="off"
    )
    assert (await registry.get(ROUTE)).status_code == 401
    for path in (
        "registry/frame",
        "agent/x",
        "operator/",
        "operator/.",
        "operator/..",
        f"operator/{'n' * 121}",
    ):
        answer = await registry.get(ROUTE, headers=shown(registry, path))
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "NOT_AN_OPERATOR"), path
    refused = await registry.get(ROUTE, headers=shown(registry, "operator/north"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "FRAME_ONLY")


async def test_a_frame_whose_licensing_mode_is_off_answers_409(start_registry: StartRegistry):
    registry = await start_registry(**frame(licensing_mode="off"))
    refused = await registry.get(ROUTE, headers=shown(registry, "operator/north"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "LICENSING_OFF")
