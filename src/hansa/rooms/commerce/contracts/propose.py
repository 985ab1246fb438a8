"""A contractor proposes a contract, to one provider or to every agent."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.errors import Forbidden
from hansa.rooms import agents, transfers

from . import events, paying, rules, store, term_rules
from .contract import Terms
from .errors import FundedAcross, ProviderUnknown, TermsInvalid, TooManyProposals
from .reading import ContractShown
from .records import NewContract
from .transitions import begin


class Proposal(msgspec.Struct, frozen=True):
    """Proposal of an agent; `approval_id` is the consent of the contractor's owner, `request_scope` that of its key."""

    terms: Terms
    approval_id: UUID | None = None
    request_scope: bytes | None = None


async def propose(
    tx: Tx, agent: Agent, proposal: Proposal, settings: Settings
) -> ContractShown | agents.Approval:
    """Make a proposal, or ask the agent's owner about the payment that it commits the agent to.

    Raises: SelfContract, TermsInvalid, ProviderUnknown, FundedAcross, TooManyProposals, the refusals of a spend policy, and
    for a provider of another registry the errors of `transfers.require_reachable`.
    """
    term_rules.require_sound(proposal.terms)
    terms = term_rules.with_requirement(proposal.terms)
    if terms.dates:
        term_rules.require_ahead(terms, await clock.now(tx))
    abroad = await _require_provider(tx, terms, settings)
    # Locked, so that the agent does not end while the contract comes to be, and proposes one after the other.
    status = await agents.lock_status(tx, agent.did)
    if status != "active":
        raise Forbidden("The agent is not active.")
    count, now = (await store.open_proposals_of(tx, [agent.did]))[agent.did]
    if count >= rules.OPEN_PROPOSALS_MAX:
        raise TooManyProposals
    counted_by = None
    if agent.is_governed and term_rules.pays_without_approval(terms):
        if terms.provider_did is None:
            raise TermsInvalid(
                "An agent with a spend policy names the provider of a contract that is funded or approved automatically.",
                field="provider_did",
            )
        consent = paying.Consent(proposal.approval_id, proposal.request_scope)
        asked = await paying.clear(
            tx, agent, terms.provider_did, terms.amount, consent=consent, settings=settings
        )
        if asked is not None:
            return asked
        counted_by = agent.grant_id
    new = NewContract(terms, settings.settlement_currency, now, abroad, counted_by)
    contract, line = await store.insert(tx, new)
    return await begin(tx, contract, line, events.proposed(contract))


async def _require_provider(tx: Tx, terms: Terms, settings: Settings) -> str | None:
    """The ledger id of the provider's registry; None where that is this one, or there is no provider.

    Raises: FundedAcross, ProviderUnknown, and as `propose`.
    """
    did = terms.provider_did
    if did is None:
        return None
    known = {} if is_system_did(did) else await agents.statuses_of(tx, [did])
    if known.get(did) == "active":
        return None
    if known or not await transfers.is_foreign(tx, did, settings):
        raise ProviderUnknown(context={"did": did})
    if terms.funded:
        raise FundedAcross(field="funded")
    try:
        peer = await transfers.require_reachable(tx, did, settings)
    except transfers.ReceiverRegistryUnknown:
        raise ProviderUnknown(context={"did": did}) from None
    return peer.ledger_id
