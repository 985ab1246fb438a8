"""Peers cosign each other's logs, and a log that shows two of them different trees is found, with both copies kept."""

from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values import merkle
from hansa.rooms import auditor
from hansa.rooms.auditor.transparency import notes
from hansa.rooms.auditor.witnessing import follow_peers
from hansa.rooms.auditor.witnessing.forks import Growth, Seen, continues, fork_at_one_size
from hansa_verify import LOG_KEY, VerifierKey
from tests.neighbours.crossing_scene import run
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm

ORIGIN = "forked.example/log"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@dataclass(frozen=True)
class Tree:
    """One of the trees of a log that forked: the first leaves are common, the salt begins after them."""

    salt: bytes
    common: int = 4
    leaves: int = 12

    @property
    def nodes(self) -> Any:
        hashes = [
            merkle.leaf_hash((b"" if number < self.common else self.salt) + bytes([number]))
            for number in range(self.leaves)
        ]
        return merkle.appended(0, {}, hashes)

    def root(self, size: int) -> bytes:
        return merkle.fold((0, size), self.nodes)

    def note(self, size: int) -> str:
        return notes.signed_note(notes.checkpoint_text(ORIGIN, size, self.root(size)), ORIGIN, [KEY])

    def proof(self, old: int, size: int) -> list[bytes]:
        return [merkle.fold(leaves, self.nodes) for leaves in merkle.consistency_path(old, size)]

    def submission(self, old: int, size: int) -> str:
        hashes = [b64encode(one).decode() for one in self.proof(old, size)]
        return "\n".join([f"old {old}", *hashes]) + "\n\n" + self.note(size)

    def seen(self, size: int) -> Seen:
        return Seen(size, self.root(size), self.note(size))

    def growth(self, old: int, size: int) -> Growth:
        return Growth(size, self.root(size), self.proof(old, size))


ONE, OTHER = Tree(b"one"), Tree(b"other")
WITNESSING = {"witnessed_logs": [VerifierKey(ORIGIN, KEY.public_key().public_bytes_raw(), LOG_KEY).text]}


@pytest.fixture(scope="module")
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    directory = tmp_path_factory.mktemp("forks")
    async with neighbours(database_farm, directory, a=WITNESSING, b=WITNESSING) as pair:
        yield pair


@pytest.fixture(autouse=True)
async def nothing_seen(pair: Neighbours) -> None:
    for one in (pair.a, pair.b):
        await run(one, "DELETE FROM auditor_witnessed_log")
        await run(one, "DELETE FROM auditor_log_fork")


async def shown(one: Neighbour, tree: Tree, old: int, size: int) -> int:
    """The log shows this registry a checkpoint of one of its trees."""
    answer = await one.registry.http.post("/witness/add-checkpoint", content=tree.submission(old, size))
    return answer.status_code


async def forks_at(one: Neighbour) -> list[dict[str, object]]:
    answer = await one.registry.http.get("/log/forks")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["forks"]
    return found


async def test_a_fork_shown_to_two_peers_is_found_in_the_next_cycle_and_both_copies_are_kept(
    pair: Neighbours,
):
    assert await shown(pair.a, ONE, 0, 8) == 200
    assert await shown(pair.b, OTHER, 0, 8) == 200
    for one, own, other in ((pair.a, ONE, OTHER), (pair.b, OTHER, ONE)):
        await follow_peers(one.registry.runtime)
        (fork,) = await forks_at(one)
        names = [one.trust_domain, "b.example" if one is pair.a else "a.example"]
        assert (fork["origin"], fork["kind"]) == (ORIGIN, "same_size")
        assert fork["copies"] == [
            {"witness": names[0], "checkpoint": own.note(8)},
            {"witness": names[1], "checkpoint": other.note(8)},
        ]
        await follow_peers(one.registry.runtime)
        assert len(await forks_at(one)) == 1
        page = await one.registry.http.get("/proofs", headers={"Accept": "text/html"})
        assert ORIGIN in page.text


