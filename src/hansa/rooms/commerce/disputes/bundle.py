"""Bundle: the facts of a dispute in one document, with the terms, payments and deliveries until it was filed, and its evidence.

From the bundle alone anybody computes the same proposal for a ruling (`hansa_verify.propose`). It has the id and the terms
of a payment token, never the token.
"""

import json
from datetime import datetime
from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each, read_together, reading
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.money import Minor, format_amount
from hansa.rooms import agents, catalogue, federation, ledger
from hansa.rooms.commerce import contracts, payments
from hansa_verify import CARD_PROFILE, RULES_VERSION, Proposal, propose

from . import store
from .attested import attested_in, members_of
from .dispute import Dispute
from .reading import with_evidence
from .rules import bound_of

KIND = "dispute.bundle.v1"
TYPE = "dispute-bundle+jws"
KEYS_MAX = 100

# By which act a contract ended before it was disputed, and how that is called.
_ENDED_BY = {
    "approved": "approved",
    "marked_failed": "rejected",
    "not_submitted": "not_submitted",
    "not_reviewed": "not_reviewed",
    "party_revoked": "party_revoked",
}


async def facts_of(tx: Tx, dispute: Dispute, settings: Settings) -> dict[str, Any]:
    """The bundle of a dispute with its evidence, without a signature."""
    contract, token, keys, attested = await read_together(
        tx,
        lambda tx: _contract(tx, dispute),
        lambda tx: _token(tx, dispute),
        lambda tx: _keys(tx, dispute),
        lambda tx: attested_in(tx, dispute, settings),
    )
    bundle = {
        "kind": KIND,
        "rules": RULES_VERSION,
        "registry": settings.ledger_id,
        "currency": settings.settlement_currency,
        "dispute": _complaint(dispute),
        **contract,
        **token,
        "evidence": [
            {
                "by": one.by,
                "uri": one.piece.uri,
                "sha256": one.piece.sha256,
                "note": one.piece.note,
                "at": one.at.isoformat(),
            }
            for one in dispute.evidence
        ],
        **members_of(dispute, attested),
        "keys": keys,
    }
    paid_by = bundle.pop("paid_by")
    bundle["offer"], bundle["payments"] = await read_together(
        tx,
        lambda tx: _offer(tx, bundle["contract"], bundle["token"]),
        lambda tx: _payments(tx, paid_by, dispute),
    )
    proposal = propose(bundle)
    return {
        **bundle,
        "proposal": {"ruling": proposal.ruling, "rule": proposal.rule, "why": proposal.why},
    }


async def proposal_for(tx: Tx, dispute: Dispute, settings: Settings) -> Proposal:
    """Return the proposal that follows from the facts of a dispute with its evidence."""
    return Proposal(**(await facts_of(tx, dispute, settings))["proposal"])


async def signed_bundle(
    database: Database, signatory: federation.Signatory, dispute: Dispute, settings: Settings
) -> dict[str, Any]:
    """The bundle with the registry's signature. Raises: KeyDoesNotOpen, Unavailable."""
    bundle = await database.read_replicated(lambda tx: facts_of(tx, dispute, settings))
    key = await signatory.present_key()
    header = {"typ": TYPE, "iat": int(key.now.timestamp()), "canon": CARD_PROFILE}
    return {**bundle, "signatures": [federation.detached_signature(key, canonical_json(bundle), header)]}


async def signed_verdict(runtime: Runtime, dispute_id: int) -> dict[str, Any]:
    """The signed bundle of a dispute that was decided here, for the registry of its defendant. Raises: KeyDoesNotOpen."""
    dispute = await runtime.database.read(lambda tx: _with_evidence(tx, dispute_id))
    signatory = federation.SIGNATORY.of(runtime)
    return await signed_bundle(runtime.database, signatory, dispute, runtime.settings)


async def _with_evidence(tx: Tx, dispute_id: int) -> Dispute:
    dispute = await store.find(tx, dispute_id)
    assert dispute is not None, "a settlement names a dispute that exists"
    return await with_evidence(tx, dispute)


def _complaint(dispute: Dispute) -> dict[str, Any]:
    return {
        "id": dispute.id,
        "complainant_did": dispute.complainant_did,
        "defendant_did": dispute.defendant_did,
        "reason_code": dispute.reason_code,
        "description": dispute.description,
        "claimed_amount": _amount(dispute.claimed_amount),
        "bound": _amount(bound_of(dispute)),
        "paid": _amount(dispute.paid_amount),
        "held": _amount(dispute.held_amount),
        "opened_at": dispute.opened_at.isoformat(),
    }


