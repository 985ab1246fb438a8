"""Balance proofs that are judged as of a time: a tree of two accounts with two leaves each; the auditor's key is rotated after the fourth attestation."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa_verify import LOG_KEY, VerifierKey, canonical_json, encoded
from hansa_verify.log import leaf_hash, root_of
from tests.verifier.past_signing import (
    ACCOUNT,
    MINUTE,
    NEW,
    OLD,
    OTHER_ACCOUNT,
    START,
    STRANGER,
    jwk,
    point,
    vector,
)
from tests.verifier.served import Vector

ORIGIN = "hansa.local/log"
UNIT = 10**8
Node = tuple[int, bytes]


class _Tree:
    def __init__(self, *balances: tuple[str, int]) -> None:
        self.accounts = balances
        self.leaves: list[tuple[str, int, bytes, Node]] = []
        for place in range(2):
            for number, (account, balance) in enumerate(balances):
                amount = balance // 3 if place == 0 else balance - balance // 3
                salt = sha256(bytes([place, number])).digest()[:24]
                node = amount, sha256(b"\x00" + salt + amount.to_bytes(8) + account.encode()).digest()
                self.leaves.append((account, amount, salt, node))
        nodes = [leaf[3] for leaf in self.leaves]
        self.inner = _parent(nodes[0], nodes[1]), _parent(nodes[2], nodes[3])
        self.root = _parent(*self.inner)

    def commitment(self) -> dict[str, Any]:
        return {"root": self.root[1].hex(), "total": _amount(self.root[0]), "accounts": len(self.accounts)}

    def proof(self, account: str, seq: int, record: dict[str, Any]) -> dict[str, Any]:
        leaves = []
        for index, (owner, amount, salt, _) in enumerate(self.leaves):
            if owner == account:
                siblings = [self.leaves[index ^ 1][3], self.inner[1 - index // 2]]
                path = [{"amount": _amount(one), "hash": hashed.hex()} for one, hashed in siblings]
                leaves.append(
                    {"index": index, "salt": encoded(salt), "amount": _amount(amount), "path": path}
                )
        balance = _amount(dict(self.accounts)[account])
        return {
            "agent_did": account,
            "balance": balance,
            "as_of_event_seq": seq,
            "leaves": leaves,
            "attestation": record,
        }


def _parent(left: Node, right: Node) -> Node:
    parts = left[0].to_bytes(8) + left[1] + right[0].to_bytes(8) + right[1]
    return left[0] + right[0], sha256(b"\x01" + parts).digest()


def _amount(minor: int) -> str:
    whole, part = divmod(minor, UNIT)
    return f"{whole}.{part:08d}".rstrip("0").rstrip(".")


A, B, C = (
    _Tree((ACCOUNT, minor), (OTHER_ACCOUNT, 50 * UNIT)) for minor in (12 * UNIT + 1, 7 * UNIT, 1234567890)
)
TREES: tuple[_Tree | None, ...] = (A, A, None, B, B, C, C)
ROTATED_AFTER = 4


def _kid(key: Ed25519PrivateKey) -> str:
    return sha256(point(key)).hexdigest()[:16]


AUDITOR_KEYS = {
    "keys": [
        jwk(_kid(NEW), NEW),
        jwk(_kid(OLD), OLD, retired_at_id=ROTATED_AFTER, retired_at_size=ROTATED_AFTER),
    ]
}


def _record(
    number: int, tree: _Tree | None, before: str, key: Ed25519PrivateKey, ts: datetime | None = None
) -> dict[str, Any]:
    said = {
        "standard": "SA-1.0",
        "kind": "audit",
        "frame": "hansa.local",
        "ts": (ts or START + number * MINUTE).isoformat(timespec="microseconds"),
        "prev_hash": before,
        "as_of_event_seq": 100 + number,
        "liabilities": tree and tree.commitment(),
    }
    payload = canonical_json(said).decode()
    envelope = {name: said[name] for name in ("frame", "ts", "kind", "prev_hash")}
    digest = sha256(payload.encode()).hexdigest()
    signature = encoded(key.sign(payload.encode()))
    return {
        "id": number,
        **envelope,
        "payload": payload,
        "digest": digest,
        "signature": signature,
        "kid": _kid(key),
    }


def _chain(trees: Sequence[_Tree | None], begun: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    records = list(begun)
    for number, tree in enumerate(trees[len(records) :], start=len(records) + 1):
        key = OLD if number <= ROTATED_AFTER else NEW
        records.append(_record(number, tree, records[-1]["digest"] if records else "0" * 64, key))
    return records


RECORDS = _chain(TREES)
REWRITTEN = _chain([*TREES[:3], C, C, C, C], RECORDS[:3])


def _entry(record: dict[str, Any]) -> str:
    at = datetime.fromisoformat(record["ts"]) + timedelta(seconds=1)
    entry = {
        "v": 1,
        "kind": "attestation",
        "id": str(record["id"]),
        "sha256": record["digest"],
        "at": at.isoformat(timespec="microseconds"),
    }
    return canonical_json(entry).decode()


def _note(records: Sequence[dict[str, Any]], key: Ed25519PrivateKey) -> str:
    root = root_of([leaf_hash(_entry(record).encode()) for record in records])
    text = f"{ORIGIN}\n{len(records)}\n{b64encode(root).decode()}\n"
    signature = VerifierKey(ORIGIN, point(key), LOG_KEY).key_id + key.sign(text.encode())
    return f"{text}\n\u2014 {ORIGIN} {b64encode(signature).decode()}\n"


def _log_proof(records: Sequence[dict[str, Any]], number: int, key: Ed25519PrivateKey) -> dict[str, Any]:
    leaves = [leaf_hash(_entry(record).encode()) for record in records]
    hashes = [b64encode(one).decode() for one in _path(number - 1, leaves)]
    entry, note = _entry(records[number - 1]), _note(records, key)
    return {"index": number - 1, "size": len(records), "hashes": hashes, "entry": entry, "checkpoint": note}


def _path(index: int, leaves: list[bytes]) -> list[bytes]:
    """The path of RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if index < half:
        return [*_path(index, leaves[:half]), root_of(leaves[half:])]
    return [*_path(index - half, leaves[half:]), root_of(leaves[:half])]


