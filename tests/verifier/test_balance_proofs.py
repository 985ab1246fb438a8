"""The verifier of balance proofs against trees of the registry, and against changes of the proof: none is accepted."""

import json
import random
from array import array
from copy import deepcopy
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.money import format_amount
from hansa.rooms.auditor.attestations.rules import canonical_text
from hansa.rooms.auditor.liabilities import placement, proofs, schemas, sum_tree
from hansa.rooms.auditor.liabilities.placement import Placement
from hansa.rooms.auditor.liabilities.records import Holdings, PlacedHoldings
from hansa_verify import AuditorKey, encoded, verify_liabilities
from tests.properties.scale import by_tier, printed_seed

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
KEY = AuditorKey(sha256(PUBLIC).hexdigest()[:16], PUBLIC)
ACCOUNTS = 2500
MUTANTS = by_tier(600, 100_000, 200_000)


def attested(root: bytes, total: str, accounts: int) -> dict[str, Any]:
    """A record of a cycle that commits to this tree."""
    ts = "2026-01-31T12:00:00.000000+00:00"
    said = {
        "standard": "SA-1.0",
        "kind": "audit",
        "frame": "hansa.local",
        "ts": ts,
        "prev_hash": "0" * 64,
        "as_of_event_seq": 7,
        "liabilities": {"root": root.hex(), "total": total, "accounts": accounts},
    }
    payload = canonical_text(said)
    return {
        "id": 1,
        **{name: said[name] for name in ("frame", "ts", "kind", "prev_hash")},
        "payload": payload,
        "digest": sha256(payload.encode()).hexdigest(),
        "signature": encoded(PRIVATE.sign(payload.encode())),
        "kid": KEY.kid,
    }


