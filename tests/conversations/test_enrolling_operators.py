"""Specification 6 S and W 4: admission of operators to a frame, refused requests, and renewal of certificates."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from hansa.foundation.plumbing.outgoing import OutgoingTimeout, show_certificate
from hansa.rooms import federation
from hansa.rooms.federation import LOCAL_IDENTITY, IdentityMissing
from hansa.rooms.federation.identity import local, local_identity
from hansa.rooms.federation.identity.requests import new_request
from hansa.rooms.federation.operators import renew_certificates
from hansa.rooms.federation.peers import READ_A_PEER
from hansa_verify import decoded, read_json
from tests.other_registry import OtherRegistry, let_reach
from tests.peer_administrator import PeerAdministrator, peer_administrator
from tests.registries_of_one_frame import OtherFrame, OtherOperator, new_key
from tests.registry import StartRegistry, TestRegistry, another_process, at_once
from tests.running_jobs import run_due

INVITATIONS = "/admin/federation/invitations"
OWN_DOMAIN = "hansa.local"


@pytest.fixture
async def frame(start_registry: StartRegistry) -> PeerAdministrator:
    registry = await start_registry(federation_base_url="https://registry.example.com:8443")
    return await peer_administrator(registry)


@pytest.fixture
async def operator(start_registry: StartRegistry) -> PeerAdministrator:
    registry = await start_registry(
        registry_name="north",
        registry_tier="cloud-operator",
        federation_base_url="https://north.example.com:8443",
    )
    return await peer_administrator(registry)


async def invite(frame: PeerAdministrator, name: str | None = "north") -> str:
    """The id of a new invitation."""
    body = {} if name is None else {"operator": name}
    text = (await frame.post(INVITATIONS, body, 201))["invitation"]
    payload = read_json(decoded(text.split(".")[1]))
    assert payload.get("operator") == name
    return payload["jti"]


async def redeem(frame: PeerAdministrator, acceptance: str) -> Any:
    return await frame.registry.post("/federation/invitations/redeem", json={"acceptance": acceptance})


async def accept(operator: PeerAdministrator, invitation: str, status: int = 201) -> dict[str, Any]:
    return await operator.post(f"{INVITATIONS}/accept", {"invitation": invitation}, status)


async def test_the_answer_has_a_certificate_for_each_request_and_a_repeat_gets_them_again(
    frame: PeerAdministrator,
):
    other = OtherOperator(frame.registry)
    let_reach(frame.registry.runtime, other)
    jti = await invite(frame)
    csrs = other.csrs()
    keys = [x509.load_pem_x509_csr(text.encode()).public_key() for text in csrs]
    for _ in range(2):
        answer = await redeem(frame, other.acceptance(jti, csrs))
        assert answer.status_code == 201, answer.text
        assert answer.json()["status"] == "inactive"
        leaves = [
            x509.load_pem_x509_certificate(one["certificate"].encode()) for one in answer.json()["svids"]
        ]
        assert [leaf.public_key() for leaf in leaves] == keys
        names = [
            leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value for leaf in leaves
        ]
        assert [[name.value for name in one] for one in names] == [
            [f"spiffe://{OWN_DOMAIN}/registry/north"],
            [f"spiffe://{OWN_DOMAIN}/operator/north"],
        ]
    (peer,) = await frame.peers()
    assert (peer["name"], peer["peer_type"], peer["approval"]) == ("north", "cloud_operator", "approved")
    other.served_by = other.bundle.pem
    await run_due(frame.registry.runtime, READ_A_PEER)
    assert (await frame.peer("north"))["ledger_id"] == f"{OWN_DOMAIN}/registry/north"


def signed_request(key: Any, *uris: str, hosts: Sequence[str] = ()) -> str:
    names = [*map(x509.UniformResourceIdentifier, uris), *map(x509.DNSName, hosts)]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(key, SHA256())
    return request.public_bytes(Encoding.PEM).decode()


def of_kind(kind: str, name: str = "north") -> str:
    return f"spiffe://{OWN_DOMAIN}/{kind}/{name}"


def bad_requests() -> dict[str, list[str]]:
    sound = new_request(of_kind("registry"), new_key())
    operator = of_kind("operator")
    forged = signed_request(new_key(), operator).splitlines()
    forged[-2] = forged[-2][::-1]
    return {
        "none": [],
        "one": [sound],
        "three": [sound, new_request(operator, new_key()), new_request(operator, new_key())],
        "twice the same": [sound, sound],
        "of another operator": [sound, new_request(of_kind("operator", "south"), new_key())],
        "of the frame itself": [sound, new_request(of_kind("registry", "hansa"), new_key())],
        "of an agent": [sound, new_request(of_kind("agent"), new_key())],
        "of another domain": [sound, new_request("spiffe://other.example/operator/north", new_key())],
        "two URIs": [sound, signed_request(new_key(), operator, of_kind("agent"))],
        "a host name": [sound, signed_request(new_key(), operator, hosts=["registry.example.com"])],
        "RSA": [sound, signed_request(rsa.generate_private_key(65537, 2048), operator)],
        "another curve": [sound, signed_request(ec.generate_private_key(ec.SECP384R1()), operator)],
        "forged": [sound, "\n".join(forged)],
        "no PEM": [sound, "x"],
        "a certificate": [sound, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"],
        "NUL": [sound, "\u0000"],
    }


async def test_requests_that_are_not_the_two_of_this_operator_are_refused_and_change_nothing(
    frame: PeerAdministrator,
):
    other = OtherOperator(frame.registry)
    let_reach(frame.registry.runtime, other)
    jti = await invite(frame)
    for which, csrs in bad_requests().items():
        answer = await redeem(frame, other.acceptance(jti, csrs))
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVITATION_REFUSED"), which
    assert await frame.peers() == []
    assert other.asked == []
    assert (await redeem(frame, other.acceptance(jti))).status_code == 201


async def test_an_invitation_for_an_operator_is_redeemed_by_the_one_that_it_names_alone(
    frame: PeerAdministrator,
):
    south, foreign = OtherOperator(frame.registry, "south"), OtherRegistry()
    let_reach(frame.registry.runtime, south, foreign)
    jti = await invite(frame)
    for acceptance in (
        south.acceptance(jti),
        south.acceptance(jti, south.csrs("north")),
        foreign.signed("acceptance", jti),
    ):
        answer = await redeem(frame, acceptance)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVITATION_REFUSED")
        assert "for the operator registry north" in answer.json()["detail"]
    plain = await invite(frame, None)
    for acceptance in (
        south.signed("acceptance", plain),
        south.acceptance(plain),
        foreign.signed("acceptance", plain, csrs=south.csrs()),
    ):
        assert (await redeem(frame, acceptance)).status_code == 422
    assert south.asked == foreign.asked == []
    assert await frame.peers() == []


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("ledger_mismatch", lambda one: one.settings.update(registry_tier="standalone")),
        ("currency_mismatch", lambda one: one.settings.update(settlement_currency="EUR")),
        ("roots_differ", lambda one: setattr(one, "bundle", OtherFrame(OWN_DOMAIN).bundle)),
    ],
)
async def test_a_registry_that_is_no_operator_of_this_frame_gets_no_certificates(
    frame: PeerAdministrator, reason: str, change: Any
):
    other = OtherOperator(frame.registry)
    change(other)
    let_reach(frame.registry.runtime, other)
    answer = await redeem(frame, other.acceptance(await invite(frame)))
    assert (answer.status_code, answer.json()["error"]["context"]) == (422, {"reason": reason})
    assert await frame.peers() == []


async def test_only_a_frame_invites_operators_and_only_by_names_that_they_can_have(
    frame: PeerAdministrator, start_registry: StartRegistry
):
    for name in ("hansa", ".", "..", "-a", "a.", "gateway", "a/b", "", "a" * 121, 1):
        refused = await frame.post(INVITATIONS, {"operator": name}, 422)
        assert refused["error"]["code"] in {"OPERATOR_NOT_INVITED", "PEER_NAME_REFUSED", "VALIDATION_ERROR"}
    operator = await peer_administrator(
        await start_registry(
            registry_name="north",
            registry_tier="cloud-operator",
            federation_base_url="https://n.example:8443",
        )
    )
    refused = await operator.post(INVITATIONS, {"operator": "south"}, 422)
    assert refused["error"]["code"] == "OPERATOR_NOT_INVITED"


async def test_an_invitation_for_another_operator_is_refused_before_anything_is_read(
    operator: PeerAdministrator,
):
    mainframe, foreign = OtherFrame(OWN_DOMAIN), OtherRegistry()
    let_reach(operator.registry.runtime, mainframe, foreign)
    for text in (
        mainframe.invitation("south"),
        foreign.signed("invitation", operator="north"),
    ):
        refused = await accept(operator, text, 422)
        assert "is for the operator registry" in refused["detail"]
    assert mainframe.asked == foreign.asked == []
    # The frame's own invitation without a name is for another frame.
    assert (await accept(operator, mainframe.signed("invitation"), 503))["error"]["code"] == (
        "OPERATOR_NOT_ENROLLED"
    )
    assert await operator.peers() == []


async def test_a_registry_that_is_no_operator_accepts_no_invitation_for_one(frame: PeerAdministrator):
    mainframe = OtherFrame(OWN_DOMAIN)
    let_reach(frame.registry.runtime, mainframe)
    refused = await accept(frame, mainframe.invitation("hansa"), 422)
    assert "REGISTRY_TIER" in refused["detail"]
    assert mainframe.asked == []


async def identity_of(registry: TestRegistry, kind: Any = "registry") -> Any:
    """The certificate as a process that has just begun shows it."""
    return await local_identity(registry.runtime).svid(kind)


async def enrolled(operator: PeerAdministrator) -> OtherFrame:
    mainframe = OtherFrame(OWN_DOMAIN)
    mainframe.has_added_us = True
    let_reach(operator.registry.runtime, mainframe)
    accepted = await accept(operator, mainframe.invitation("north"))
    assert (accepted["status"], accepted["peer_type"]) == ("active", "frame"), accepted
    return mainframe


async def test_after_a_lost_or_refused_answer_the_same_command_asks_for_the_same_keys(
    operator: PeerAdministrator,
):
    mainframe = OtherFrame(OWN_DOMAIN)
    let_reach(operator.registry.runtime, mainframe)
    text = mainframe.invitation("north")
    answered = mainframe.answer_to_body
    issued_to_another = OtherFrame(OWN_DOMAIN)

    def lost(*asked: Any) -> Any:
        answered(*asked)
        mainframe.is_reachable = False
        raise OutgoingTimeout

    def without_certificates(*asked: Any) -> Any:
        answer = answered(*asked)
        return type(answer)(201, {}, b'{"name": "north", "trust_domain": "hansa.local", "status": "active"}')

    for misbehaving, status in (
        (lost, 503),
        (without_certificates, 409),
        (issued_to_another.answer_to_body, 409),
    ):
        mainframe.is_reachable = True
        vars(mainframe)["answer_to_body"] = misbehaving
        await accept(operator, text, status)
        assert await operator.peers() == []
        with pytest.raises(IdentityMissing):
            await identity_of(operator.registry)
    del vars(mainframe)["answer_to_body"]
    assert (await accept(operator, text))["status"] == "active"
    asked = [*mainframe.requested, *issued_to_another.requested]
    # The last command asked twice: for its certificates, and whether it is reached.
    assert len(asked) == 5
    assert len({keys_of(csrs) for csrs in asked}) == 1
    svid = await identity_of(operator.registry)
    assert (svid.spiffe_id, svid.bundle_pem) == (
        f"spiffe://{OWN_DOMAIN}/registry/north",
        mainframe.authority.bundle_pem,
    )


def keys_of(csrs: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(
        x509.load_pem_x509_csr(text.encode()).public_key().public_numbers().x.to_bytes(32, "big")  # type: ignore[union-attr]
        for text in csrs
    )


async def test_acceptances_and_renewals_at_the_same_moment_leave_one_peer_and_certificates_of_their_keys(
    operator: PeerAdministrator,
):
    mainframe = OtherFrame(OWN_DOMAIN)
    let_reach(operator.registry.runtime, mainframe)
    text = mainframe.invitation("north")
    accepted = await at_once(*(accept(operator, text) for _ in range(4)))
    assert {peer["status"] for peer in accepted} == {"active"}
    assert len(await operator.peers()) == 1
    await let_pass(operator.registry, timedelta(days=4))
    processes = [operator.registry.runtime, another_process(operator.registry.runtime)]
    let_reach(processes[1], mainframe)
    before = await identity_of(operator.registry)
    await at_once(*(renew_certificates(process) for process in processes * 2))
    for kind in ("registry", "operator"):
        svid = await identity_of(operator.registry, kind)
        assert svid != before
        show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), svid)
    left = "SELECT count(*) FROM federation_identity WHERE sealed_requested_key IS NOT NULL"
    assert await operator.registry.database.query(lambda tx: tx.fetchval(left)) == 0


async def test_certificates_are_renewed_at_half_of_their_lifetime_with_other_keys(
    operator: PeerAdministrator,
):
    await enrolled(operator)
    registry = operator.registry
    kind = next(one for one in federation.ROOM.jobs if "certificates of an operator" in one.name)
    assert not await registry.database.query(kind.has_work)
    before = [await identity_of(registry, one) for one in ("registry", "operator")]
    await let_pass(registry, timedelta(days=3, hours=13))
    assert await registry.database.query(kind.has_work)
    await renew_certificates(registry.runtime)
    after = [await identity_of(registry, one) for one in ("registry", "operator")]
    assert [one.spiffe_id for one in after] == [one.spiffe_id for one in before]
    assert not {one.key_pem for one in after} & {one.key_pem for one in before}
    assert min(one.expires_at for one in after) > datetime.now(UTC) + timedelta(days=6)
    assert not await registry.database.query(kind.has_work)


async def test_without_an_answer_the_certificates_stay_and_the_same_keys_are_asked_for_again(
    operator: PeerAdministrator,
):
    mainframe = await enrolled(operator)
    registry = operator.registry
    await let_pass(registry, timedelta(days=4))
    before = await identity_of(registry)
    mainframe.requested.clear()
    for status, text in ((500, "{}"), (403, "{}"), (200, "[]"), (200, '{"svids": []}')):
        mainframe.answers["/api/v1/federation/identity/renewals"] = (status, text)
        await renew_certificates(registry.runtime)
        assert await identity_of(registry) == before
    mainframe.answers.clear()
    mainframe.is_reachable = False
    await renew_certificates(registry.runtime)
    mainframe.is_reachable = True
    requested = await registry.database.query(
        lambda tx: tx.fetch("SELECT sealed_requested_key FROM federation_identity ORDER BY kind")
    )
    await renew_certificates(registry.runtime)
    assert (await identity_of(registry)).key_pem != before.key_pem
    assert all(row["sealed_requested_key"] is not None for row in requested)
    assert len(mainframe.requested) == 1


async def test_an_operator_whose_certificates_ended_comes_back_by_a_new_invitation(
    operator: PeerAdministrator, monkeypatch: pytest.MonkeyPatch
):
    mainframe = await enrolled(operator)
    registry = operator.registry
    await let_pass(registry, timedelta(days=8))
    monkeypatch.setattr(local, "REMEMBERED_SECONDS", 0.0)
    with pytest.raises(IdentityMissing):
        await identity_of(registry)
    await renew_certificates(registry.runtime)
    await accept(operator, mainframe.invitation("north"))
    assert (await identity_of(registry)).spiffe_id == f"spiffe://{OWN_DOMAIN}/registry/north"
    assert len(await operator.peers()) == 1


async def test_new_roots_of_the_frame_become_those_of_its_operator(operator: PeerAdministrator):
    mainframe = await enrolled(operator)
    registry = operator.registry
    former = mainframe.authority
    mainframe.authority = OtherFrame(OWN_DOMAIN).authority
    mainframe.authority.bundle_pem += former.bundle_pem
    mainframe.bundle = mainframe.new_bundle(2)
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE plumbing_job SET due_at = now() WHERE kind = $1", READ_A_PEER.name)
    )
    await run_due(registry.runtime, READ_A_PEER)
    assert await LOCAL_IDENTITY.of(registry.runtime).roots_pem() == mainframe.bundle.pem
    published = (await registry.http.get("/.well-known/spiffe-bundle.json")).json()
    assert len(published["keys"]) == 2
    # What the next root signs counts from now on.
    await let_pass(registry, timedelta(days=4))
    before = await identity_of(registry)
    await renew_certificates(registry.runtime)
    assert (await identity_of(registry)).key_pem != before.key_pem


async def let_pass(registry: TestRegistry, time: timedelta) -> None:
    """Move the validity of the stored certificates back by `time`."""
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_identity SET begins_at = begins_at - $1::interval, expires_at = expires_at - $1::interval",
            time,
        )
    )


async def test_a_peer_keeps_its_ledger_id_whatever_tier_its_card_states_later(frame: PeerAdministrator):
    other = OtherRegistry()
    let_reach(frame.registry.runtime, other)
    text = (await frame.post(INVITATIONS, {}, 201))["invitation"]
    jti = read_json(decoded(text.split(".")[1]))["jti"]
    assert (await redeem(frame, other.signed("acceptance", jti))).status_code == 201
    await run_due(frame.registry.runtime, READ_A_PEER)
    assert (await frame.peer("other"))["ledger_id"] == other.trust_domain
    other.card_changes["tier"] = "cloud-operator"
    report = await frame.act("other", "sync")
    assert report["refused"] == {"ledger_mismatch": 1}
    assert (await frame.peer("other"))["ledger_id"] == other.trust_domain


async def test_a_peer_of_another_trust_domain_gets_no_certificates(frame: PeerAdministrator):
    other = OtherRegistry()
    let_reach(frame.registry.runtime, other)
    text = (await frame.post(INVITATIONS, {}, 201))["invitation"]
    jti = read_json(decoded(text.split(".")[1]))["jti"]
    assert (await redeem(frame, other.signed("acceptance", jti))).status_code == 201
    await run_due(frame.registry.runtime, READ_A_PEER)
    body = {"csrs": [new_request(of_kind(kind), new_key()) for kind in ("registry", "operator")]}
    answer = await frame.registry.post("/federation/identity/renewals", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "CLIENT_CERTIFICATE_REQUIRED")
