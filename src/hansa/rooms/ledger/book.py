"""Book of a registry: the frame, its unit, its fees and its own accounts."""

import msgspec

from hansa.foundation.plumbing.settings import GovernedValues, Settings
from hansa.foundation.values.did import SystemAccount, bridge_did, leg_did, system_did, transit_did

from .rules import FeePolicy, fee_policy


class Book(msgspec.Struct, frozen=True):
    """Names and fees of every posting of one registry. `issues` is False at an operator registry (Specification 6 W 2)."""

    frame: str
    currency: str
    treasury: str
    fee_collector: str
    did_method: str
    governed: GovernedValues
    fees: FeePolicy
    """The rates of the settings that the book was made of: those in force where `parameters.in_force` returned them."""
    issues: bool = True

    @classmethod
    def of(cls, settings: Settings) -> "Book":
        """The book of the registry with these settings."""
        return cls(
            frame=settings.ledger_id,
            currency=settings.settlement_currency,
            treasury=system_did(settings.did_method, SystemAccount.TREASURY),
            fee_collector=system_did(settings.did_method, SystemAccount.FEE_COLLECTOR),
            did_method=settings.did_method,
            governed=settings.governed,
            fees=fee_policy(settings.fee_base_rate_percent, settings.fee_max_rate_percent),
            issues=not settings.is_operator,
        )

    @property
    def unclaimed(self) -> str:
        """DID of the account that receives units for an agent whose account was closed meanwhile."""
        return system_did(self.did_method, SystemAccount.UNCLAIMED)

    def leg(self, ledger_id: str) -> str:
        """The account with this registry's reserve of the pool that it shares with the registry of this ledger id."""
        return leg_did(self.did_method, ledger_id)

    @property
    def shortfall(self) -> str:
        """DID of the account that pays commitments from before a restore whose payer does not hold the units now."""
        return system_did(self.did_method, SystemAccount.SHORTFALL)

    def transit(self, ledger_id: str) -> str:
        """Return the DID of the transit account of the registry with this ledger id."""
        return transit_did(self.did_method, ledger_id)

    def bridge(self, ledger_id: str) -> str:
        """The account for units that are locked here and held wrapped at the registry with this ledger id."""
        return bridge_did(self.did_method, ledger_id)
