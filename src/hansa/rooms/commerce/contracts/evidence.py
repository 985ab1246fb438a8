"""An attestation contract as evidence of an authorization (specification 2, "Jurisdiction declarations")."""

from datetime import UTC, datetime

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import federation

from . import rules, store
from .contract import Contract, Status

COUNTERSIGNED = (Status.ACCEPTED, Status.SUBMITTED, Status.COMPLETED)


async def read_attested_contract(tx: Tx, contract_id: int) -> federation.AttestedContract | None:
    """The contract as evidence, and why it is none; None where there is no such contract.

    Of a contract that is not of the type attestation nothing is returned but the reason: its terms are for its parties.
    """
    contract = await store.find(tx, contract_id)
    if contract is None:
        return None
    if contract.contract_type != rules.ATTESTATION:
        return federation.AttestedContract({}, f"It is not of the type {rules.ATTESTATION}.")
    return federation.AttestedContract(_subset(contract), _problem(contract))


def _problem(contract: Contract) -> str | None:
    if contract.status == Status.PROPOSED:
        return "It is not countersigned: the provider has not accepted it."
    if contract.status not in COUNTERSIGNED:
        return f"It is {contract.status}."
    return None


def _subset(contract: Contract) -> dict[str, object]:
    return {
        "id": contract.id,
        "title": contract.title,
        "contract_type": contract.contract_type,
        "amount": format_amount(contract.amount),
        "contractor_did": contract.contractor_did,
        "provider_did": contract.provider_did,
        "terms": contract.terms,
        "created_at": _moment(contract.created_at),
        "agreed_at": None if contract.accepted_at is None else _moment(contract.accepted_at),
    }


def _moment(timestamp: datetime) -> str:
    return timestamp.astimezone(UTC).isoformat(timespec="microseconds")
