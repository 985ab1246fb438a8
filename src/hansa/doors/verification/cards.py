"""Verification from the command line: reads the document and the keys, and lets the verifier judge.

- The keys of a card behind an address come from the same host, or from the place that the caller names; a card never names them.
- Nothing is followed elsewhere, and nothing without end is read.
"""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import msgspec

from hansa_verify import (
    RULES_VERSIONS,
    AgentKeyVerdict,
    Decision,
    NotAKey,
    NotCanonical,
    Proposal,
    Reduction,
    RegistryKey,
    SettlementVerdict,
    Step,
    Verdict,
    propose,
    read_json,
    read_keys,
    reduction_of,
    states_reduction,
    verify_achievement,
    verify_agent_key,
    verify_bundle,
    verify_card,
    verify_document,
    verify_settlement,
)

KEY_SET = "/.well-known/registry-jwks.json"
KEY_HISTORY = "/.well-known/registry-jwks-history.json"
BUNDLE_KIND, BUNDLE_TYPE = "dispute.bundle.v1", "dispute-bundle+jws"
READ_MAX_BYTES = 4 * 1024 * 1024
READ_SECONDS = 10.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class CannotRead(Exception):
    """The document to verify, or the keys, cannot be read; the message is one line."""


class CardToVerify(msgspec.Struct, frozen=True):
    """Sources of the card, or another signed document, and of the keys: an address or a file.

    Without `keys` they are those of the card's host.
    """

    card: str
    keys: str | None
    at: datetime | None


def verify_source(request: CardToVerify) -> Verdict:
    """The verdict on an exported card. Raises: CannotRead."""
    text = read_source(request.card)
    return verify_card(text, _keys_for(request), at=request.at)


class Computed(msgspec.Struct, frozen=True):
    """The outcome of the facts of a dispute, and whether its bundle states it. Bundles of earlier rules have no reduction."""

    proposal: Proposal
    reduction: Reduction | None
    is_proposal_stated: bool
    is_reduction_stated: bool

    @classmethod
    def of(cls, bundle: Mapping[str, Any]) -> "Computed":
        """Compute the outcome of a bundle."""
        proposal, reduction = propose(bundle), reduction_of(bundle)
        stated = {"ruling": proposal.ruling, "rule": proposal.rule, "why": proposal.why}
        return cls(
            proposal,
            reduction,
            bundle["proposal"] == stated,
            reduction is None or states_reduction(bundle, reduction),
        )


def verify_bundle_source(request: CardToVerify) -> tuple[Verdict, Computed | None]:
    """Return the verdict on the bundle of a dispute; and the outcome of its facts, where it is verified. Raises: CannotRead."""
    text = read_source(request.card)
    verdict = verify_document(text, _keys_for(request), typ=BUNDLE_TYPE, at=request.at)
    if verdict.card is None:
        return verdict, None
    rules = verdict.card.get("rules")
    if verdict.card.get("kind") != BUNDLE_KIND or type(rules) is not int or rules not in RULES_VERSIONS:
        versions = " or ".join(map(str, RULES_VERSIONS))
        raise CannotRead(f"{request.card} is no bundle of a dispute with the rules of version {versions}.")
    try:
        return verdict, Computed.of(verdict.card)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise CannotRead(f"{request.card} is a bundle of another form than its rules expect.") from None


def verify_agent_bundle_source(request: CardToVerify) -> Verdict:
    """The verdict on the bundle of an agent. Raises: CannotRead."""
    text = read_source(request.card)
    return verify_bundle(text, _keys_for(request), at=request.at)


def verify_achievement_source(request: CardToVerify) -> Verdict:
    """The verdict on a statement that an agent earned an achievement. Raises: CannotRead."""
    return verify_achievement(read_source(request.card), _keys_for(request), at=request.at)


def verify_agent_key_source(request: CardToVerify, at: datetime | None, kid: str | None) -> AgentKeyVerdict:
    """Return the verdict on the key that an agent had at a time, by a statement of its keys. Raises: CannotRead."""
    text = read_source(request.card)
    return verify_agent_key(text, _keys_for(request), at, kid=kid)


def verify_settlement_source(request: CardToVerify) -> SettlementVerdict:
    """Return the verdict on a registry's signed messages about a slash across registries. Raises: CannotRead."""
    text = read_source(request.card)
    return verify_settlement(text, _keys_for(request), at=request.at)


