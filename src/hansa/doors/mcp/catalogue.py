"""Public tools that read more than one route: an agent with its bond, and the verdict on a signed document."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import quote

from hansa.doors.verification.cards import decision_json, then_of
from hansa.doors.verification.log import judge_inclusion, log_verdict_json
from hansa.foundation.plumbing.web.in_process import InnerAnswer, InnerCall
from hansa.foundation.values.errors import Invalid
from hansa.rooms import federation
from hansa_verify import (
    NotAKey,
    NotCanonical,
    read_auditor_keys,
    read_keys,
    read_record,
    verify_card,
    verify_contract_proof,
)

from . import inputs
from .answers import Shaped, shaped
from .exchange import Exchange
from .refusals import of_answer

AGENT = (
    "/name",
    "/description",
    "/human_readable_id",
    "/card_data",
)
REGISTRY_KEYS = "/.well-known/registry-jwks-history.json"
AUDITOR_KEYS = "/.well-known/auditor-jwks.json"
REGISTRY_CARD = "/.well-known/registry-card.json"


class SubjectMalformed(Invalid):
    """The subject is neither an id of this kind nor a document of it."""

    code = "SUBJECT_MALFORMED"


class _RouteRefused(Exception):
    """A route refused what was asked for the caller."""

    def __init__(self, answer: InnerAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


async def read_agent(exchange: Exchange, given: inputs.ReadAgent) -> Shaped:
    """An agent, local or mirrored; `bond` is null for one of another registry."""
    did = quote(given.agent, safe=":")
    agent = await exchange.ask(InnerCall("GET", f"/api/v1/agents/by-did/{did}"), None)
    if agent.is_refusal:
        return of_answer(agent)
    bond = await exchange.ask(InnerCall("GET", f"/api/v1/agents/{did}/reputation-bond/status"), None)
    return shaped({**agent.content, "bond": None if bond.is_refusal else bond.content}, AGENT)


async def verify(exchange: Exchange, given: inputs.Verify) -> Shaped:
    """The verdict on a document of this registry. Raises: SubjectMalformed."""
    document = _document_in(given.subject)
    try:
        if given.at is None:
            verdict = await _VERDICTS[given.kind](exchange, document, given.subject)
        elif given.kind in _AS_OF:
            verdict = await _AS_OF[given.kind](exchange, document, given.subject, given.at)
            then = then_of(verdict["code"], is_valid=verdict["valid"])
            verdict |= {"at": given.at.isoformat(), "then": then}
        else:
            raise SubjectMalformed("at is for a card or a licence.")
    except _RouteRefused as refused:
        return of_answer(refused.answer)
    except (NotCanonical, NotAKey) as error:
        verdict = {"valid": False, "code": "malformed", "steps": [], "reason": str(error)}
    return shaped({"kind": given.kind, **verdict}, ("/steps/*/said", "/reason"))


async def _card(
    exchange: Exchange, document: Any, subject: Any, at: datetime | None = None
) -> dict[str, Any]:
    if document is None:
        document = await _read(exchange, f"/api/v1/agents/{_part(subject)}/card-export")
    keys = read_keys(await _read(exchange, REGISTRY_KEYS))
    return decision_json(verify_card(json.dumps(document), keys, at=at))


async def _licence(
    exchange: Exchange, document: Any, subject: Any, at: datetime | None = None
) -> dict[str, Any]:
    if document is None:
        found = await _read(exchange, f"/api/v1/public/federation/licences/{_part(subject)}")
        document = {"certificate": found.get("certificate"), "chain": found.get("chain") or []}
    chain = document.get("chain", [])
    if not isinstance(chain, list):
        raise SubjectMalformed("chain must be a list of certificates.")
    runtime = exchange.runtime
    verdict = await runtime.database.query(
        lambda tx: federation.verify_stated_licence(
            tx, runtime.settings, document.get("certificate"), chain, document.get("hash"), at=at
        )
    )
    return {**decision_json(verdict), "reason": verdict.reason}


async def _attestation(exchange: Exchange, document: Any, subject: Any) -> dict[str, Any]:
    if document is None:
        document = await _read(exchange, f"/api/auditor/attestations/{_part(subject)}")
    keys = read_auditor_keys(await _read(exchange, AUDITOR_KEYS))
    read_record(document, keys)
    return {"valid": True, "code": "verified", "steps": []}


async def _log(exchange: Exchange, document: Any, subject: Any) -> dict[str, Any]:
    if document is None:
        kind, colon, name = str(subject).partition(":")
        query = {"kind": kind, "id": name} if colon else {"index": subject}
        document = await _read(exchange, "/log/proof", query)
    keys = read_auditor_keys(await _read(exchange, AUDITOR_KEYS))
    return log_verdict_json(judge_inclusion(document, keys, ()))


async def _contract(exchange: Exchange, document: Any, subject: Any) -> dict[str, Any]:
    if document is None:
        document = await _read(exchange, f"/api/v1/jurisdiction/contracts/{_part(subject)}")
    card = await _read(exchange, REGISTRY_CARD)
    keys = read_keys(await _read(exchange, REGISTRY_KEYS))
    return decision_json(verify_contract_proof(json.dumps(document), json.dumps(card), keys))


_AS_OF = {"card": _card, "licence": _licence}

_VERDICTS = {
    "card": _card,
    "licence": _licence,
    "attestation": _attestation,
    "log": _log,
    "contract": _contract,
}


async def _read(exchange: Exchange, path: str, query: dict[str, Any] | None = None) -> Any:
    """Raises: _RouteRefused."""
    answer = await exchange.ask(InnerCall("GET", path, query or {}), None)
    if answer.is_refusal:
        raise _RouteRefused(answer)
    return answer.content


def _document_in(subject: str | dict[str, Any]) -> dict[str, Any] | None:
    """The document that was given as an object or its JSON; None where an id was given. Raises: SubjectMalformed."""
    if isinstance(subject, dict):
        return subject
    if not subject.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(subject)
    except (ValueError, RecursionError):
        raise SubjectMalformed("The subject is not a JSON document.") from None
    assert isinstance(document, dict)
    return document


def _part(subject: Any) -> str:
    return quote(str(subject), safe=":")
