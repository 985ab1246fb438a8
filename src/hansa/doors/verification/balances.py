"""Verification of balance proofs from the command line: reads the proof, or the documents that a registry publishes, and the keys.

As of a time it reads the attestations too, of a registry from that of the proof on, or an export; and what the reader kept of the log.
"""

from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from hansa.doors.verification.attestations import EXPORT_MAX_BYTES, KEY_SET, PAGE, RECORDS
from hansa.doors.verification.cards import CannotRead, is_address, read_source
from hansa_verify import (
    Decision,
    NotAKey,
    NotAProof,
    NotCanonical,
    read_amount,
    read_auditor_keys,
    read_export,
    read_json,
    verify_liabilities,
    verify_liabilities_as_of,
)
from hansa_verify.canonical import read_moment

LIABILITIES = "/api/auditor/liabilities"
PROOF_MAX_BYTES = 64 * 1024 * 1024
PAGES_MAX = 1000
"""Pages of attestations that are read from a registry, of more than four months; for longer an export is needed."""


class Then(msgspec.Struct, frozen=True):
    """A time to judge, and the sources of the documents that decide it."""

    at: datetime
    attestations: str | None
    log_proof: str | None
    checkpoint: str | None


def verify_source(source: str, keys: str | None, balance: str | None, then: Then | None) -> Decision:
    """The verdict on a balance proof, or on all that a registry owes, now or as of a time. Raises: CannotRead."""
    if keys is None and not is_address(source):
        raise CannotRead(f"--keys is required for a proof in a file: use --keys https://REGISTRY{KEY_SET}")
    is_registry = is_address(source) and urlsplit(source).path in {"", "/"}
    place = urljoin(source, LIABILITIES) if is_registry else source
    keys_at = keys or urljoin(source, KEY_SET)
    try:
        expected = None if balance is None else read_amount(balance)
    except NotAProof as error:
        raise CannotRead(f"--balance {balance!r} is invalid: {error}.") from None
    try:
        document = read_json(read_source(place, PROOF_MAX_BYTES))
        key_set = read_auditor_keys(read_json(read_source(keys_at)))
        if then is None:
            return verify_liabilities(document, key_set, balance=expected)
        records = _records(document, then, source if is_address(source) else keys_at)
        log_proof = None if then.log_proof is None else read_json(read_source(then.log_proof))
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{source} contains no usable proof or keys: {error}.") from None
    checkpoint = None if then.checkpoint is None else _text(then.checkpoint)
    return verify_liabilities_as_of(
        document, key_set, then.at, records, balance=expected, log_proof=log_proof, checkpoint=checkpoint
    )


def _records(document: Any, then: Then, host: str) -> list[Any]:
    """The attestations of an export, or of a registry: by default of the host of the proof or its keys. Raises: CannotRead, NotCanonical."""
    place = then.attestations or host
    if then.attestations is None and not is_address(host):
        raise CannotRead(
            "--attestations is required with keys in a file: use --attestations https://REGISTRY"
        )
    if then.attestations is None or (is_address(place) and urlsplit(place).path in {"", "/"}):
        record = document.get("attestation") if isinstance(document, dict) else None
        number = record.get("id") if isinstance(record, dict) else None
        return _records_from(place, number, then.at) if type(number) is int and number > 0 else []
    return read_export(read_source(place, EXPORT_MAX_BYTES))[0]


def _records_from(address: str, number: int, at: datetime) -> list[Any]:
    """The records of a registry from this one to the first after `at`, or its last. Raises: CannotRead, NotCanonical."""
    records: list[Any] = []
    last = number - 1
    for _ in range(PAGES_MAX):
        place = urljoin(address, f"{RECORDS}?limit={PAGE}&before_id={last + PAGE + 1}")
        page, _ = read_export(read_source(place))
        numbered = [one for one in reversed(page) if isinstance(one, dict) and type(one.get("id")) is int]
        newer = [one for one in numbered if one["id"] > last]
        if not newer:
            return records
        records += newer
        last = newer[-1]["id"]
        timestamp = read_moment(newer[-1].get("ts"))
        if timestamp is None or timestamp > at:
            return records
    raise CannotRead(
        f"{address} has too many attestations between the proof and --at: name an export of them."
    )


def _text(source: str) -> str:
    try:
        return read_source(source).decode()
    except UnicodeDecodeError:
        raise CannotRead(f"{source} is not UTF-8 text.") from None
