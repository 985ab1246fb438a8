"""Places of the leaves of accounts, and the parts of balances that the leaves hold.

- Each account has two leaves at random places, one even and one odd. At a placement both are drawn without repetition; accounts that
  come later take leaves that are free, and a unique key on each keeps their places apart.
- The split of a balance and the salts follow from the secret of the placement; they change with it, once a day.
- A leaf beside another shows a part of a balance, of an account that the reader does not know.

A placement under way: every account gets new leaves, column by column, and blocks are listed by their members.
"""

import os
import secrets
from array import array
from collections.abc import Iterator
from hashlib import blake2b, sha256
from itertools import islice
from struct import Struct
from typing import NamedTuple

from .records import Holdings, PlacedHoldings
from .sum_tree import BLOCK_LEAVES, FREE_LEAF, LEAF, NODE, NODE_BYTES, leaf

SECRET_BYTES = 32
SALT_BYTES = 24
# What is drawn for an account: two salts, and the ratio of its parts in 64 bits.
_DRAWN = Struct(f">{SALT_BYTES}s{SALT_BYTES}sQ8x").unpack
_RATIO_BITS = 64
# At a placement 8 of 9 leaves are used; accounts that come later have the rest until it is nearly used up.
_LEAVES_FOR_ACCOUNT = (9, 4)
_USED_MAX = (97, 100)
_DRAWN_AT_ONCE = 4096
NO_MEMBER = 0


class Part(NamedTuple):
    """One leaf of an account: its salt, and the part of the balance that it holds in minor units."""

    salt: bytes
    amount: int


class Placed(NamedTuple):
    """The two places of an account, and its balance in minor units; `id` is its number in the ledger."""

    id: int
    account: str
    slot_a: int
    slot_b: int
    balance: int

    def leaves(self, secret: bytes) -> tuple[bytes, bytes]:
        """The nodes at its two places."""
        account = self.account.encode()
        (salt_a, amount_a), (salt_b, amount_b) = parts_of(secret, account, self.balance)
        return leaf(salt_a, amount_a, account), leaf(salt_b, amount_b, account)


def new_secret() -> bytes:
    """The secret of a placement."""
    return secrets.token_bytes(SECRET_BYTES)


def parts_of(secret: bytes, account: bytes, balance: int) -> tuple[Part, Part]:
    """How a balance is split over the two leaves of its account, whose name is given as UTF-8."""
    salt_a, salt_b, ratio = _DRAWN(blake2b(account, key=secret).digest())
    first = balance * ratio >> _RATIO_BITS
    return Part(salt_a, first), Part(salt_b, balance - first)


def free_leaves(accounts: int) -> bytearray:
    """The leaves of a tree for so many accounts, all free."""
    times, of = _LEAVES_FOR_ACCOUNT
    blocks = max(1, -(-accounts * times // (of * BLOCK_LEAVES)))
    return bytearray(FREE_LEAF * (blocks * BLOCK_LEAVES))


def has_room(leaves: bytearray, accounts: int) -> bool:
    """Return whether so many accounts find places without a long search."""
    times, of = _USED_MAX
    return accounts * 2 * NODE_BYTES * of <= len(leaves) * times


def random_places(pairs: int) -> Iterator[int]:
    """Random numbers below `pairs`, without end."""
    return (number % pairs for number in random_numbers())


def random_numbers() -> Iterator[int]:
    """Random numbers of 64 bits, without end."""
    while True:
        yield from array("Q", os.urandom(8 * _DRAWN_AT_ONCE))


def shuffled(pairs: int) -> Iterator[int]:
    """Every number below `pairs` once, in random order."""
    left, end = array("I", range(pairs)), pairs
    for number in random_numbers():
        if not end:
            return
        place = number % end
        end -= 1
        yield left[place]
        left[place] = left[end]


def free_place(leaves: bytearray, places: Iterator[int], parity: int) -> int:
    """The next random leaf of this parity that is free."""
    for number in places:
        index = 2 * number + parity
        if leaves.startswith(FREE_LEAF, index * NODE_BYTES):
            return index
    raise AssertionError("random places do not end")


def put(leaves: bytearray, secret: bytes, placed: PlacedHoldings) -> None:
    """Write the two leaves of each account: as `Placed.leaves`, without calls for each."""
    drawing = blake2b(key=secret).copy
    columns = zip(placed.names, placed.slots_a, placed.slots_b, placed.balances, strict=True)
    for name, slot_a, slot_b, balance in columns:
        drawn = drawing()
        drawn.update(name)
        salt_a, salt_b, ratio = _DRAWN(drawn.digest())
        first = balance * ratio >> _RATIO_BITS
        second = balance - first
        begin = slot_a * NODE_BYTES
        leaves[begin : begin + NODE_BYTES] = NODE(first, sha256(LEAF(salt_a, first) + name).digest())
        begin = slot_b * NODE_BYTES
        leaves[begin : begin + NODE_BYTES] = NODE(second, sha256(LEAF(salt_b, second) + name).digest())


class Placement:
    """The leaves, all free at first, and which account has each of them."""

    def __init__(self, accounts: int) -> None:
        self.secret = new_secret()
        self.leaves = free_leaves(accounts)
        count = len(self.leaves) // NODE_BYTES
        self._members = array("q", [NO_MEMBER]) * count
        self._even, self._odd = shuffled(count // 2), shuffled(count // 2)

    def place(self, some: Holdings) -> PlacedHoldings:
        """Give these accounts their places, and write their leaves."""
        count, members = len(some.ids), self._members
        slots_a = array("i", [2 * place for place in islice(self._even, count)])
        slots_b = array("i", [2 * place + 1 for place in islice(self._odd, count)])
        for number, slot_a, slot_b in zip(some.ids, slots_a, slots_b, strict=True):
            members[slot_a] = members[slot_b] = number
        placed = PlacedHoldings(some.ids, some.names, some.balances, slots_a, slots_b)
        put(self.leaves, self.secret, placed)
        return placed

    def blocks(self) -> "list[array[int]]":
        """The numbers of the accounts at the leaves of each block; `NO_MEMBER` where a leaf is free."""
        return [
            self._members[begin : begin + BLOCK_LEAVES]
            for begin in range(0, len(self._members), BLOCK_LEAVES)
        ]
