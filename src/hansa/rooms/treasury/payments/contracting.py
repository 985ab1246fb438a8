"""Kind `contract`: the treasury proposes a funded contract to a provider. Its amount counts as a payment when it is proposed."""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.rooms import agents, commerce
from hansa.rooms.organizations import Acting, Organization, Outcome, Request, RequestKind
from hansa.rooms.treasury.counting import count_request, demands_of_payments
from hansa.rooms.treasury.errors import ContractNotFunded


def contract_of(body: Mapping[str, Any]) -> commerce.ContractIn:
    """Return the proposal of a request, as `POST /contracts` reads it. Raises: ContractNotFunded."""
    proposed = commerce.ContractIn.model_validate(body["contract"])
    if not proposed.funded or proposed.provider_did is None:
        raise ContractNotFunded(field="contract")
    return proposed


async def _propose(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: ContractNotFunded, and the errors of `count_request` and `commerce.propose`."""
    proposed = contract_of(request.body)
    await count_request(tx, organization, request, proposed.provider_did or "", acting.runtime)
    treasury = Agent(
        did=organization.treasury_did,
        developer_id=acting.actor.id,
        roles=(),
        permissions=frozenset(),
        is_governed=False,
        organization_id=organization.id,
    )
    proposal = commerce.Proposal(proposed.proposed_by(treasury.did))
    made = await commerce.propose(tx, treasury, proposal, acting.runtime.settings)
    assert not isinstance(made, agents.Approval)
    return Outcome(contract_id=made.contract.id)


CONTRACT = RequestKind("contract", demands_of_payments, _propose)
