"""Verification of licences from the command line: reads a certificate, its chain and the issuers' lists, and judges them.

- Behind an address the lists are read at the addresses that the certificates of the chain state; of a file they are given.
- The root is trusted by its hash alone: `--root`, or FEDERATION_ROOT_HASH.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from hansa.doors.verification.cards import CannotRead, is_address, read_source, steps_json
from hansa_verify import (
    BadLicence,
    LicenceVerdict,
    NotCanonical,
    Step,
    read_certificate,
    read_issued_list,
    read_json,
    verify_licence,
    verify_licence_as_of,
)

LICENCE = "/.well-known/federation-licence.json"
ISSUED_LIST = "/.well-known/federation-licences.json"
LIST_READ_MAX_BYTES = 9_000_000
ROOT_VARIABLE = "FEDERATION_ROOT_HASH"


class LicenceToVerify(msgspec.Struct, frozen=True):
    """Source of the licence (an address or a file), the hash of the trusted genesis certificate, further lists, and the time to judge."""

    source: str
    root: str | None
    lists: tuple[str, ...] = ()
    at: datetime | None = None


def verify_licence_source(request: LicenceToVerify) -> LicenceVerdict:
    """The verdict on the licence of a registry, or on the list that it issued. Raises: CannotRead."""
    document = _document(_place(request.source))
    if "list" in document:
        return _verify_list(request, document)
    certificate, chain = document.get("certificate"), document.get("chain", [])
    if not isinstance(chain, list):
        raise CannotRead(f"{request.source} is refused: chain is a list of certificates.")
    lists = [_list_in(_document(place)) for place in request.lists]
    if is_address(request.source):
        lists += _lists_of_issuers([certificate, *chain])
    root = request.root or os.environ.get(ROOT_VARIABLE)
    declared_hash = document.get("hash")
    if request.at is None:
        return verify_licence(certificate, chain, root_hash=root, lists=lists, declared_hash=declared_hash)
    return verify_licence_as_of(
        certificate, chain, request.at, root_hash=root, lists=lists, declared_hash=declared_hash
    )


def licence_verdict_json(verdict: LicenceVerdict) -> dict[str, Any]:
    """The verdict for a program."""
    return {
        "valid": verdict.is_valid,
        "code": verdict.code,
        "reason": verdict.reason,
        "hash": verdict.hash,
        "as_of": verdict.as_of and verdict.as_of.isoformat(),
        "expires_at": verdict.expires_at and verdict.expires_at.isoformat(),
        "steps": steps_json(verdict.steps),
    }


def _verify_list(request: LicenceToVerify, document: dict[str, Any]) -> LicenceVerdict:
    """The issuer's own licence, and its signature over the list."""
    if not is_address(request.source):
        raise CannotRead(
            f"{request.source} is a list: verify the licence in a file with --list {request.source}"
        )
    beside = replace(request, source=urljoin(request.source, LICENCE))
    verdict = verify_licence_source(beside)
    own = _document(beside.source).get("certificate")
    try:
        issued, key = read_issued_list(document["list"]), read_certificate(own).public_key
    except BadLicence as error:
        return _failed(verdict, f"malformed: {error}")
    if key is None or not issued.signature.is_by(key):
        return _failed(verdict, "the list is not signed by the key of the licence")
    said = f"{len(issued.licences)} certificates as of {issued.generated_at.isoformat()}, signed"
    return replace(verdict, steps=(*verdict.steps, Step("list", holds=True, said=said)))


def _failed(verdict: LicenceVerdict, said: str) -> LicenceVerdict:
    steps = (*verdict.steps, Step("list", holds=False, said=said))
    return replace(verdict, code="malformed", reason=said, steps=steps)


def _lists_of_issuers(certificates: list[object]) -> list[object]:
    """The lists at the addresses of the chain; one that cannot be read is missing, and the verdict says so."""
    found: list[object] = []
    for address in _addresses(certificates):
        try:
            found.append(_list_in(_document(urljoin(address, ISSUED_LIST))))
        except CannotRead:
            continue
    return found


def _addresses(certificates: list[object]) -> Iterator[str]:
    for text in certificates:
        try:
            certificate = read_certificate(text)
        except BadLicence:
            continue
        if certificate.kind != "operator" and "url" in certificate.payload["sub"]:
            yield certificate.payload["sub"]["url"]


def _place(source: str) -> str:
    if is_address(source) and urlsplit(source).path in {"", "/"}:
        return urljoin(source, LICENCE)
    return source


def _document(place: str) -> dict[str, Any]:
    try:
        document = read_json(read_source(place, LIST_READ_MAX_BYTES))
    except NotCanonical as error:
        raise CannotRead(f"{place} contains no usable licence: {error}.") from None
    if not isinstance(document, dict) or not {"certificate", "list"} & set(document):
        raise CannotRead(f"{place} contains no licence: expected the member certificate, or list.")
    return document


def _list_in(document: dict[str, Any]) -> object:
    return document.get("list")
