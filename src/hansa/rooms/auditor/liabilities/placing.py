"""A placement under way: every account gets new leaves, column by column, and blocks are listed by their members."""

from array import array
from itertools import islice

from .placement import free_leaves, new_secret, put, shuffled
from .records import Holdings, PlacedHoldings
from .sum_tree import BLOCK_LEAVES, NODE_BYTES

NO_MEMBER = 0


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
