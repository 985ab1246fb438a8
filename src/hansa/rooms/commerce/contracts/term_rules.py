"""Rules of the terms that a proposal states, without I/O: they agree with each other, their dates are ahead, their milestones add up."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from hansa.foundation.values.money import Minor, format_amount

from .contract import Milestone, Terms
from .errors import SelfContract, TermsInvalid

OPEN_BOND_DIVISOR = 100
"""The bond that an open, funded proposal requires where it states nothing is this part of its amount."""
PROPOSAL_DAYS = 30
DATE_MAX_DAYS = 3650


def require_sound(terms: Terms) -> None:
    """The terms agree with each other. Raises: SelfContract, TermsInvalid."""
    if terms.contractor_did == terms.provider_did:
        raise SelfContract
    total = sum(milestone.amount for milestone in terms.milestones)
    if terms.milestones and total != terms.amount:
        raise TermsInvalid(
            f"The amounts of the milestones sum to {format_amount(total)}, not to {format_amount(terms.amount)}.",
            field="milestones",
        )
    if terms.dates != sorted(terms.dates):
        raise TermsInvalid(
            "The dates must rise: those of the milestones in order, then submit_by, then review_by."
        )
    for member in ("funded", "auto_approve"):
        if getattr(terms, member) and terms.review_by is None:
            raise TermsInvalid(f"{member} needs review_by.", field="review_by")


def with_requirement(terms: Terms) -> Terms:
    """The terms with the requirement for the provider of an open, funded proposal, by default a bond of one percent.

    Raises: TermsInvalid, where another proposal states a requirement.
    """
    declared = {"provider_bond_min": terms.provider_bond, "provider_jobs_min": terms.provider_jobs}
    if not terms.is_open_and_funded:
        for member, value in declared.items():
            if value is not None:
                raise TermsInvalid(f"{member} is for funded proposals without provider_did.", field=member)
        return terms
    if any(value is not None for value in declared.values()):
        return terms
    return replace(terms, provider_bond=default_bond(terms.amount))


def default_bond(amount: Minor) -> Minor:
    """The bond for an open, funded proposal that states none: one percent of the amount, rounded up."""
    return Minor(-(-amount // OPEN_BOND_DIVISOR))


def scaled(milestones: Sequence[Milestone], amount: Minor, price: Minor) -> tuple[Milestone, ...]:
    """Return the milestones of this amount with amounts that sum to the price: each is rounded down, and the last has the rest.

    Raises: TermsInvalid, where nothing is left of a milestone.
    """
    if not milestones:
        return ()
    shares = [one.amount * price // amount for one in milestones[:-1]]
    shares.append(price - sum(shares))
    if 0 in shares:
        raise TermsInvalid("The price leaves nothing for one of the milestones.", field="price")
    return tuple(replace(one, amount=Minor(share)) for one, share in zip(milestones, shares, strict=True))


def require_ahead(terms: Terms, now: datetime) -> None:
    """The dates of the terms are in the future, and not too far. Raises: TermsInvalid."""
    if terms.dates and terms.dates[0] <= now:
        raise TermsInvalid("Every date must be in the future.")
    if terms.dates and terms.dates[-1] > now + timedelta(days=DATE_MAX_DAYS):
        raise TermsInvalid(f"No date may be more than {DATE_MAX_DAYS} days ahead.")


def pays_without_approval(terms: Terms) -> bool:
    """Return whether the proposal itself commits the contractor to pay."""
    return terms.funded or terms.auto_approve


def expiry_of(terms: Terms, now: datetime) -> datetime:
    """When a proposal that no agent accepts ends: at its first date."""
    return terms.dates[0] if terms.dates else now + timedelta(days=PROPOSAL_DAYS)