async def test_of_two_peers_one_reads_in_a_minute_and_the_other_in_the_next_and_a_fork_is_found_in_either(
    pair: Neighbours,
):
    for one in (pair.a, pair.b):
        await follow_peers(one.registry.runtime)
    assert await shown(pair.a, ONE, 0, 8) == 200
    assert await shown(pair.b, OTHER, 0, 8) == 200
    found = []
    for minute in (100, 101):
        for one in (pair.a, pair.b):
            await follow_peers(one.registry.runtime, minute)
        found.append([len(await forks_at(one)) for one in (pair.a, pair.b)])
    assert found == [[1, 0], [1, 1]]


async def test_a_log_that_grows_and_shows_everybody_the_same_is_no_fork(pair: Neighbours):
    assert await shown(pair.a, ONE, 0, 8) == 200
    assert await shown(pair.b, ONE, 0, 6) == 200
    for one in (pair.a, pair.b):
        await follow_peers(one.registry.runtime)
        assert await forks_at(one) == []


async def test_a_second_tree_shown_to_one_registry_is_kept_as_well(pair: Neighbours):
    assert await shown(pair.a, ONE, 0, 8) == 200
    assert await shown(pair.a, OTHER, 8, 8) == 422
    (fork,) = await forks_at(pair.a)
    assert [copy["checkpoint"] for copy in fork["copies"]] == [ONE.note(8), OTHER.note(8)]  # type: ignore[attr-defined]


def test_of_two_sizes_each_has_to_be_the_beginning_of_what_the_log_shows_now():
    assert fork_at_one_size(ONE.seen(8), OTHER.seen(8))
    assert not fork_at_one_size(ONE.seen(4), OTHER.seen(4))
    assert continues(ONE.seen(6), ONE.growth(6, 10))
    assert continues(OTHER.seen(3), ONE.growth(3, 10))
    # Whichever tree the log answers with, it cannot lead there from the checkpoint of the other.
    for answered in (ONE, OTHER):
        assert not (
            continues(ONE.seen(8), answered.growth(8, 10))
            and continues(OTHER.seen(6), answered.growth(6, 10))
        )
    assert not continues(ONE.seen(10), ONE.growth(6, 8))


async def test_each_registry_asks_its_peers_to_cosign_and_states_the_quorum_as_text(pair: Neighbours):
    for one in (pair.a, pair.b):
        await one.registry.database.transaction(lambda tx: record_leaf(tx, "card", "1", bytes(32)))
        await auditor.run_cycle(one.registry.runtime)
        await follow_peers(one.registry.runtime)
    await auditor.ask_witnesses(pair.a.registry.runtime)
    listed = (await pair.a.registry.http.get("/log/witnesses")).json()["witnesses"]
    (witness,) = listed
    assert (witness["name"], witness["trouble"]) == ("b.example/witness", None)
    assert witness["size"] >= 1
    assert "b.example/witness" in (await pair.a.registry.http.get("/log/checkpoint")).text
    seen = await pair.b.registry.http.get("/witness/checkpoint", params={"origin": "a.example/log"})
    assert seen.text.startswith(f"a.example/log\n{witness['size']}\n")
    policy = (await pair.a.registry.http.get("/log/policy")).text.splitlines()
    assert policy[0].startswith("log a.example/log+")
    assert policy[1] == f"witness witness-1 {witness['key']} {pair.b.public_url}/witness"
    assert policy[2] == f"witness witness-1-ml-dsa-44 {witness['ml_dsa_44_key']} {pair.b.public_url}/witness"
    assert policy[3:] == [
        "group either-1 any witness-1 witness-1-ml-dsa-44", "group witnesses 1 either-1", "quorum witnesses"
    ]  # fmt: skip
    assert witness["cosigned_with"] == ["Ed25519", "ML-DSA-44"]


async def test_without_witnesses_the_policy_demands_none(registry):
    policy = (await registry.http.get("/log/policy")).text.splitlines()
    assert policy[-1] == "quorum none"
    unknown = await registry.http.get("/witness/checkpoint", params={"origin": "nobody.example/log"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "NOTHING_COSIGNED")
