"""Judge whether a balance proof, or the public level of the liabilities, was the newest that a registry had published at a moment of the past.

The attestations from that of the proof to the first one after the moment decide it; later ones change nothing:
- The proof counts from the time of its attestation on, until an attestation commits to another tree.
- An attestation with the same tree, or with none, does not end it: the published balance is then the same.
- A key of the auditor signs the records after the retirement of the key before it, up to its own.
- A proof of the log, where one is at hand, places the attestation in the log by the moment.

Attestations that end before the moment prove nothing about it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from .attestations import falls, read_record
from .balance_proof import verify_liabilities
from .canonical import read_json, read_moment
from .keys import AuditorKey
from .liabilities import read_liabilities
from .log import Checkpoint, leaf_hash, proves_inclusion, read_checkpoint_of, read_hash
from .steps import Decision, Evaluation, Refusal, refused_as


def verify_liabilities_as_of(
    document: Any,
    keys: Iterable[AuditorKey],
    at: datetime,
    records: Sequence[Any],
    *,
    balance: int | None = None,
    log_proof: Any = None,
    checkpoint: str | None = None,
) -> Decision:
    """Judge a balance proof, or the public level, as of `at`, by attestations in either order. Never raises.

    `log_proof` is an answer of `/log/proof` about the attestation, `checkpoint` the note of its size that the reader has kept.
    The code is `verified`, that of `verify_liabilities`, or `key_not_yet_valid`, `not_yet_published`, `superseded`, `rewritten`,
    `attestations`, `log`, or `unverified` where the documents do not decide the moment.
    """
    held = tuple(keys)
    present = verify_liabilities(document, held, balance=balance)
    if not present.is_valid:
        return present
    judged = _PastEvaluation(document["attestation"], held, at, records, (log_proof, checkpoint))
    code, steps = judged.take()
    return Decision(code, (*present.steps, *steps))


class _PastEvaluation(Evaluation):
    def __init__(
        self,
        record: Mapping[str, Any],
        keys: tuple[AuditorKey, ...],
        at: datetime,
        records: Sequence[Any],
        in_log: tuple[Any, str | None],
    ) -> None:
        self.record, self.keys, self.at = record, keys, at
        self.records = list(reversed(records) if falls(records) else records)
        self.log_proof, self.checkpoint = in_log
        said = read_record(record, keys)
        self.committed, self.signed_at = read_liabilities(said), read_moment(said["ts"])

    def key(self) -> str:
        kid, number = self.record["kid"], self.record["id"]
        own = next(key.retired_at_id for key in self.keys if key.kid == kid)
        retired = [key.retired_at_id for key in self.keys if key.retired_at_id is not None]
        begin = max((one for one in retired if own is None or one < own), default=0)
        if number <= begin:
            raise Refusal("key_not_yet_valid", f"the key {kid} signs the records after {begin}, not {number}")
        return f"{kid} signs the records after {begin}"

    def published(self) -> str:
        assert self.signed_at is not None
        if self.signed_at > self.at:
            later = f"attested at {self.signed_at.isoformat()}, after {self.at.isoformat()}"
            raise Refusal("not_yet_published", later)
        return f"attested at {self.signed_at.isoformat()}"

    def log(self) -> str:
        """The attestation is in the log by the moment, under a checkpoint of a key that the auditor had at its size."""
        if self.log_proof is None:
            if self.checkpoint is not None:
                raise Refusal("unverified", "a checkpoint needs the proof of the log that leads to it")
            return "no proof of the log was given"
        with refused_as("log"):
            signed, index = self._included()
            kept = None if self.checkpoint is None else read_checkpoint_of(self.checkpoint, self.keys)
        if kept is not None and kept.size != signed.size:
            sizes = f"the kept checkpoint has {kept.size} leaves, the proof {signed.size}"
            raise Refusal("unverified", sizes)
        if kept not in {None, signed}:
            raise Refusal("rewritten", f"the log of {signed.size} leaves has another root than was kept")
        return f"leaf {index} of {signed.size}"

    def newest(self) -> str:
        """No later attestation until the moment commits to another tree, and one after the moment follows."""
        with refused_as("attestations"):
            return self._first_after()

    steps = (key, published, log, newest)

    def _included(self) -> tuple[Checkpoint, int]:
        """The checkpoint that has the attestation as a leaf, and its index. Raises: Unreadable, Refusal."""
        proof = self.log_proof
        members = {"checkpoint": str, "entry": str, "index": int, "size": int, "hashes": list}
        if not isinstance(proof, Mapping) or any(
            type(proof.get(name)) is not kind for name, kind in members.items()
        ):
            raise Refusal("log", "a proof has the members checkpoint, entry, index, size and hashes")
        signed = read_checkpoint_of(proof["checkpoint"], self.keys)
        entry = read_json(proof["entry"])
        stated = {"kind": "attestation", "id": str(self.record["id"]), "sha256": self.record["digest"]}
        if not isinstance(entry, Mapping) or any(entry.get(name) != one for name, one in stated.items()):
            raise Refusal("log", "the leaf is not the attestation of the proof")
        leaf, hashes = leaf_hash(proof["entry"].encode()), [read_hash(one) for one in proof["hashes"]]
        is_in = proof["size"] == signed.size and proves_inclusion(
            proof["index"], signed.size, leaf, hashes, signed.root
        )
        if not is_in:
            raise Refusal("rewritten", f"the log of {signed.size} leaves does not have the attestation")
        logged_at = read_moment(entry.get("at"))
        if logged_at is None or logged_at > self.at:
            raise Refusal("not_yet_published", f"the log has the attestation since {entry.get('at')}"[:100])
        return signed, proof["index"]

    def _first_after(self) -> str:
        """Raises: Unreadable, Refusal."""
        for (before, _, _), (record, said, timestamp) in pairwise(self._continued()):
            number = record["id"]
            if timestamp > self.at:
                return f"record {before['id']} is followed by record {number} of {timestamp.isoformat()}"
            committed = read_liabilities(said)
            if committed not in {None, self.committed}:
                raise Refusal(
                    "superseded", f"record {number} of {timestamp.isoformat()} commits to another tree"
                )
        raise Refusal("unverified", f"an attestation from after {self.at.isoformat()} is required")

    def _continued(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], datetime]]:
        """Yield the attestation of the proof and those that continue it: the record, its payload, its time. Raises: Unreadable, Refusal."""
        own, number = self.record["digest"], self.record["id"]
        before: Mapping[str, Any] | None = None
        last: datetime | None = None
        for record in self.records:
            if not isinstance(record, Mapping) or type(record.get("id")) is not int:
                raise Refusal("attestations", "an attestation is an object with an id")
            if record["id"] < number:
                continue
            said = read_record(record, self.keys)
            timestamp = read_moment(said["ts"])
            assert timestamp is not None
            if before is None:
                self._require_own(record)
            elif record["id"] <= before["id"] or (last is not None and timestamp <= last):
                raise Refusal("attestations", f"id or time of record {record['id']} does not rise")
            elif record["prev_hash"] != before["digest"]:
                self._refuse_other(before, record)
            before, last = record, timestamp
            yield record, said, timestamp
        if before is None:
            raise Refusal("unverified", f"the attestations do not have record {number}, {own}")

    def _require_own(self, first: Mapping[str, Any]) -> None:
        if first["digest"] == self.record["digest"]:
            return
        if first["id"] == self.record["id"]:
            raise Refusal("rewritten", f"the attestations have another record {first['id']} than the proof")
        raise Refusal("unverified", f"the attestations begin after record {self.record['id']}")

    def _refuse_other(self, before: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        if record["id"] == before["id"] + 1:
            raise Refusal("rewritten", f"record {record['id']} does not continue record {before['id']}")
        raise Refusal("unverified", f"the attestations lack records after {before['id']}")
