# Generated from hansa_client/asynchronous/disputes.py by `python -m tests.house.synchronous`.
"""Disputes of the agent that this client acts for, or of a treasury. Each act is one intent: all its attempts carry one Idempotency-Key."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from hansa_client.amounts import Amount, amount_text
from hansa_client.calls import Call, new_key
from hansa_client.records.disputes import Citation, Complaint, Dispute, Evidence, MalpracticeRecord
from hansa_client.records.record import Page

from .session import Session
from .transport import Transport

PREFIX = "/api/v1/disputes"


class DisputesOfParty:
    """Read disputes and add evidence, for a party: the agent, or the treasury of an organization."""

    def __init__(self, transport: Transport, caller: Session, path: str, *, list_path: str) -> None:
        self._transport = transport
        self._caller = caller
        self._path = path
        self._list_path = list_path

    def add_evidence(
        self, dispute_id: int, evidence: Evidence | Citation, *, key: str | None = None
    ) -> Dispute:
        """Add evidence, or cite attestations, as a party while the dispute is open. Raises: Conflict, NotFound, Invalid, OutcomeUnknown."""
        return self._sent(f"{self._path}/{dispute_id}/evidence", _evidence_body(evidence), key)

    def read(self, dispute_id: int) -> Dispute:
        """One dispute with its evidence, for its parties. Raises: NotFound."""
        return self._transport.answer(Call("GET", f"{self._path}/{dispute_id}"), Dispute, self._caller)

    def list(
        self, *, role: str | None = None, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> Page[Dispute]:
        """The disputes of the party, newest first; `role` is `complainant` or `defendant`."""
        query = {"role": role, "status": status, "limit": limit, "offset": offset}
        call = Call("GET", self._list_path, query=query)
        return self._transport.answer(call, Page[Dispute], self._caller)

    def _sent(self, path: str, body: dict[str, Any], key: str | None) -> Dispute:
        call = Call("POST", path, json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, Dispute, self._caller)


class DisputesOfTreasury(DisputesOfParty):
    """Disputes of the treasury of an organization."""

    def __init__(self, transport: Transport, developer: Session, organization: str) -> None:
        path = f"{organization}/disputes"
        super().__init__(transport, developer, path, list_path=path)
        self._contracts = f"{organization}/contracts"

    def file(self, complaint: Complaint, *, key: str | None = None) -> Dispute:
        """File a dispute about a contract, as an admin; it freezes the units that the contract holds.

        Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown; ValueError without a `contract_id`.
        """
        if complaint.contract_id is None:
            raise ValueError("a dispute of a treasury is about a contract: state its contract_id")
        path = f"{self._contracts}/{complaint.contract_id}/dispute"
        return self._sent(path, _complaint_body(complaint), key)


class Disputes(DisputesOfParty):
    """File and read disputes of the agent, and add evidence."""

    def __init__(self, transport: Transport, agent: Session) -> None:
        super().__init__(transport, agent, PREFIX, list_path=f"{PREFIX}/")

    def file(self, complaint: Complaint, *, key: str | None = None) -> Dispute:
        """File a dispute against another agent; one about a contract freezes the units that it holds.

        Raises: BadRequest, Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        return self._sent(f"{PREFIX}/", _complaint_body(complaint), key)

    def file_federated(
        self, complaint: Complaint, contractor_registry: str, *, key: str | None = None
    ) -> Dispute:
        """File a dispute about a contract that another registry holds, as its provider; it is kept there.

        `contract_id` names the contract; `token_id`, `transaction_id` and `attestation_ids` are left out.

        Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown; ValueError without a `contract_id`.
        """
        if complaint.contract_id is None or complaint.token_id or complaint.transaction_id:
            raise ValueError("a dispute at another registry is about a contract: state its contract_id alone")
        body = {
            "contractor_registry": contractor_registry,
            "defendant_did": complaint.defendant_did,
            "reason_code": complaint.reason_code,
            "description": complaint.description,
            "claimed_amount": _text_of(complaint.claimed_amount),
        }
        path = f"/api/v1/contracts/{complaint.contract_id}/dispute-federated"
        call = Call("POST", path, json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, Dispute, self._caller)

    def malpractice(
        self,
        contract_id: int,
        evidence: str | Sequence[Evidence],
        *,
        claimed_damages: Amount | None = None,
        key: str | None = None,
    ) -> MalpracticeRecord:
        """Record malpractice of the other party of a contract; it opens a dispute with this evidence.

        Raises: Conflict, Forbidden, NotFound, Invalid, OutcomeUnknown.
        """
        body = {
            "contract_id": contract_id,
            "evidence": evidence if isinstance(evidence, str) else [_evidence_body(one) for one in evidence],
            "claimed_damages": _text_of(claimed_damages),
        }
        call = Call("POST", "/api/v1/contracts/malpractice", json=body, key=new_key() if key is None else key)
        return self._transport.answer(call, MalpracticeRecord, self._caller)

    def bundle(self, dispute_id: int) -> dict[str, Any]:
        """The facts of a dispute, signed by the registry, with the ruling that they give as `proposal`.

        Raises: NotFound.
        """
        call = Call("GET", f"{PREFIX}/{dispute_id}/bundle")
        return self._transport.answer(call, dict[str, Any], self._caller)

    def of_agent(
        self,
        agent_did: str,
        *,
        role: str | None = None,
        status: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Dispute]:
        """The disputes of an agent that this one may read, newest first."""
        query = {"role": role, "status": status, "limit": limit, "offset": offset}
        call = Call("GET", f"{PREFIX}/agent/{quote(agent_did, safe=':')}", query=query)
        return self._transport.answer(call, Page[Dispute], self._caller)


def _evidence_body(evidence: Evidence | Citation) -> dict[str, Any]:
    stated: dict[str, Any] = msgspec.to_builtins(evidence)
    return {name: value for name, value in stated.items() if name != "attestation_ids" or value}


def _complaint_body(complaint: Complaint) -> dict[str, Any]:
    stated = msgspec.to_builtins(complaint) | {"claimed_amount": _text_of(complaint.claimed_amount)}
    return {name: value for name, value in stated.items() if value is not None}


def _text_of(amount: Amount | None) -> str | None:
    return None if amount is None else amount_text(amount)