async def _contract(tx: Tx, dispute: Dispute) -> dict[str, Any]:
    """The contract as it was when the dispute was filed, and the transactions that had paid it."""
    if dispute.contract_id is None:
        return {"contract": None, "paid_by": [] if dispute.tx_id is None else [dispute.tx_id]}
    contract_id = dispute.contract_id
    contract, surplus, history = await read_together(
        tx,
        lambda tx: contracts.find(tx, contract_id),
        lambda tx: contracts.surplus_of(tx, contract_id),
        lambda tx: contracts.history_of(tx, contract_id),
    )
    assert contract is not None, "a dispute names a contract that exists"
    lines = [line for line in history if line.at < dispute.opened_at]
    ended = [_ENDED_BY[line.act] for line in lines if line.act in _ENDED_BY]
    has_ended = dispute.contract_status in {contracts.Status.FAILED, contracts.Status.COMPLETED}
    parts = [one.payment_tx_id for one in contract.milestones] or [contract.payment_tx_id]
    document = {
        "id": contract.id,
        "version": contract.version,
        "created_at": contract.created_at.isoformat(),
        "contractor_did": contract.contractor_did,
        "provider_did": contract.provider_did,
        "title": contract.title,
        "contract_type": contract.contract_type,
        "amount": format_amount(contract.amount),
        "terms": json.dumps(contract.terms, sort_keys=True),
        "acceptance_criteria": json.dumps(contract.acceptance_criteria, sort_keys=True),
        "submit_by": _iso(contract.submit_by),
        "review_by": _iso(contract.review_by),
        "auto_approve": contract.auto_approve,
        "funded": contract.funded,
        "status": dispute.contract_status,
        "ended_because": ended[-1] if has_ended and ended else None,
        "milestones": [
            {
                "index": one.index,
                "title": one.title,
                "amount": format_amount(one.amount),
                "due": _iso(one.due),
            }
            for one in contract.milestones
        ],
        "deliverables": [
            {"sha256": line.deliverable["sha256"], "milestone": line.milestone, "at": line.at.isoformat()}
            for line in lines
            if line.deliverable is not None
        ],
        "history": [
            {
                "act": line.act,
                "actor_did": line.actor_did,
                "milestone": line.milestone,
                "at": line.at.isoformat(),
            }
            for line in lines
        ],
    }
    paid_by = [tx_id for tx_id in parts if tx_id is not None]
    return {"contract": document, "paid_by": [*paid_by, *surplus]}


async def _token(tx: Tx, dispute: Dispute) -> dict[str, Any]:
    if dispute.token_id is None:
        return {"token": None, "same_work": []}
    token = await payments.token_of_id(tx, dispute.token_id)
    assert token is not None, "a dispute names a token that exists"
    same = await payments.same_work(tx, token)
    document = {
        "token_id": str(token.id),
        "caller_did": token.caller,
        "payee_did": token.payee,
        "amount": format_amount(token.amount),
        "paid_amount": None if token.tx_id is None else format_amount(token.paid),
        "fee": None if token.fee is None else format_amount(token.fee),
        "status": token.status,
        "capture_by": token.capture_by,
        "settled_by": token.settled_by,
        "resource": token.resource,
        "request_digest": token.request_digest,
        "task_id": token.task_id,
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat(),
        "ended_at": _iso(token.ended_at),
        "transaction_id": token.settlement_tx_id,
    }
    others = [
        {
            "token_id": str(one.id),
            "transaction_id": one.settlement_tx_id,
            "amount": format_amount(one.paid),
            "at": _iso(one.ended_at),
        }
        for one in same
    ]
    return {"token": document, "same_work": others}


async def _offer(
    tx: Tx, contract: dict[str, Any] | None, token: dict[str, Any] | None
) -> dict[str, Any] | None:
    """The card of the paid agent as it was when the terms were set; a later change of the card changes no offer."""
    if contract is not None:
        did, timestamp = contract["provider_did"], contract["created_at"]
    elif token is not None:
        did, timestamp = token["payee_did"], token["created_at"]
    else:
        return None
    found = await catalogue.card_document_at(tx, did, datetime.fromisoformat(timestamp))
    if found is None:
        return None
    return {
        "did": did,
        "version": found.version,
        "valid_from": found.changed_at.isoformat(),
        "sha256": found.card_hash,
        "card": found.card_data,
    }


async def _payments(tx: Tx, tx_ids: list[int], dispute: Dispute) -> list[dict[str, Any]]:
    """The payments that had been made when the dispute was filed."""
    here, abroad = await read_together(
        tx,
        lambda tx: read_each(tx, [reading(ledger.find_payment, tx_id) for tx_id in tx_ids]),
        lambda tx: read_each(tx, [reading(ledger.find_payment_abroad, tx_id) for tx_id in tx_ids]),
    )
    made = [one or other for one, other in zip(here, abroad, strict=True)]
    return [
        {
            "transaction_id": f"tx-{tx_id}",
            "payer_did": one.payer,
            "payee_did": one.payee,
            "amount": format_amount(one.amount),
            "fee": format_amount(one.fee),
            "at": one.recorded_at.isoformat(),
        }
        for tx_id, one in zip(tx_ids, made, strict=True)
        if one is not None and one.recorded_at < dispute.opened_at
    ]


async def _keys(tx: Tx, dispute: Dispute) -> dict[str, Any]:
    """The keys with which receipts and quotes in the evidence may have been signed, with their times."""
    # An agent of another registry has its keys there.
    held, own = await read_together(
        tx, lambda tx: agents.keys_of_each(tx, dispute.parties, KEYS_MAX), federation.all_keys
    )
    of_agents = {
        did: [_key(one.public_key, one.valid_from, one.valid_until) for one in keys]
        for did, keys in held.items()
    }
    return {
        "agents": of_agents,
        "registry": [_key(one.public_key, one.valid_from, one.retired_at) for one in own],
    }


def _key(public_key: bytes, valid_from: datetime, valid_until: datetime | None) -> dict[str, Any]:
    return {
        "public_key_jwk": jwk_of(public_key),
        "valid_from": valid_from.isoformat(),
        "valid_until": _iso(valid_until),
    }


def _amount(amount: Minor | None) -> str | None:
    return None if amount is None else format_amount(amount)


def _iso(timestamp: datetime | None) -> str | None:
    return None if timestamp is None else timestamp.isoformat()
