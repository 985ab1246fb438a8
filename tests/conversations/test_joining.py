"""Specification 5 M, P and 6 W 4: two registries become peers by one invitation, in two commands."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hansa.doors.commands.peers import _reach_lines
from hansa.foundation.plumbing.outgoing import OutgoingTimeout
from hansa.rooms.federation import AcceptedOut
from hansa.rooms.federation.peers import READ_A_PEER
from hansa_verify import decoded, read_json
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.operation.registry_process import free_port
from tests.other_registry import OtherRegistry, let_reach
from tests.peer_administrator import PeerAdministrator, peer_administrator
from tests.registry import DatabaseFarm, StartRegistry
from tests.running_jobs import run_due

INVITATIONS = "/admin/federation/invitations"
REDEEM = "/federation/invitations/redeem"
REDEEM_AT = f"/api/v1{REDEEM}"


@pytest.fixture
async def strangers(database_farm: DatabaseFarm, tmp_path: Path) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path, joined=False) as pair:
        yield pair


@pytest.fixture
async def admin(start_registry: StartRegistry) -> PeerAdministrator:
    registry = await start_registry(federation_base_url="https://registry.example.com:8443")
    return await peer_administrator(registry)


@pytest.fixture
def other(admin: PeerAdministrator) -> OtherRegistry:
    one = OtherRegistry()
    let_reach(admin.registry.runtime, one)
    return one


def jti_of(invitation: str) -> str:
    return read_json(decoded(invitation.split(".")[1]))["jti"]


async def redeem(admin: PeerAdministrator, acceptance: str) -> Any:
    return await admin.registry.post(REDEEM, json={"acceptance": acceptance})


async def refusal(admin: PeerAdministrator, acceptance: str) -> tuple[int, str]:
    answer = await redeem(admin, acceptance)
    return answer.status_code, answer.json()["error"]["code"]


async def test_both_sides_are_peers_after_the_two_commands(strangers: Neighbours):
    a, b = [await peer_administrator(one.registry) for one in (strangers.a, strangers.b)]
    text = await a.invite()
    accepted = await with_trust_followed(
        strangers, b.post(f"{INVITATIONS}/accept", {"invitation": text}, 201)
    )
    assert (accepted["status"], accepted["reaches_us"], accepted["trouble_of_peer"]) == ("active", True, None)
    # The registry that invited has read the other one by then.
    shown = await a.peer("registry-b")
    assert (shown["status"], shown["approval"], shown["net_in_limit"]) == ("active", "approved", "10000")
    assert [verdict["step"] for verdict in shown["card_verdicts"] if not verdict["ok"]] == []
    for one, name in ((strangers.a, "registry-b"), (strangers.b, "registry-a")):
        federated = await one.registry.get("/public/eventstore-recent")
        (event,) = [e for e in federated.json()["events"] if e["event_type"] == "RegistryFederated"]
        assert event["data"]["registry_name"] == name


async def test_an_acceptance_states_that_the_registry_that_invited_cannot_reach_the_other_one(
    database_farm: DatabaseFarm, tmp_path: Path
):
    closed = f"127.0.0.1:{free_port()}"
    own = {"federation_base_url": f"https://{closed}"}
    async with neighbours(database_farm, tmp_path, joined=False, closed=closed, b=own) as pair:
        a, b = [await peer_administrator(one.registry) for one in (pair.a, pair.b)]
        body = {"invitation": await a.invite()}
        accepted = await with_trust_followed(pair, b.post(f"{INVITATIONS}/accept", body, 201))
        assert (accepted["status"], accepted["reaches_us"]) == ("active", False)
        shown = await a.peer("registry-b")
        assert (shown["status"], shown["trouble"]) == ("inactive", accepted["trouble_of_peer"])
        address = f"registry-a cannot reach this registry at https://{closed}"
        assert _reach_lines(AcceptedOut.model_validate(accepted), f"https://{closed}") == [
            f"  {address}: {shown['trouble']}. Open the port to it; it tries again by itself."
        ]


async def test_an_acceptance_at_a_registry_that_does_not_state_what_it_reaches_says_nothing_of_it(
    admin: PeerAdministrator, other: OtherRegistry
):
    redeemed = {"name": "hansa", "trust_domain": "hansa.local", "status": "inactive"}
    other.answers[REDEEM_AT] = (201, json.dumps(redeemed))
    accepted = await admin.post(f"{INVITATIONS}/accept", {"invitation": other.signed("invitation")}, 201)
    assert (accepted["reaches_us"], accepted["trouble_of_peer"]) == (None, None)


async def test_after_a_lost_answer_the_same_command_ends_the_joining(strangers: Neighbours):
    a, b = [await peer_administrator(one.registry) for one in (strangers.a, strangers.b)]
    text = await a.invite()
    outgoing = strangers.b.registry.runtime.outgoing
    posted = outgoing.post

    async def answer_lost(*args: Any, **more: Any) -> Any:
        await posted(*args, **more)
        raise OutgoingTimeout

    vars(outgoing)["post"] = answer_lost
    await b.post(f"{INVITATIONS}/accept", {"invitation": text}, 503)
    assert await b.peers() == []
    del vars(outgoing)["post"]
    again = await with_trust_followed(strangers, b.post(f"{INVITATIONS}/accept", {"invitation": text}, 201))
    assert again["status"] == "active"
    once_more = await with_trust_followed(
        strangers, b.post(f"{INVITATIONS}/accept", {"invitation": text}, 201)
    )
    assert once_more["peer_id"] == again["peer_id"]
    assert len(await a.peers()) == len(await b.peers()) == 1


async def test_an_invitation_states_who_invites_and_ends_when_it_was_asked_to(admin: PeerAdministrator):
    answer = await admin.post(INVITATIONS, {"expires_in": 60}, 201)
    payload = read_json(decoded(answer["invitation"].split(".")[1]))
    bundle = (await admin.registry.http.get("/.well-known/spiffe-bundle.json")).json()
    assert bundle["spiffe_sequence"] == 1
    assert payload["kind"] == "fed.peer-invitation.v1"
    assert payload["iss"] == {"trust_domain": "hansa.local", "registry_name": "hansa"}
    assert payload["federation_base_url"] == "https://registry.example.com:8443"
    assert payload["public_url"] == admin.registry.settings.base_url
    assert 58 <= payload["exp"] - payload["iat"] <= 60
    for expires_in in (59, 604_801, "60", 60.5, True):
        await admin.post(INVITATIONS, {"expires_in": expires_in}, 422)


async def test_open_invitations_are_listed_without_their_text_and_a_revoked_one_is_refused(
    admin: PeerAdministrator, other: OtherRegistry
):
    texts = [await admin.invite() for _ in range(2)]
    ids = [str(jti_of(text)) for text in reversed(texts)]
    listed = (await admin.registry.get(INVITATIONS, headers=admin.headers)).json()["items"]
    assert [one["id"] for one in listed[:2]] == ids
    assert {*listed[0]} == {"id", "operator", "created_at", "expires_at"}
    revoking = f"/api/v1{INVITATIONS}/{ids[0]}"
    revoked = await admin.registry.http.delete(revoking, headers=admin.headers)
    assert (revoked.status_code, revoked.json()) == (200, {"id": ids[0], "status": "revoked"})
    again = await admin.registry.http.delete(revoking, headers=admin.headers)
    assert (again.status_code, again.json()["error"]["code"]) == (404, "INVITATION_UNKNOWN")
    listed = (await admin.registry.get(INVITATIONS, headers=admin.headers)).json()["items"]
    assert [one["id"] for one in listed[:1]] == ids[1:]
    refused = await redeem(admin, other.signed("acceptance", jti_of(texts[1])))
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "INVITATION_UNKNOWN")
    acts = await admin.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT count(*) FROM plumbing_admin_act WHERE act = 'peer.revoke_invitation' AND subject = $1",
            ids[0],
        )
    )
    assert acts == 1


async def test_a_registry_that_no_peer_can_dial_invites_nobody(start_registry: StartRegistry):
    closed = await peer_administrator(await start_registry())
    refused = await closed.post(INVITATIONS, {}, 503)
    assert refused["error"]["code"] == "FEDERATION_OFF"


async def test_a_repeat_bears_the_same_key_address_and_bundle_or_is_refused(
    admin: PeerAdministrator, other: OtherRegistry
):
    jti = jti_of(await admin.invite())
    acceptance = other.signed("acceptance", jti)
    first = await redeem(admin, acceptance)
    assert (first.status_code, first.json()) == (
        201,
        {"name": "other", "trust_domain": other.trust_domain, "status": "inactive"},
    )
    assert (await redeem(admin, acceptance)).json() == first.json()
    other.rotate()
    assert await refusal(admin, other.signed("acceptance", jti)) == (409, "INVITATION_USED")
    other.bundle = other.new_bundle(2)
    assert await refusal(admin, other.signed("acceptance", jti)) == (409, "INVITATION_USED")
    thief = OtherRegistry("thief.example.com", "thief")
    let_reach(admin.registry.runtime, other, thief)
    assert await refusal(admin, thief.signed("acceptance", jti)) == (409, "INVITATION_USED")
    assert thief.asked == []
    assert [peer["name"] for peer in await admin.peers()] == ["other"]


async def test_of_acceptances_at_the_same_moment_one_redeems_the_invitation(
    admin: PeerAdministrator, other: OtherRegistry
):
    jti = jti_of(await admin.invite())
    rival = OtherRegistry("rival.example.com", "rival")
    let_reach(admin.registry.runtime, other, rival)
    texts = [one.signed("acceptance", jti) for one in (other, rival) for _ in range(4)]
    answers = await asyncio.gather(*(redeem(admin, text) for text in texts))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * 4 + [409] * 4
    assert len(await admin.peers()) == 1


async def test_nothing_is_read_from_the_address_of_an_acceptance_without_an_open_invitation(
    admin: PeerAdministrator, other: OtherRegistry
):
    assert await refusal(admin, other.signed("acceptance", uuid4())) == (404, "INVITATION_UNKNOWN")
    jti = jti_of(await admin.invite())
    await admin.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE federation_invitation SET created_at = created_at - interval '8 days',"
            " expires_at = expires_at - interval '8 days'"
        )
    )
    assert await refusal(admin, other.signed("acceptance", jti)) == (404, "INVITATION_UNKNOWN")
    assert other.asked == []


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("signature_invalid", lambda one: one.rotate()),
        ("bundle_mismatch", lambda one: setattr(one, "bundle", one.new_bundle(1))),
        ("bundle_unreadable", lambda one: one.answers.update({BUNDLE: (200, '{"keys": []}')})),
        ("keys_unreadable", lambda one: one.answers.update({CARD: (200, "{}"), KEYS: (200, "[")})),
        ("card_name_mismatch", lambda one: one.card_changes.update(registry_name="another")),
        (
            "address_mismatch",
            lambda one: one.card_changes.update(federation_base_url="https://x.example.com"),
        ),
    ],
)
async def test_an_acceptance_that_its_registry_does_not_bear_out_is_refused_and_changes_nothing(
    admin: PeerAdministrator, other: OtherRegistry, reason: str, change: Any
):
    jti = jti_of(await admin.invite())
    acceptance = other.signed("acceptance", jti)
    change(other)
    answer = await redeem(admin, acceptance)
    assert answer.status_code == 422, answer.text
    given = answer.json()["error"]["context"]["reason"]
    # A key set that cannot be read proves no signature.
    assert given == ("signature_invalid" if reason == "keys_unreadable" else reason)
    assert await admin.peers() == []
    fresh = OtherRegistry()
    let_reach(admin.registry.runtime, fresh)
    assert (await redeem(admin, fresh.signed("acceptance", jti))).status_code == 201


CARD, KEYS, BUNDLE = (
    f"/.well-known/{name}.json" for name in ("registry-card", "registry-jwks", "spiffe-bundle")
)


async def test_a_bare_infrastructure_label_is_no_name_of_a_peer(admin: PeerAdministrator):
    other = OtherRegistry(name="gateway")
    let_reach(admin.registry.runtime, other)
    jti = jti_of(await admin.invite())
    answer = await redeem(admin, other.signed("acceptance", jti))
    assert (answer.status_code, answer.json()["error"]["context"]) == (422, {"reason": "infra_label"})
    assert (
        'hansa_peer_refusals_total{reason="infra_label"}' in (await admin.registry.http.get("/metrics")).text
    )


async def test_what_is_no_signed_document_of_the_kind_is_refused(
    admin: PeerAdministrator, other: OtherRegistry
):
    jti = jti_of(await admin.invite())
    for text in (
        "x",
        "a.b.c",
        other.signed("invitation", jti),
        other.signed("acceptance", jti)[:-8] + "AAAAAAAA",
        await admin.invite(),
        "\u0000" * 3,
        other.signed("acceptance", jti, timedelta(seconds=-1)),
    ):
        assert (await redeem(admin, text)).status_code == 422, text
        answer = await admin.registry.post(
            f"{INVITATIONS}/accept", json={"invitation": text}, headers=admin.headers
        )
        assert answer.status_code in {422, 409}, answer.text
    assert await admin.peers() == []


@pytest.mark.parametrize("status", [404, 409, 422, 429, 500, 503])
async def test_an_acceptance_that_the_inviting_registry_refuses_leaves_no_peer(
    admin: PeerAdministrator, other: OtherRegistry, status: int
):
    other.answers[REDEEM_AT] = (status, '{"detail": "No."}')
    answer = await admin.post(
        f"{INVITATIONS}/accept",
        {"invitation": other.signed("invitation")},
        503 if status in {429, 500, 503} else 409,
    )
    assert "No." in answer["detail"]
    assert await admin.peers() == []


async def test_a_registry_is_no_peer_of_its_own_trust_domain_unless_it_is_an_operator_of_this_frame(
    admin: PeerAdministrator,
):
    own = await admin.post(f"{INVITATIONS}/accept", {"invitation": await admin.invite()}, 422)
    assert own["detail"] == (
        "This registry made the invitation itself; accept it at the registry that is invited."
    )
    rival = OtherRegistry(admin.registry.settings.trust_domain, "rival")
    let_reach(admin.registry.runtime, rival)
    assert await refusal(admin, rival.signed("acceptance", jti_of(await admin.invite()))) == (
        422,
        "INVITATION_REFUSED",
    )
    assert rival.asked == []
    assert await admin.peers() == []


async def test_a_peer_that_lost_its_root_comes_back_by_a_new_invitation(
    admin: PeerAdministrator, other: OtherRegistry
):
    for _ in range(2):
        redeemed = await redeem(admin, other.signed("acceptance", jti_of(await admin.invite())))
        assert redeemed.status_code == 201, redeemed.text
        await run_due(admin.registry.runtime, READ_A_PEER)
        (peer,) = await admin.peers()
        assert (peer["status"], peer["bundle"]["sha256"]) == ("active", other.bundle.thumbprint)
        # The authority is made anew: its sequence begins again.
        other.bundle = other.new_bundle(1)
        other.served_by = other.bundle.pem


async def with_trust_followed(pair: Neighbours, command: Any) -> Any:
    """The result of a command, while the listeners take up new roots as they do each second, and once after it."""

    async def follow_once() -> None:
        await pair.a.trust_followed()
        await pair.b.trust_followed()

    async def follow() -> None:
        while True:
            await follow_once()
            await asyncio.sleep(0.1)

    following = asyncio.create_task(follow())
    try:
        result = await command
    finally:
        following.cancel()
    await follow_once()
    return result
