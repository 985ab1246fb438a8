"""The verifier of logs against published vectors, against the registry's own tree, and against thousands of changes."""

import random
from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values import merkle
from hansa.rooms.auditor.transparency import notes
from hansa_verify import log
from tests.properties.scale import by_tier, printed_seed

# The leaves and roots with which implementations of RFC 6962 are tested.
LEAVES = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
# The example of the signed note format.
NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
    "PeterNeumann",
    "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
)
SIZE = 40


def tree(size):
    """The nodes of a tree of so many leaves, and their hashes."""
    leaves = [merkle.leaf_hash(str(number).encode()) for number in range(size)]
    return merkle.appended(0, {}, leaves), leaves


def path_of(ranges, nodes):
    return [merkle.fold(leaves, nodes) for leaves in ranges]


def test_roots_are_those_of_the_published_vectors():
    hashes = [merkle.leaf_hash(bytes.fromhex(leaf)) for leaf in LEAVES]
    for size, root in enumerate(ROOTS, start=1):
        nodes = merkle.appended(0, {}, hashes[:size])
        assert log.root_of(hashes[:size]).hex() == merkle.fold((0, size), nodes).hex() == root
    assert log.root_of([]).hex() == merkle.EMPTY_ROOT.hex()


def test_the_published_note_is_verified():
    text, name, key, line = NOTE
    public_key = b64decode(key)[1:]
    assert log.VerifierKey(name, public_key, log.LOG_KEY).has_signed(text, line)
    assert not log.VerifierKey(name, public_key, log.LOG_KEY).has_signed(text + " ", line)
    assert not log.VerifierKey("Peter", public_key, log.LOG_KEY).has_signed(text, line)


def test_appending_in_any_pieces_makes_the_same_tree():
    rng = random.Random(printed_seed())
    whole, leaves = tree(SIZE)
    known, size = {}, 0
    while size < SIZE:
        step = rng.randrange(0, 7)
        frontier = {node: known[node] for node in merkle.nodes_of((0, size))}
        known |= merkle.appended(size, frontier, leaves[size : size + step])
        size = min(SIZE, size + step)
    assert known == whole


def test_every_proof_of_the_registry_is_accepted_and_no_other():
    rng = random.Random(printed_seed())
    nodes, leaves = tree(SIZE)
    roots = [merkle.fold((0, size), nodes) for size in range(SIZE + 1)]
    for size in range(1, SIZE + 1):
        for index in range(size):
            path = path_of(merkle.inclusion_path(index, size), nodes)
            assert log.proves_inclusion(index, size, leaves[index], path, roots[size])
            other = rng.randrange(size)
            assert other == index or not log.proves_inclusion(other, size, leaves[index], path, roots[size])
            assert not log.proves_inclusion(index, size, leaves[index], [*path, roots[0]], roots[size])
            if path:
                assert not log.proves_inclusion(index, size, leaves[index], path[:-1], roots[size])
        for old in range(size + 1):
            path = path_of(merkle.consistency_path(old, size), nodes)
            assert log.proves_consistency(old, size, roots[old], roots[size], path)
            assert not log.proves_consistency(old, size, roots[old], roots[size], [*path, roots[0]])
            if 0 < old < size:
                assert not log.proves_consistency(old, size, roots[old - 1], roots[size], path)
                assert not log.proves_consistency(old, size, roots[old], roots[size - 1], path)


def checkpoint():
    key = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
    text = notes.checkpoint_text("hansa.example/log", SIZE, merkle.fold((0, SIZE), tree(SIZE)[0]))
    return notes.signed_note(text, "hansa.example/log", [key]), key.public_key().public_bytes_raw()


def test_a_checkpoint_is_verified_by_its_key_alone():
    note, key = checkpoint()
    stranger = Ed25519PrivateKey.from_private_bytes(bytes([3]) * 32).public_key().public_bytes_raw()
    found = log.read_checkpoint(note, [stranger, key], "hansa.example/log")
    assert (found.origin, found.size) == ("hansa.example/log", SIZE)
    for keys, origin in (([stranger], None), ([], None), ([key], "other.example/log")):
        with pytest.raises(log.BadCheckpoint):
            log.read_checkpoint(note, keys, origin)


def test_no_changed_checkpoint_says_something_else():
    rng = random.Random(printed_seed())
    note, key = checkpoint()
    said = log.read_checkpoint(note, [key])
    for _ in range(by_tier(500, 5_000, 50_000)):
        place = rng.randrange(len(note))
        changed = note[:place] + rng.choice("09aZ+/\n \u2014") + note[place + rng.randrange(2) :]
        try:
            assert log.read_checkpoint(changed, [key]) == said
        except log.BadCheckpoint:
            continue


def test_tiles_have_the_paths_of_the_specification():
    assert log.tile_path(1234067, 256) == "x001/x234/067"
    assert log.tile_path(0, 5) == "000.p/5"
    with pytest.raises(log.BadCheckpoint):
        log.read_entries(b"\x00\x05four")