def steps_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The steps of a verdict for a program."""
    return [{"name": step.name, "holds": step.holds, "said": step.said} for step in steps]


def decision_json(verdict: Decision) -> dict[str, Any]:
    """A verdict without members of its own, for a program."""
    return {"valid": verdict.is_valid, "code": verdict.code, "steps": steps_json(verdict.steps)}


def then_of(code: str, *, is_valid: bool) -> str:
    """The outcome of any verdict as of a time: `valid`, `not valid`, or `unverified` where the documents do not decide it."""
    if is_valid:
        return "valid"
    return "unverified" if code == "unverified" else "not valid"


def settlement_verdict_json(verdict: SettlementVerdict) -> dict[str, Any]:
    """Return the verdict and the members of the verified messages, for a program."""
    return {**decision_json(verdict), "messages": [dict(message) for message in verdict.messages]}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict for a program."""
    return {
        "valid": verdict.is_valid,
        "code": verdict.code,
        "kid": verdict.kid,
        "signed_at": verdict.signed_at.isoformat() if verdict.signed_at else None,
        "steps": steps_json(verdict.steps),
    }


def agent_key_verdict_json(verdict: AgentKeyVerdict) -> dict[str, Any]:
    """The verdict on a key of an agent for a program."""
    held, document = verdict.held, verdict.card
    return {
        **verdict_json(verdict),
        "did": document and document["did"],
        "key": held
        and {
            "number": held.number,
            "kid": held.kid,
            "valid_from": held.valid_from.isoformat(),
            "valid_until": held.valid_until and held.valid_until.isoformat(),
        },
    }


def read_source(source: str, max_bytes: int = READ_MAX_BYTES) -> bytes:
    """The bytes behind an address, or in a file. Raises: CannotRead."""
    if not is_address(source):
        if "://" in source:
            raise CannotRead(f"URL must start with http:// or https://, got {source!r}")
        return _read_file(Path(source), max_bytes)
    try:
        parts = urlsplit(source)
        if parts.scheme != "https" and parts.hostname not in LOOPBACK:
            raise CannotRead(f"{source} is refused: https is required, except for localhost.")
        return _read_address(source, max_bytes)
    except httpx2.ConnectError as error:
        raise CannotRead(f"cannot connect to {parts.netloc.rpartition('@')[2]}: {cause_of(error)}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise CannotRead(f"{source} cannot be read: {cause_of(error)}") from None


def cause_of(error: BaseException) -> str:
    """Why a connection failed: the system's reason where there is one, which the client wraps in sentences without content."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, OSError) and seen.errno is not None and seen.errno > 0:
            return os.strerror(seen.errno).lower()
        seen = seen.__cause__ or seen.__context__
    return str(error) or type(error).__name__


def _keys_for(request: CardToVerify) -> tuple[RegistryKey, ...]:
    return read_key_set(request.keys or _keys_beside(request.card, request.at))


def read_key_set(place: str) -> tuple[RegistryKey, ...]:
    """The keys of a registry behind an address, or in a file. Raises: CannotRead."""
    try:
        return read_keys(read_json(read_source(place)))
    except (NotCanonical, NotAKey) as error:
        raise CannotRead(f"{place} contains no usable keys: {error}.") from None


def _keys_beside(card: str, at: datetime | None) -> str:
    """The keys of the host that serves the card; as of another moment its whole history, which states their times."""
    if not is_address(card):
        raise CannotRead(
            f"--keys is required for a card in a file: use --keys https://REGISTRY{KEY_SET}"
            f" (or https://REGISTRY{KEY_HISTORY} when its key is retired), or a file of them."
        )
    return urljoin(card, KEY_SET if at is None else KEY_HISTORY)


def is_address(source: str) -> bool:
    """Return whether the source is an http or https address."""
    return source.partition("://")[0].lower() in {"http", "https"}


def _read_file(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise CannotRead(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > max_bytes:
        raise CannotRead(f"{path} is larger than {max_bytes} bytes.")
    return content


def _read_address(address: str, max_bytes: int) -> bytes:
    while True:
        content = _read_once(address, max_bytes)
        if isinstance(content, bytes):
            return content
        sleep(content)


def _read_once(address: str, max_bytes: int) -> bytes | float:
    """The content, or for how many seconds the host asks to wait."""
    content, deadline = bytearray(), monotonic() + READ_SECONDS
    with (
        httpx2.Client(timeout=READ_SECONDS, follow_redirects=False) as http,
        http.stream("GET", address, headers={"Cache-Control": "no-cache"}) as answer,
    ):
        wait = answer.headers.get("retry-after", "")
        if answer.status_code == httpx2.codes.TOO_MANY_REQUESTS and re.fullmatch(r"[0-9]{1,2}", wait):
            return float(wait)
        if answer.status_code != httpx2.codes.OK:
            raise CannotRead(f"{address} returned status {answer.status_code}.")
        for chunk in answer.iter_bytes():
            content += chunk
            if len(content) > max_bytes or monotonic() > deadline:
                raise CannotRead(f"{address} is larger than {max_bytes} bytes or the server is too slow.")
    return bytes(content)
