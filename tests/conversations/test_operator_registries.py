"""Specification 2 and 6 S, W 1, W 2: a frame and its operator registries share trust domain and unit, and are peers."""

import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from hansa.foundation.plumbing.keys.authority import Svid
from hansa.foundation.plumbing.outgoing import show_certificate
from hansa.foundation.values.money import Minor
from hansa.rooms import auditor, federation, ledger
from hansa.rooms.federation import LOCAL_IDENTITY
from hansa.rooms.federation.identity import local_identity
from hansa.rooms.federation.operators import renew_certificates
from hansa_verify import log, read_auditor_keys, read_export, read_keys, verify_attestations
from hansa_verify.registry_card import CardReader, verify_registry_card
from tests.neighbours.one_frame import (
    FRAME,
    OneFrame,
    enrol,
    following,
    frame_with_operators,
    invitation_of,
)
from tests.neighbours.test_mutual_tls import ASKING, asking_router, certified
from tests.neighbours.two_registries import Neighbour
from tests.registry import DatabaseFarm, TestRegistry


@pytest.fixture(scope="module")
async def one(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OneFrame]:
    directory = tmp_path_factory.mktemp("frame")
    async with frame_with_operators(database_farm, directory, "north", "south") as frame:
        for registry in frame.all:
            registry.registry.app.include_router(asking_router())
        yield frame


async def test_a_frame_and_its_operators_become_peers_in_two_commands_each(one: OneFrame):
    for here in one.all:
        for there in one.all:
            if here is there:
                continue
            peer = await here.peer(there)
            assert (peer.status, peer.approval, peer.trouble) == ("active", "approved", None)
            assert peer.ledger_id == there.registry.settings.ledger_id
            assert [verdict for verdict in peer.card_verdicts if not verdict["ok"]] == []
            assert peer.peer_type == ("frame" if there is one.frame else "cloud_operator")


async def test_each_shows_the_verified_cards_of_the_others(one: OneFrame):
    for here in one.all:
        for there in one.all:
            ledger_id = there.registry.settings.ledger_id
            shown = await here.registry.get("/public/registry-card", params={"peer": ledger_id})
            assert shown.status_code == 200, shown.text
            assert shown.json()["source"] == ("local" if here is there else "peer")
            assert shown.json()["card"]["identity"]["registry_name"] == there.registry.settings.registry_name
        listed = (await here.registry.get("/public/topology")).json()
        assert {node["ledger_id"] for node in listed["nodes"]} == {
            registry.registry.settings.ledger_id for registry in one.all
        }


async def test_the_card_of_an_operator_verifies_as_one_of_the_own_frame(one: OneFrame):
    north = one.operators[0].registry
    text = (await north.http.get("/.well-known/registry-card.json")).text
    keys = read_keys((await north.http.get("/.well-known/registry-jwks.json")).json())
    verdict = verify_registry_card(text, keys, reader=CardReader(FRAME, FRAME, is_of_own_frame=True))
    assert verdict.signed is not None, verdict.code
    assert verdict.signed["identity.tier"] == "cloud-operator"
    assert verdict.signed["identity.spiffe_id"] == f"spiffe://{FRAME}/registry/north"
    assert verdict.signed["identity.did_namespace"] == verdict.signed["identity.trust_domain"] == FRAME
    assert json.loads(text)["capabilities"]["minting_capability"] == "disabled"
    assert verify_registry_card(text, keys, reader=CardReader(FRAME, FRAME)).code == "did_namespace_self"


async def test_ledger_log_and_attestations_of_an_operator_bear_its_ledger_id(one: OneFrame):
    north, south = [operator.registry for operator in one.operators]
    for registry in (one.frame.registry, north):
        await auditor.run_cycle(registry.runtime)
    ledger_id = north.settings.ledger_id
    assert ledger_id == f"{FRAME}/registry/north"
    keys = read_auditor_keys((await north.http.get("/.well-known/auditor-jwks.json")).json())
    answer = await north.http.get("/api/auditor/attestations")
    chain = read_export(answer.text)[0][::-1]
    assert {record["frame"] for record in chain} == {ledger_id}
    assert verify_attestations(chain, keys, exact=True).code == "verified"
    checkpoint = (await north.http.get("/log/checkpoint")).text
    public = [key.public_key for key in keys]
    assert log.read_checkpoint(checkpoint, public, f"{ledger_id}/log").size > 0
    with pytest.raises(log.BadCheckpoint):
        log.read_checkpoint(checkpoint, public, f"{FRAME}/log")
    assert (await north.supply())["frame"] == ledger_id
    assert (await one.frame.registry.supply())["frame"] == FRAME
    networks = {
        json.dumps((await registry.http.get("/x402/supported")).json()["kinds"], sort_keys=True)
        for registry in (one.frame.registry, north, south)
    }
    assert len(networks) == 3


async def test_peer_routes_accept_only_the_exact_identity_of_the_operators_card(one: OneFrame):
    frame, (north, south) = one.frame, one.operators
    for asked in (frame, south):
        answer = await north.call(asked, "GET", ASKING)
        assert (answer.status, json.loads(answer.body)["ledger_id"]) == (200, f"{FRAME}/registry/north")
    operator = await LOCAL_IDENTITY.of(north.registry.runtime).svid("operator")
    assert operator.spiffe_id == f"spiffe://{FRAME}/operator/north"
    before = (await frame.refused(north)).get("wrong_identity", 0)
    assert await status_of(operator, frame) == 403
    assert await status_of(certified(frame, "/agent/did-hansa-x"), frame) in {401, 403}
    assert await status_of(certified(frame, "/registry/stranger"), frame) == 403
    assert await frame.refused(north) == {"wrong_identity": before + 1}


