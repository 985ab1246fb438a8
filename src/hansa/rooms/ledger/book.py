"""Which book is written: the frame, its unit and its own accounts."""

from dataclasses import dataclass

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.did import SystemAccount, system_did


@dataclass(frozen=True)
class Book:
    """The names that go into every posting of one registry."""

    frame: str
    currency: str
    treasury: str
    fee_collector: str

    @classmethod
    def of(cls, settings: Settings) -> "Book":
        """The book of the registry with these settings."""
        return cls(
            frame=settings.trust_domain,
            currency=settings.settlement_currency,
            treasury=system_did(settings.did_method, SystemAccount.TREASURY),
            fee_collector=system_did(settings.did_method, SystemAccount.FEE_COLLECTOR),
        )
