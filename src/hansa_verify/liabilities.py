"""Whether an account is in the Merkle-sum tree to which an auditor committed, with the whole of its balance.

A node has a sum (64 bits) and a hash. A leaf is SHA-256(0 || salt || sum || account), an inner node SHA-256(1 || left sum || left
hash || right sum || right hash); its sum is that of both, and never beyond 63 bits. The balance of an account is split over two
leaves at different places. What is public (the blocks) leads to the same root.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from .base64url import NotBase64url, decoded
from .card import Step

UNIT = 10**8
SUM_MAX = 2**63 - 1
SALT_BYTES = 24
LEAVES = 2
HEIGHT_MAX = 44
BLOCKS_MAX = 2**20
BLOCK_HEIGHT = 12
_SUM_BYTES = 8

_AMOUNT = re.compile(r"(0|[1-9][0-9]{0,11})(?:\.([0-9]{0,7}[1-9]))?", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)

Node = tuple[int, bytes]


class NotAProof(ValueError):
    """The document has no proof of this form; the message is one line."""


@dataclass(frozen=True)
class Liabilities:
    """What an attestation commits to: the root, the sum of all accounts in minor units, and how many there are."""

    root: bytes
    total: int
    accounts: int


def read_liabilities(said: Mapping[str, Any]) -> Liabilities | None:
    """The commitment in the payload of an attestation, if it has one of this form."""
    found = said.get("liabilities")
    if not isinstance(found, Mapping) or type(found.get("accounts")) is not int or found["accounts"] < 0:
        return None
    try:
        root, total = _hash(found.get("root")), read_amount(found.get("total"))
    except NotAProof:
        return None
    return Liabilities(root, total, found["accounts"])


def judge_balance(proof: Any, committed: Liabilities, balance: int | None = None) -> tuple[Step, ...]:
    """The steps that lead from an account to the root. `balance` is what the reader expects, in minor units. Never raises."""
    try:
        account, stated, leaves = _read_proof(proof)
    except NotAProof as trouble:
        return (Step("proof", holds=False, said=str(trouble)),)
    total = sum(amount for _, _, amount, _ in leaves)
    expected = stated if balance is None else balance
    said = f"{account} is counted with {_text(total)}, expected {_text(expected)}"
    return (
        Step("leaves", holds=leaves[0][0] != leaves[1][0], said="the two leaves are at different places"),
        *(_leads_to_root(account, leaf, committed) for leaf in leaves),
        Step("balance", holds=total == stated == expected, said=said),
    )


def read_amount(text: object) -> int:
    """Minor units of a decimal string in its one spelling. Raises: NotAProof."""
    found = _AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise NotAProof("an amount is a decimal string")
    minor = int(found[1]) * UNIT + int((found[2] or "").ljust(8, "0"))
    if minor > SUM_MAX:
        raise NotAProof("an amount is beyond 63 bits")
    return minor


def judge_blocks(document: Any, committed: Liabilities) -> tuple[Step, ...]:
    """Whether the public blocks add up to the root and the total. Never raises."""
    try:
        level = _read_blocks(document)
        total = sum(amount for amount, _ in level)
        root = _root_over(level)
    except NotAProof as trouble:
        return (Step("blocks", holds=False, said=str(trouble)),)
    said = f"{len(level)} blocks add up to {_text(total)}, the attestation states {_text(committed.total)}"
    return (
        Step("sum", holds=total == committed.total, said=said),
        Step("root", holds=root == (committed.total, committed.root), said="the blocks lead to the root"),
    )


def _leads_to_root(account: str, leaf: tuple[int, bytes, int, list[Node]], committed: Liabilities) -> Step:
    index, salt, amount, path = leaf
    name = f"leaf {index}"
    if index >= 1 << len(path):
        return Step(name, holds=False, said="the place is outside of the tree")
    total = amount.to_bytes(_SUM_BYTES, "big")
    node: Node = (amount, sha256(b"\x00" + salt + total + account.encode()).digest())
    try:
        for height, sibling in enumerate(path):
            node = _parent(sibling, node) if index >> height & 1 else _parent(node, sibling)
    except NotAProof as trouble:
        return Step(name, holds=False, said=str(trouble))
    holds = node == (committed.total, committed.root)
    return Step(name, holds=holds, said=f"{len(path)} nodes lead to the root over {_text(node[0])}")


def _parent(left: Node, right: Node) -> Node:
    total = left[0] + right[0]
    if total > SUM_MAX:
        raise NotAProof("a sum is beyond 63 bits")
    parts = (left[0].to_bytes(_SUM_BYTES, "big"), left[1], right[0].to_bytes(_SUM_BYTES, "big"), right[1])
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


def _read_proof(proof: Any) -> tuple[str, int, list[tuple[int, bytes, int, list[Node]]]]:
    if not isinstance(proof, Mapping) or type(proof.get("agent_did")) is not str:
        raise NotAProof("a balance proof is an object with agent_did, balance and leaves")
    leaves = proof.get("leaves")
    if not isinstance(leaves, list) or len(leaves) != LEAVES:
        raise NotAProof(f"a balance proof has {LEAVES} leaves")
    try:
        proof["agent_did"].encode()
    except UnicodeEncodeError:
        raise NotAProof("agent_did has half of a surrogate pair") from None
    return proof["agent_did"], read_amount(proof.get("balance")), [_leaf(one) for one in leaves]


def _read_blocks(document: Any) -> list[Node]:
    listed = document.get("blocks") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or not 0 < len(listed) <= BLOCKS_MAX:
        raise NotAProof("blocks is a list of nodes")
    return [_node(one) for one in listed]


def _leaf(value: Any) -> tuple[int, bytes, int, list[Node]]:
    if not isinstance(value, Mapping) or type(value.get("index")) is not int or value["index"] < 0:
        raise NotAProof("a leaf is an object with index, salt, amount and path")
    path = value.get("path")
    if not isinstance(path, list) or not 0 < len(path) <= HEIGHT_MAX:
        raise NotAProof(f"a path has 1 to {HEIGHT_MAX} nodes")
    try:
        salt = decoded(value.get("salt"))
    except NotBase64url as trouble:
        raise NotAProof(f"a salt: {trouble}") from None
    if len(salt) != SALT_BYTES:
        raise NotAProof(f"a salt has {SALT_BYTES} bytes")
    return value["index"], salt, read_amount(value.get("amount")), [_node(one) for one in path]


def _node(value: Any) -> Node:
    if not isinstance(value, Mapping):
        raise NotAProof("a node is an object with amount and hash")
    return read_amount(value.get("amount")), _hash(value.get("hash"))


def _hash(value: object) -> bytes:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise NotAProof("a hash is 64 lowercase hex digits")
    return bytes.fromhex(value)


def _text(minor: int) -> str:
    whole, part = divmod(minor, UNIT)
    return f"{whole}.{part:08d}".rstrip("0").rstrip(".")