async def status_of(svid: Svid, asked: Neighbour) -> int | None:
    """Return the status of a route for peers with this certificate; None where there is no connection."""
    context = ssl.create_default_context(cadata=svid.bundle_pem)
    # A frame certifies the SPIFFE id of an operator and no host name.
    context.check_hostname = False
    show_certificate(context, svid)
    async with httpx2.AsyncClient(
        base_url=asked.federation_url, verify=context, trust_env=False, timeout=30
    ) as http:
        try:
            return (await http.get(ASKING)).status_code
        except httpx2.TransportError:
            return None


async def test_an_operator_is_judged_by_the_roots_of_its_frame_whatever_it_publishes(one: OneFrame):
    roots = await LOCAL_IDENTITY.of(one.frame.registry.runtime).roots_pem()
    for here in one.all:
        assert (await here.registry.http.get("/.well-known/spiffe-bundle.json")).status_code == 200
        for there in one.all:
            if here is not there:
                assert (await here.peer(there)).bundle.pem == roots


async def test_an_operator_issues_no_certificates(one: OneFrame):
    north = one.operators[0].registry
    assert north.runtime.authority is None
    agent = await north.agent()
    answer = await north.post("/agent/enable-mtls", json={}, headers=agent.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "IDENTITY_ISSUER_MISSING")


async def test_an_operator_issues_no_units_and_its_audit_holds(one: OneFrame):
    north = one.operators[0].registry
    await auditor.run_cycle(north.runtime)
    supply = await north.supply()
    figures = ("status", "delta", "tokens_issued", "tokens_destroyed", "total_circulating")
    assert [supply[name] for name in figures] == ["OK", "0", "0", "0", "0"]
    book = ledger.Book.of(north.settings)
    with pytest.raises(ledger.IssuanceRefused, match="An operator registry issues no units; its frame does"):
        await north.database.transaction(
            lambda tx: ledger.mint(tx, amount=Minor(1), ref="own", amount_max=Minor(1), book=book)
        )
    admin = await north.administrator("admin_treasury")
    body = {"baseline": "5", "ref": "Because."}
    answer = await north.post("/admin/set-native-baseline", json=body, headers=admin.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "BASELINE_REFUSED")
    assert (await north.supply())["tokens_issued"] == "0"
    agent = await north.agent()
    assert (agent.created["initial_funding_status"], await agent.balance()) == ("disabled", "0")


class Apart:
    """A frame and an operator that have not met, in one process each."""

    def __init__(self, one: OneFrame) -> None:
        self.frame, self.operator = one.frame, one.operators[0]

    @property
    def registry(self) -> TestRegistry:
        return self.operator.registry


@pytest.fixture
async def apart(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Apart]:
    async with frame_with_operators(database_farm, tmp_path, "north", joined=False) as one:
        yield Apart(one)


async def test_an_operator_takes_no_connection_and_publishes_no_roots_before_its_frame_has_certified_it(
    apart: Apart,
):
    answer = await apart.registry.http.get("/.well-known/spiffe-bundle.json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "OPERATOR_NOT_ENROLLED")
    stranger = certified(apart.frame, "/registry/stranger")
    assert await status_of(stranger, apart.operator) is None
    with pytest.raises(federation.IdentityMissing):
        await federation.invite(apart.registry.runtime, None, timedelta(days=1))
    await enrol(apart.frame, apart.operator)
    assert await status_of(stranger, apart.operator) == 404
    # Two certificates of seven days, which a second acceptance of the same invitation replaces by others.
    text = await invitation_of(apart.frame, "north")
    runtime = apart.registry.runtime
    first = await LOCAL_IDENTITY.of(runtime).svid()
    assert timedelta(days=6) < first.expires_at - datetime.now(UTC) <= timedelta(days=7)
    for _ in range(2):
        accepting = federation.accept(runtime, None, text, 10**12)
        accepted = await following(apart.frame, apart.operator, accepting)
        assert (accepted.peer.status, accepted.peer.peer_type) == ("active", "frame")
    assert len(await apart.registry.database.read(federation.peers)) == 1


async def test_a_frame_renews_the_certificates_of_a_paused_operator_and_not_those_of_a_removed_one(
    apart: Apart,
):
    await enrol(apart.frame, apart.operator)
    frame, runtime = apart.frame.registry, apart.registry.runtime

    async def is_renewed() -> bool:
        await apart.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE federation_identity SET begins_at = begins_at - interval '4 days',"
                " expires_at = expires_at - interval '4 days'"
            )
        )
        before = await local_identity(runtime).svid()
        await renew_certificates(runtime)
        return await local_identity(runtime).svid() != before

    assert await is_renewed()
    await frame.database.transaction(lambda tx: federation.pause_peer(tx, None, "north"))
    assert await is_renewed()
    await frame.database.transaction(
        lambda tx: federation.remove_peer(tx, None, frame.runtime, "north", abandon=False)
    )
    assert not await is_renewed()