class Tree:
    """A tree of the registry over accounts with random balances."""

    def __init__(self, draw: random.Random) -> None:
        self.secret = placement.new_secret()
        self.leaves = placement.free_leaves(ACCOUNTS)
        places = placement.random_places(len(self.leaves) // (2 * sum_tree.NODE_BYTES))
        self.accounts = []
        for number in range(ACCOUNTS):
            slots = [placement.free_place(self.leaves, places, parity) for parity in (0, 1)]
            one = placement.Placed(number, f"did:hansa:hansa.local:{number}", *slots, draw.randrange(10**12))
            sum_tree.write(self.leaves, dict(zip(slots, one.leaves(self.secret), strict=True)))
            self.accounts.append(one)
        self.levels = sum_tree.forest(self.leaves)

    @property
    def blocks(self) -> bytes:
        return bytes(self.levels[-1])

    def record(self) -> dict[str, Any]:
        root = sum_tree.root_of(self.blocks)
        total = format_amount(sum_tree.sum_of(root))
        return attested(sum_tree.hash_of(root), total, len(self.accounts))

    def path(self, slot: int) -> list[bytes]:
        block = slot >> sum_tree.BLOCK_HEIGHT
        width = sum_tree.BLOCK_LEAVES * sum_tree.NODE_BYTES
        below = sum_tree.path_to_block(
            self.leaves[block * width : (block + 1) * width], slot % sum_tree.BLOCK_LEAVES
        )
        return below + sum_tree.path_to_root(self.blocks, block)

    def proof(self, one: placement.Placed) -> dict[str, Any]:
        parts = placement.parts_of(self.secret, one.account.encode(), one.balance)
        leaves = [
            proofs.ProvedLeaf(slot, part, self.path(slot))
            for slot, part in zip((one.slot_a, one.slot_b), parts, strict=True)
        ]
        found = proofs.BalanceProof(one.account, one.balance, 7, leaves, None, None)
        return {**schemas.BalanceProofOut.of(found).model_dump(), "attestation": self.record()}

    def public(self) -> dict[str, Any]:
        found = proofs.PublicBlocks(self.blocks, 7, None, None)
        return {**schemas.LiabilitiesOut.of(found).model_dump(), "attestation": self.record()}


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(random.Random(7))


def test_every_account_of_a_tree_verifies_and_the_public_blocks_add_up(tree):
    for one in random.Random(8).sample(tree.accounts, 20):
        verdict = verify_liabilities(tree.proof(one), [KEY], balance=one.balance)
        assert verdict.code == "verified", verdict.steps
        assert verify_liabilities(tree.proof(one), [KEY], balance=one.balance + 1).code == "balance"
    assert verify_liabilities(tree.public(), [KEY]).code == "verified"
    total = sum(one.balance for one in tree.accounts)
    assert sum_tree.sum_of(sum_tree.root_of(tree.blocks)) == total


def test_leaves_written_for_many_accounts_at_once_are_those_of_each(tree):
    leaves = placement.free_leaves(ACCOUNTS)
    ids, names, slots_a, slots_b, balances = zip(*tree.accounts, strict=True)
    columns = array("q", ids), [name.encode() for name in names], array("q", balances)
    placement.put(leaves, tree.secret, PlacedHoldings(*columns, array("i", slots_a), array("i", slots_b)))
    assert leaves == tree.leaves


def test_a_placement_gives_each_account_two_leaves_of_its_own_and_lists_it_in_their_blocks():
    begun, count = Placement(ACCOUNTS), ACCOUNTS // 2
    width = sum_tree.BLOCK_LEAVES
    had = {}
    for first in (1, count + 1):
        ids = array("q", range(first, first + count))
        some = begun.place(Holdings(ids, [b"%d" % one for one in ids], ids))
        had |= {one: (a, b) for one, a, b in zip(ids, some.slots_a, some.slots_b, strict=True)}
    members = [one for block in begun.blocks() for one in block]
    assert {len(block) for block in begun.blocks()} == {width}
    assert all(a % 2 == 0 and b % 2 == 1 for a, b in had.values())
    assert {place: one for place, one in enumerate(members) if one} == {
        place: one for one, places in had.items() for place in places
    }
    assert len(members) - members.count(0) == 2 * len(had) == 2 * 2 * count


def test_a_changed_leaf_gives_the_tree_that_is_built_from_the_start(tree):
    levels = [bytearray(level) for level in tree.levels]
    one = tree.accounts[5]._replace(balance=12345)
    changed = dict(zip((one.slot_a, one.slot_b), one.leaves(tree.secret), strict=True))
    sum_tree.change(levels, changed)
    assert levels == sum_tree.forest(bytearray(levels[0]))
    assert levels != tree.levels


def edits(value: Any, path: tuple = ()) -> list[tuple]:
    """Return the places where a proof can be changed: each number, text and list of it. The id of a record is signed by the next one alone."""
    if path == ("attestation", "id"):
        return []
    if isinstance(value, dict):
        return [place for name in value for place in edits(value[name], (*path, name))]
    if isinstance(value, list):
        return [path, *(place for number, one in enumerate(value) for place in edits(one, (*path, number)))]
    return [path]


def changed(value: Any, draw: random.Random) -> Any:
    """Another value in the place of one of a proof."""
    if isinstance(value, list):
        # The two leaves of an account have no order.
        turned = [] if len(value) == 2 or value[::-1] == value else value[::-1]
        return draw.choice([value[1:], turned, [*value, value[-1]], None])
    if isinstance(value, int):
        return draw.choice(
            [value + 1, -value - 1, value ^ (1 << draw.randrange(12)), str(value), 2**70, True]
        )
    place = draw.randrange(len(value))
    other = chr((ord(value[place]) - 32 + draw.randrange(1, 90)) % 94 + 33)
    return draw.choice(
        [
            value[:place] + other + value[place + 1 :] if other != value[place] else value + "0",
            "-" + value,
            value + ".0",
            "18446744073.70955161",
            "\ud800",
            None,
        ]
    )


def test_no_changed_proof_is_accepted(tree):
    draw = random.Random(printed_seed())
    proof, public = tree.proof(tree.accounts[0]), tree.public()
    for number in range(MUTANTS):
        document = deepcopy(public if number % 4 == 0 else proof)
        signed = draw.random() < 0.1
        places = [place for place in edits(document) if (place[0] == "attestation") == signed]
        *path, last = draw.choice(places)
        holder: Any = document
        for step in path:
            holder = holder[step]
        before = holder[last]
        holder[last] = changed(before, draw)
        assert not verify_liabilities(document, [KEY]).is_valid, (path, last, before, holder[last])


def test_what_is_no_proof_is_refused_with_a_sentence(tree):
    proof = tree.proof(tree.accounts[0])
    twice = {**proof, "leaves": [proof["leaves"][0]] * 2}
    deep = {**proof, "leaves": [{**leaf, "path": leaf["path"] * 9} for leaf in proof["leaves"]]}
    bare = {**proof, "attestation": None}
    stranger = AuditorKey("0" * 16, PUBLIC)
    for document in (None, [], "x", {}, bare, twice, deep, {**proof, "leaves": {}}, {**proof, "blocks": []}):
        verdict = verify_liabilities(document, [KEY])
        assert not verdict.is_valid
        assert all(step.said for step in verdict.steps)
    assert verify_liabilities(proof, []).code == "attestation"
    assert verify_liabilities(proof, [stranger]).code == "attestation"
    assert json.loads(json.dumps(proof)) == proof
