"""Verification of a chain of attestations from the command line: reads the records and the keys, and lets the verifier judge.

- The source is the address of a registry, or an export: a file, or an address with a path.
- The keys of a registry are read from its key set, also for a list of its records. Those in an export are unproved unless `--keys` names others.
"""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from hansa.doors.verification.cards import CannotRead, is_address, read_source, steps_json
from hansa_verify import (
    ChainVerdict,
    NotAKey,
    NotCanonical,
    Warned,
    read_auditor_keys,
    read_export,
    read_json,
    verify_attestations,
)

KEY_SET = "/.well-known/auditor-jwks.json"
RECORDS = "/api/auditor/attestations"
PAGE = 200
ID_END = 2**63 - 1
EXPORT_MAX_BYTES = 512 * 1024 * 1024
KEYS_UNPROVED = Warned("keys_unproved", "the keys are those of the export itself; name others with --keys")


class ChainToVerify(msgspec.Struct, frozen=True):
    """Sources of the chain and the keys, and the strictness of the verification."""

    source: str
    keys: str | None
    exact: bool
    max_age: timedelta | None
    export: Path | None


def verify_chain(request: ChainToVerify) -> ChainVerdict:
    """The verdict on a chain, which is exported where asked for. Raises: CannotRead."""
    is_registry = is_address(request.source) and urlsplit(request.source).path in {"", "/"}
    try:
        records, own_keys, is_proved = (
            (*read_registry(request.source), True) if is_registry else _of_export(request.source)
        )
        key_set = own_keys if request.keys is None else read_json(read_source(request.keys))
        keys = read_auditor_keys(key_set)
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{request.source} contains no usable attestations or keys: {error}.") from None
    if request.export is not None:
        _write_export(request.export, records, key_set)
    verdict = verify_attestations(records, keys, exact=request.exact, max_age=request.max_age)
    if is_proved or request.keys is not None:
        return verdict
    return replace(verdict, warnings=(*verdict.warnings, KEYS_UNPROVED))


def chain_verdict_json(verdict: ChainVerdict) -> dict[str, Any]:
    """The verdict for a program."""
    return {
        "valid": verdict.is_valid,
        "code": verdict.code,
        "records": verdict.records,
        "head": {"id": verdict.head_id, "digest": verdict.head_digest},
        "steps": steps_json(verdict.steps),
        "warnings": [{"code": warning.code, "said": warning.said} for warning in verdict.warnings],
    }


def _of_export(source: str) -> tuple[list[Any], Any, bool]:
    """The records, the keys, and whether the registry itself published the keys: a list of its records contains none."""
    text = read_source(source, EXPORT_MAX_BYTES)
    records, own_keys = read_export(text)
    if is_address(source) and not own_keys["keys"]:
        return records, read_json(read_source(urljoin(source, KEY_SET))), True
    return records, own_keys, False


def read_registry(address: str) -> tuple[list[Any], Any]:
    """Every record, read page by page from the newest on, and the key set of the same host. Raises: CannotRead, NotCanonical."""
    records: list[Any] = []
    before = ID_END
    while True:
        page, _ = read_export(read_source(urljoin(address, f"{RECORDS}?limit={PAGE}&before_id={before}")))
        records += page
        if len(page) < PAGE:
            return records[::-1], read_json(read_source(urljoin(address, KEY_SET)))
        before = _smaller_id(page[-1], before)


def _smaller_id(record: Any, before: int) -> int:
    """The id of the last record of a page: pages that do not come nearer to the first record would never end."""
    number = record.get("id") if isinstance(record, dict) else None
    if type(number) is not int or not 0 < number <= before - PAGE:
        raise NotCanonical("the records of a page have no falling ids")
    return number


def _write_export(path: Path, records: list[Any], key_set: Any) -> None:
    content = {"standard": "SA-1.0", "keys": key_set["keys"], "attestations": records}
    try:
        path.write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise CannotRead(f"{path} cannot be written: {error.strerror}.") from None
