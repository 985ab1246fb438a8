"""Verify that an auditor committed to a balance, or to the total that a registry owes, in a Merkle-sum tree over all accounts.

A node has a sum (64 bits) and a hash. A leaf is SHA-256(0 || salt || sum || account), an inner node SHA-256(1 || left sum || left
hash || right sum || right hash); its sum is that of both, and never beyond 63 bits. The balance of an account is split over two
leaves at different places. The public level (the blocks) leads to the same root.

The document is the answer of `/teg/balance/proof`, or of `/api/auditor/liabilities`; each bears its attestation. Keys come from the
caller, as always.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from .canonical import NotBase64url, decoded
from .schema import form_error
from .steps import Step, Unreadable

UNIT = 10**8
SUM_MAX = 2**63 - 1
BLOCKS_MAX = 2**20
BLOCK_HEIGHT = 12
_SUM_BYTES = 8

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.([0-9]{0,7}[1-9]))?", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)

Node = tuple[int, bytes]


class NotAProof(Unreadable):
    """The document has no proof of this form; the message is one line."""


@dataclass(frozen=True)
class Liabilities:
    """Commitment of an attestation: the root, the sum of all accounts in minor units, and their number."""

    root: bytes
    total: int
    accounts: int

    @property
    def node(self) -> Node:
        """The sum and the hash to which a proof must lead."""
        return self.total, self.root


def read_liabilities(said: Mapping[str, Any]) -> Liabilities | None:
    """The commitment in the payload of an attestation, if it has one of this form."""
    found = said.get("liabilities")
    if not isinstance(found, Mapping) or type(found.get("accounts")) is not int or found["accounts"] < 0:
        return None
    try:
        return Liabilities(_hash(found.get("root")), read_amount(found.get("total")), found["accounts"])
    except NotAProof:
        return None


def read_amount(text: object) -> int:
    """Minor units of a decimal string in its one spelling. Raises: NotAProof."""
    found = _AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise NotAProof("an amount is a decimal string")
    minor = int(found[1]) * UNIT + int((found[2] or "").ljust(8, "0"))
    if minor > SUM_MAX:
        raise NotAProof("an amount is beyond 63 bits")
    return minor


def judge_balance(proof: Any, committed: Liabilities, balance: int | None = None) -> tuple[Step, ...]:
    """Return the steps from an account to the root. `balance` is the amount that the reader expects, in minor units. Never raises."""
    if error := form_error(proof, "balance_proof"):
        return (Step("proof", holds=False, said=error),)
    try:
        account, declared = proof["agent_did"].encode(), read_amount(proof["balance"])
        leaves = [_read_leaf(account, leaf) for leaf in proof["leaves"]]
    except (NotAProof, NotBase64url, UnicodeEncodeError) as failure:
        return (Step("proof", holds=False, said=str(failure)),)
    total = sum(leaf[0] for _, leaf, _ in leaves)
    expected = declared if balance is None else balance
    said = f"{proof['agent_did']} is counted with {_text(total)}, expected {_text(expected)}"
    are_apart = leaves[0][0] != leaves[1][0]
    return (
        Step("leaves", holds=are_apart, said="the two leaves are at different places"),
        *(_leads_to_root(*leaf, committed) for leaf in leaves),
        Step("balance", holds=total == declared == expected, said=said),
    )


def judge_blocks(document: Any, committed: Liabilities) -> tuple[Step, ...]:
    """Return the steps that judge whether the public blocks add up to the root and the total. Never raises."""
    listed = document.get("blocks") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or not 0 < len(listed) <= BLOCKS_MAX:
        return (Step("blocks", holds=False, said="blocks is a list of nodes"),)
    try:
        level = [_node(one) for one in listed]
        root = _root_over(level)
    except NotAProof as error:
        return (Step("blocks", holds=False, said=str(error)),)
    total = sum(amount for amount, _ in level)
    said = f"{len(level)} blocks add up to {_text(total)}, the attestation states {_text(committed.total)}"
    return (
        Step("sum", holds=total == committed.total, said=said),
        Step("root", holds=root == committed.node, said="the blocks lead to the root"),
    )


def _leads_to_root(index: int, leaf: Node, path: list[Node], committed: Liabilities) -> Step:
    name, node = f"leaf {index}", leaf
    if index >= 1 << len(path):
        return Step(name, holds=False, said="the place is outside of the tree")
    try:
        for height, sibling in enumerate(path):
            node = _parent(sibling, node) if index >> height & 1 else _parent(node, sibling)
    except NotAProof as error:
        return Step(name, holds=False, said=str(error))
    said = f"{len(path)} nodes lead to the root over {_text(node[0])}"
    return Step(name, holds=node == committed.node, said=said)


def _parent(left: Node, right: Node) -> Node:
    total = left[0] + right[0]
    if total > SUM_MAX:
        raise NotAProof("a sum is beyond 63 bits")
    parts = (_sum_bytes(left[0]), left[1], _sum_bytes(right[0]), right[1])
    return total, sha256(b"\x01" + b"".join(parts)).digest()


def _root_over(level: list[Node]) -> Node:
    free: Node = (0, sha256(b"\x02").digest())
    for _ in range(BLOCK_HEIGHT):
        free = _parent(free, free)
    while len(level) > 1:
        level = [*level, free] if len(level) % 2 else level
        level = [_parent(*level[place : place + 2]) for place in range(0, len(level), 2)]
        free = _parent(free, free)
    return level[0]


def _read_leaf(account: bytes, leaf: Mapping[str, Any]) -> tuple[int, Node, list[Node]]:
    amount, salt = read_amount(leaf["amount"]), decoded(leaf["salt"])
    node = amount, sha256(b"\x00" + salt + _sum_bytes(amount) + account).digest()
    return leaf["index"], node, [_node(one) for one in leaf["path"]]


def _node(value: Any) -> Node:
    if not isinstance(value, Mapping):
        raise NotAProof("a node is an object with amount and hash")
    return read_amount(value.get("amount")), _hash(value.get("hash"))


def _hash(value: object) -> bytes:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise NotAProof("a hash is 64 lowercase hex digits")
    return bytes.fromhex(value)


def _sum_bytes(amount: int) -> bytes:
    return amount.to_bytes(_SUM_BYTES, "big")


def _text(minor: int) -> str:
    whole, part = divmod(minor, UNIT)
    return f"{whole}.{part:08d}".rstrip("0").rstrip(".")