def balances() -> Iterator[Vector]:
    proof_a, proof_b = A.proof(ACCOUNT, 101, RECORDS[0]), B.proof(ACCOUNT, 105, RECORDS[4])
    early_b = B.proof(ACCOUNT, 104, RECORDS[3])
    blocks = {
        "as_of_event_seq": 101,
        "blocks": [{"amount": _amount(A.root[0]), "hash": A.root[1].hex()}],
        "attestation": RECORDS[0],
    }
    backdated = B.proof(ACCOUNT, 103, _record(3, B, RECORDS[1]["digest"], NEW))
    after_retirement = C.proof(ACCOUNT, 106, _record(6, C, RECORDS[4]["digest"], OLD))
    in_log, in_late_log = _log_proof(RECORDS[:4], 1, OLD), _log_proof(RECORDS, 1, NEW)
    cut = [*RECORDS[:4], *RECORDS[5:]]
    cases: Sequence[tuple[str, dict[str, Any], float, list[Any], str, dict[str, Any]]] = (
        ("at_its_attestation", proof_a, 1, RECORDS, "verified", {}),
        ("until_the_next_tree", proof_a, 3.99, RECORDS, "verified", {}),
        ("newest_attestation_first", proof_a, 3, RECORDS[::-1], "verified", {}),
        ("by_the_records_that_decide_alone", proof_a, 1.5, RECORDS[:2], "verified", {}),
        ("expected_balance", proof_a, 2, RECORDS, "verified", {"balance": "12.00000001"}),
        ("all_that_is_owed", blocks, 2, RECORDS, "verified", {}),
        ("of_the_new_key", proof_b, 5.5, RECORDS, "verified", {}),
        ("of_the_old_key_after_its_retirement", early_b, 5.5, RECORDS, "verified", {}),
        ("in_the_log", proof_a, 3, RECORDS, "verified", {"log_proof": in_log}),
        ("in_the_log_that_was_kept", proof_a, 3, RECORDS, "verified", {"log_proof": in_log, "checkpoint": _note(RECORDS[:4], OLD)}),
        ("in_a_later_log", proof_a, 3, RECORDS, "verified", {"log_proof": in_late_log}),
        ("another_balance_expected", proof_a, 2, RECORDS, "balance", {"balance": "12"}),
        ("before_its_attestation", proof_a, 0.99, RECORDS, "not_yet_published", {}),
        ("in_the_next_tree", proof_a, 4, RECORDS, "superseded", {}),
        ("long_after", proof_a, 6, RECORDS, "superseded", {}),
        ("attestations_end_before", proof_b, 5.5, RECORDS[:5], "unverified", {}),
        ("attestations_are_missing", early_b, 5.5, cut, "unverified", {}),
        ("attestations_begin_later", proof_a, 2, RECORDS[1:], "unverified", {}),
        ("without_attestations", proof_a, 2, [], "unverified", {}),
        ("before_the_key_existed", backdated, 3, RECORDS, "key_not_yet_valid", {}),
        ("after_the_key_was_retired", after_retirement, 6, RECORDS, "attestation", {}),
        ("of_a_stranger", A.proof(ACCOUNT, 101, _record(1, A, "0" * 64, STRANGER)), 2, RECORDS, "attestation", {}),
        ("attestations_were_rewritten", early_b, 4.5, REWRITTEN, "rewritten", {}),
        ("the_next_attestation_was_rewritten", early_b, 4.5, [*RECORDS[:4], *REWRITTEN[4:]], "rewritten", {}),
        ("an_attestation_of_a_stranger", proof_a, 3.5, [*RECORDS[:3], _record(4, A, RECORDS[2]["digest"], STRANGER)], "attestations", {}),
        ("an_attestation_that_is_none", proof_a, 3.5, [*RECORDS[:3], 7], "attestations", {}),
        ("the_log_was_rewritten", early_b, 4.5, RECORDS, "rewritten", {"log_proof": {**_log_proof(REWRITTEN[:4], 4, OLD), "entry": _entry(RECORDS[3])}}),
        ("the_kept_log_was_another", proof_a, 3, RECORDS, "rewritten", {"log_proof": in_log, "checkpoint": _note(REWRITTEN[:4], OLD)}),
        ("the_kept_log_has_another_size", proof_a, 3, RECORDS, "unverified", {"log_proof": in_log, "checkpoint": _note(RECORDS[:3], OLD)}),
        ("a_kept_log_without_its_proof", proof_a, 3, RECORDS, "unverified", {"checkpoint": _note(RECORDS[:4], OLD)}),
        ("in_the_log_later", proof_a, 1.01, RECORDS, "not_yet_published", {"log_proof": in_log}),
        ("another_leaf_of_the_log", proof_a, 3, RECORDS, "log", {"log_proof": _log_proof(RECORDS, 2, NEW)}),
        ("a_log_of_a_key_retired_before", proof_a, 3, RECORDS, "log", {"log_proof": _log_proof(RECORDS, 1, OLD)}),
        ("no_proof_of_the_log", proof_a, 3, RECORDS, "log", {"log_proof": {"index": 0}}),
    )  # fmt: skip
    for name, document, minutes, records, expect, more in cases:
        yield vector(
            "balance",
            name,
            START + minutes * MINUTE,
            expect,
            document=json.dumps(document),
            keys=AUDITOR_KEYS,
            records=records,
            balance=more.get("balance"),
            log_proof=more.get("log_proof"),
            checkpoint=more.get("checkpoint"),
        )
