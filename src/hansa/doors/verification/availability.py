"""Verification of the availability of an agent from the command line: reads the answer of a registry and both histories of keys."""

from datetime import datetime
from urllib.parse import urljoin

import msgspec

from hansa.doors.verification.attestations import KEY_SET
from hansa.doors.verification.cards import (
    KEY_HISTORY,
    CannotRead,
    is_address,
    read_key_set,
    read_source,
)
from hansa_verify import Decision, NotAKey, NotCanonical, read_auditor_keys, read_json, verify_availability


class AvailabilityToVerify(msgspec.Struct, frozen=True):
    """Sources of the answer and of the keys: an address or a file. Without keys they are those of the answer's host."""

    source: str
    keys: str | None
    auditor_keys: str | None
    at: datetime | None


def verify_source(request: AvailabilityToVerify) -> Decision:
    """The verdict on the answer of a registry. Raises: CannotRead."""
    keys = request.keys or _beside(request.source, "--keys", KEY_HISTORY)
    auditor_keys = request.auditor_keys or _beside(request.source, "--auditor-keys", KEY_SET)
    try:
        known = read_auditor_keys(read_json(read_source(auditor_keys)))
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{auditor_keys} contains no usable keys: {error}.") from None
    return verify_availability(read_source(request.source), read_key_set(keys), known, at=request.at)


def _beside(source: str, option: str, path: str) -> str:
    if not is_address(source):
        raise CannotRead(f"{option} is required for a file: use {option} https://REGISTRY{path}, or a file.")
    return urljoin(source, path)
