"""Work that a room above offers and awards: the contract is accepted when it comes to be, for the bid was the consent of its provider.

The units that were held for the work go over to the contract, at the rate of the fee that was held; what the price leaves of them is free.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Forbidden
from hansa.foundation.values.money import Minor
from hansa.rooms import agents, ledger, transfers
from hansa.rooms.commerce.bonds import BondAdmits

from . import events, rules, store, term_rules
from .accept import held_for
from .contract import Milestone, Terms
from .errors import BondRequired, FundedAcross, RelatedParty
from .reading import ContractShown
from .records import NewContract
from .transitions import Act, move

CONTRACT_TYPE = "work-order"


class OfferedWork(msgspec.Struct, frozen=True):
    """Work that is offered for at most `amount`, in minor units; the days run from the award on."""

    contractor_did: str
    title: str
    terms: Any
    acceptance_criteria: Any
    amount: Minor
    milestones: tuple[Milestone, ...]
    submit_days: int
    review_days: int
    auto_approve: bool

    def terms_for(self, provider_did: str, price: Minor, at: datetime) -> Terms:
        """The terms of the contract with this provider for this price. Raises: TermsInvalid."""
        submit_by = at + timedelta(days=self.submit_days)
        return Terms(
            contractor_did=self.contractor_did,
            provider_did=provider_did,
            title=self.title,
            contract_type=CONTRACT_TYPE,
            amount=price,
            terms=self.terms,
            acceptance_criteria=self.acceptance_criteria,
            submit_by=submit_by,
            review_by=submit_by + timedelta(days=self.review_days),
            auto_approve=self.auto_approve,
            funded=True,
            milestones=term_rules.scaled(self.milestones, self.amount, price),
        )


async def require_bidder(
    tx: Tx, contractor_did: str, did: str, settings: Settings, bond_admits: BondAdmits
) -> None:
    """Judge whether an agent may be the provider of offered work; it does not end before the transaction does.

    Raises: FundedAcross, Forbidden, ChildEnding, RelatedParty, BondRequired.
    """
    if await transfers.is_foreign(tx, did, settings):
        raise FundedAcross
    if await agents.lock_status(tx, did) != "active":
        raise Forbidden("The agent is not active.")
    await agents.require_not_ending(tx, did)
    if await agents.are_related(tx, contractor_did, did):
        raise RelatedParty
    if not await bond_admits(tx, did, settings, None):
        raise BondRequired


async def award_work(
    tx: Tx,
    work: OfferedWork,
    hold_id: int,
    *,
    provider_did: str,
    price: Minor,
    settings: Settings,
    bond_admits: BondAdmits,
) -> ContractShown:
    """Make the contract of offered work, accepted and funded from the hold of the work. The caller holds its own rows locked.

    Raises: TermsInvalid, the errors of `require_bidder`, HoldEnded, HoldExceeded, AccountSuspended.
    """
    await require_bidder(tx, work.contractor_did, provider_did, settings, bond_admits)
    now = await clock.now(tx)
    terms = work.terms_for(provider_did, price, now)
    new = NewContract(terms, settings.settlement_currency, now, first_act="awarded")
    contract, _ = await store.insert(tx, new)
    accepted = rules.accepted(contract, provider_did)
    held = await ledger.replace_hold(
        tx, hold_id, price, await held_for(tx, accepted, settings), ledger.Book.of(settings)
    )
    accepted = replace(accepted, hold_id=held.hold_id)
    return await move(tx, contract, accepted, Act("accepted", provider_did), events.accepted(accepted))
