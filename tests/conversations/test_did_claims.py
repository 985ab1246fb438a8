"""The specification on DIDs inside a trust domain (decisions 6 W 6): the frame serialises claims, a later one is refused."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.foundation.plumbing.keys.trust_bundle import bundle_of
from hansa.rooms import federation
from hansa.rooms.federation import NewPeer, VerifiedCard
from tests.hostile.credentials import peer_of
from tests.registry import StartRegistry, TestRegistry, at_once

FRAME = "frame.example"
ROUTE = "/federation/did-claims"
MOST = 25
"""How many DIDs an operator may claim."""


def digest(did: str) -> str:
    return sha256(did.encode()).hexdigest()


def new_digests(count: int) -> list[str]:
    return [digest(f"did:hansa:{FRAME}:{uuid4()}") for _ in range(count)]


class Operator:
    """An operator registry as its frame meets it: an active peer with a certificate of the frame's authority."""

    def __init__(self, frame: TestRegistry, name: str) -> None:
        self.frame, self.name = frame, name
        self.spiffe_id = f"spiffe://{FRAME}/registry/{name}"
        assert frame.runtime.authority is not None
        self.authority = frame.runtime.authority
        svid = self.authority.issue(self.spiffe_id, now=datetime.now(UTC), lifetime=timedelta(hours=1))
        self.headers = frame.forwarding(svid)

    async def joined(self) -> "Operator":
        now = datetime.now(UTC)
        card = VerifiedCard(
            spiffe_id=self.spiffe_id,
            ledger_id=f"{FRAME}/registry/{self.name}",
            registry_name=self.name,
            trust_domain=FRAME,
            did_namespace=FRAME,
            settlement_currency="AVT",
            federation_base_url=f"https://{self.name}.{FRAME}",
            text='{"signature": {"signed_canonical": []}}',
            etag="0" * 32,
            kid="k",
            signed_at=now,
            expires_at=now + timedelta(days=30),
            keys={"keys": []},
            verdicts=[],
        )
        bundle = bundle_of(FRAME, self.authority.bundle_pem, 1)
        new = NewPeer(f"https://{self.name}.{FRAME}", bundle, "approved", "cloud_operator", card=card)
        await self.frame.database.transaction(lambda tx: federation.add_peer(tx, new))
        return self

    async def claim(self, digests: Sequence[str], path: str = "") -> httpx2.Response:
        return await self.frame.post(ROUTE + path, json={"digests": list(digests)}, headers=self.headers)

    async def holders(self, digests: Sequence[str]) -> dict[str, str]:
        answer = await self.claim(digests, "/lookup")
        assert answer.status_code == 200, answer.text
        return {claim["digest"]: claim["registry"] for claim in answer.json()["claims"]}

    async def refused(self) -> dict[str, int]:
        peer = await self.frame.database.query(
            lambda tx: federation.peer_by_name(tx, f"{FRAME}/registry/{self.name}")
        )
        counted = await self.frame.database.query(lambda tx: federation.refusals_of(tx, [peer]))
        return counted[peer.id]


@pytest.fixture
async def frame(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(
        trust_domain=FRAME,
        registry_name="frame",
        trusted_proxies=["127.0.0.1"],
        relay_cards=False,
        operator_dids_max=MOST,
    )


@pytest.fixture
async def north(frame: TestRegistry) -> Operator:
    return await Operator(frame, "north").joined()


@pytest.fixture
async def south(frame: TestRegistry) -> Operator:
    return await Operator(frame, "south").joined()


def context_of(answer: httpx2.Response) -> Any:
    return answer.json()["error"]["context"]


async def test_a_did_of_another_is_refused_counted_against_its_author_and_freezes_nothing(
    north: Operator, south: Operator
):
    taken, free = new_digests(1), new_digests(1)
    assert (await north.claim(taken)).json() == {"held": 1}
    answer = await south.claim([*taken, *free])
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "DID_CLAIMED")
    assert context_of(answer) == {"digests": taken}
    assert await south.refused() == {"did_claimed_by_another": 1}
    # A refused request changes nothing: the other DID is still free.
    assert await north.holders([*taken, *free]) == {taken[0]: north.spiffe_id}
    assert (await south.claim(free)).status_code == 200
    assert (await north.refused(), await north.holders(free)) == ({}, {free[0]: south.spiffe_id})


