"""Verification of balance proofs from the command line: reads the proof, or the documents that a registry publishes, and the keys."""

from urllib.parse import urljoin, urlsplit

from hansa.doors.verification.attestations import KEY_SET
from hansa.doors.verification.cards import CannotRead, is_address, read_source
from hansa_verify import (
    Decision,
    NotAKey,
    NotAProof,
    NotCanonical,
    read_amount,
    read_auditor_keys,
    read_json,
    verify_liabilities,
)

LIABILITIES = "/api/auditor/liabilities"
PROOF_MAX_BYTES = 64 * 1024 * 1024


def verify_source(source: str, keys: str | None, balance: str | None) -> Decision:
    """The verdict on a balance proof, or on all that a registry owes. Raises: CannotRead."""
    if keys is None and not is_address(source):
        raise CannotRead(f"--keys is required for a proof in a file: use --keys https://REGISTRY{KEY_SET}")
    is_registry = is_address(source) and urlsplit(source).path in {"", "/"}
    place = urljoin(source, LIABILITIES) if is_registry else source
    try:
        expected = None if balance is None else read_amount(balance)
    except NotAProof as error:
        raise CannotRead(f"--balance {balance!r} is invalid: {error}.") from None
    try:
        document = read_json(read_source(place, PROOF_MAX_BYTES))
        key_set = read_auditor_keys(read_json(read_source(keys or urljoin(source, KEY_SET))))
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{source} contains no usable proof or keys: {error}.") from None
    return verify_liabilities(document, key_set, balance=expected)