async def test_repeating_a_claim_is_idempotent(north: Operator):
    digests = new_digests(3)
    for _ in range(2):
        assert (await north.claim([*digests, digests[0]])).json() == {"held": 3}
    assert set(await north.holders(digests)) == set(digests)


async def test_claims_of_one_did_at_the_same_moment_have_one_holder(north: Operator, south: Operator):
    shared = new_digests(20)
    answers = await at_once(
        *(one.claim(part) for one in (north, south) for part in (shared, list(reversed(shared))))
    )
    by_operator = [
        {answer.status_code for answer in answers[:2]},
        {answer.status_code for answer in answers[2:]},
    ]
    assert sorted(map(sorted, by_operator)) == [[200], [409]]
    assert len(set((await north.holders(shared)).values())) == 1


async def test_an_operator_claims_at_most_as_many_dids_as_the_frame_allows(north: Operator, south: Operator):
    digests = new_digests(MOST)
    assert (await north.claim(digests[:20])).json() == {"held": 20}
    # Two requests of which only one has room: five more, and what is held already does not count again.
    answers = await at_once(north.claim(digests), north.claim([*digests[:10], *new_digests(5)]))
    assert sorted(answer.status_code for answer in answers) == [200, 403]
    (refused,) = [answer.json()["error"] for answer in answers if answer.status_code == 403]
    assert (refused["code"], refused["context"]) == ("DID_QUOTA_REACHED", {"most": MOST})
    assert await north.refused() == {"did_quota_reached": 1}
    assert (await north.claim(digests[:20])).json() == {"held": 20}
    assert (await south.claim(new_digests(MOST))).json() == {"held": MOST}
    too_many = await south.claim([one := new_digests(1)[0]])
    assert too_many.status_code == 403
    assert await south.holders([one]) == {}


async def test_the_frame_holds_the_dids_of_its_own_agents(frame: TestRegistry, north: Operator):
    agent = await frame.agent()
    answer = await north.claim([digest(agent.did)])
    assert (answer.status_code, context_of(answer)) == (409, {"digests": [digest(agent.did)]})
    assert await north.holders([digest(agent.did)]) == {digest(agent.did): f"spiffe://{FRAME}/registry/frame"}


async def test_only_operator_registries_of_the_frame_claim(frame: TestRegistry):
    stranger = frame.forwarding(await peer_of(frame, "peer.example"))
    for path in ("", "/lookup"):
        body = {"digests": new_digests(1)}
        answer = await frame.post(ROUTE + path, json=body, headers=stranger)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "NOT_IN_THIS_FRAME")
        assert (await frame.post(ROUTE + path, json=body)).status_code == 401


@pytest.mark.parametrize("digests", [[], ["0" * 63], ["Z" * 64], ["a" * 64] * 501, "a" * 64, [7], None])
async def test_what_is_no_list_of_digests_is_refused(north: Operator, digests: Any):
    answer = await north.frame.post(ROUTE, json={"digests": digests}, headers=north.headers)
    assert answer.status_code == 422, answer.text


async def test_a_transfer_to_an_agent_that_an_operator_holds_is_sent_across(
    frame: TestRegistry, north: Operator
):
    payer, did = await frame.agent(), f"did:hansa:{FRAME}:{uuid4()}"
    body = {"receiver_agent_id": did, "amount": "1"}
    assert (await frame.post("/teg/transfer", json=body, headers=payer.headers)).status_code == 404
    crossing = {"receiver_did": did, "amount": "1"}
    answer = await frame.post("/teg/cross-registry-transfer", json=crossing, headers=payer.headers)
    assert answer.json()["error"]["code"] == "RECEIVER_IS_LOCAL"
    assert (await north.claim([digest(did)])).status_code == 200
    answer = await frame.post("/teg/cross-registry-transfer", json=crossing, headers=payer.headers)
    # The operator of this test has no card with a fee: the registry is known, and nothing crosses to it yet.
    assert answer.json()["error"]["code"] == "RECEIVER_REGISTRY_UNKNOWN"
