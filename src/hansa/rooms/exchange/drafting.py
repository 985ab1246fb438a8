"""Draft a listing, change it, submit it for review, and take it back. Submission is a control request of the organization.

Locks: the organization, then the listing.
"""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation, organizations
from hansa.rooms.organizations import (
    Acting,
    NewRequest,
    Organization,
    Outcome,
    Reading,
    Request,
    RequestKind,
    Role,
)

from . import rules, store
from .errors import ListingUnknown, OrganizationListed, OrganizationNotPublic, RefTaken, TermsChanged
from .reading import shown
from .records import Listing, ShownListing, Terms

SHA256 = "terms_sha256"


async def draft(tx: Tx, acting: Acting, key: str, ref: str, terms: Terms) -> ShownListing:
    """Draft a listing of a public organization.

    Raises: ExchangeDisabled, OrganizationUnknown, OrganizationNotActive, OrgRoleRequired, OrganizationNotPublic, Invalid, RefTaken,
    OrganizationListed.
    """
    rules.require_enabled(acting.runtime.settings)
    organization = await organizations.lock_as_member(tx, key, acting.actor.id, Role.ADMIN)
    require_public(organization)
    rules.require_sound(terms, await clock.now(tx))
    listing = await store.insert(tx, ref, organization.id, organization.treasury_did, terms)
    if listing is None:
        live = await store.live_of(tx, organization.id)
        raise RefTaken(field="ref") if live is None else OrganizationListed(context={"ref": live.ref})
    await organizations.record_act(tx, organization.id, acting.actor, "listing.draft", ref)
    return await shown(tx, listing)


async def change(tx: Tx, acting: Acting, ref: str, changes: Mapping[str, Any]) -> ShownListing:
    """Change terms of a draft. Raises: ExchangeDisabled, ListingUnknown, OrganizationNotActive, OrgRoleRequired, ListingState, Invalid."""
    rules.require_enabled(acting.runtime.settings)
    organization, listing = await _locked(tx, acting, ref)
    rules.require_status(listing, "DRAFT")
    terms = Terms(*(changes.get(name, getattr(listing, name)) for name in Terms.__struct_fields__))
    rules.require_sound(terms, listing.now)
    changed = await store.update(tx, ref, terms)
    if changed is None:
        raise rules.wrong_state(listing)
    await organizations.record_act(tx, organization.id, acting.actor, "listing.change", ref)
    return await shown(tx, changed)


async def submit(tx: Tx, acting: Acting, ref: str) -> Reading:
    """Bring a draft into review: at once where the organization has no tiers, else after the approvals of the highest.

    Raises: ExchangeDisabled, ListingUnknown, OrganizationNotActive, OrgRoleRequired, RequestExists, LimitReached, and as `_execute`.
    """
    organization, listing = await _locked(tx, acting, ref)
    await _require_submittable(tx, acting.runtime, organization, listing)
    body = {"ref": ref, SHA256: rules.terms_digest(listing).hex(), "terms": rules.terms_document(listing)}
    return await organizations.ask(tx, acting, organization, LISTING, NewRequest(body))


async def withdraw(tx: Tx, acting: Acting, ref: str) -> ShownListing:
    """Take a listing under review back, which is a draft again. Raises: ListingUnknown, OrganizationNotActive, OrgRoleRequired, ListingState."""
    organization, listing = await _locked(tx, acting, ref)
    withdrawn = await store.move(tx, ref, ("REVIEW",), "DRAFT")
    if withdrawn is None:
        raise rules.wrong_state(listing)
    await organizations.record_act(tx, organization.id, acting.actor, "listing.withdraw", ref)
    return await shown(tx, withdrawn)


def require_public(organization: Organization) -> None:
    """Raises: OrganizationNotPublic."""
    if organization.visibility != "public":
        raise OrganizationNotPublic


async def _execute(tx: Tx, acting: Acting, organization: Organization, request: Request) -> Outcome:
    """Raises: ExchangeDisabled, ListingUnknown, ListingState, TermsChanged, OrganizationNotPublic, OpeningPassed, ActParked, AuthorizationsUnreadable."""
    listing = await store.lock(tx, request.body["ref"])
    if listing is None:
        raise ListingUnknown
    await _require_submittable(tx, acting.runtime, organization, listing)
    if rules.terms_digest(listing).hex() != request.body[SHA256]:
        raise TermsChanged
    if await store.move(tx, listing.ref, ("DRAFT",), "REVIEW") is None:
        raise rules.wrong_state(listing)
    await organizations.record_act(tx, organization.id, acting.actor, "listing.submit", listing.ref)
    return organizations.NOTHING


async def _require_submittable(
    tx: Tx, runtime: Runtime, organization: Organization, listing: Listing
) -> None:
    rules.require_enabled(runtime.settings)
    rules.require_status(listing, "DRAFT")
    require_public(organization)
    rules.require_ahead(listing)
    await federation.require_cleared(
        tx,
        runtime.settings,
        "exchange.listing",
        listing.treasury_did,
        federation.ATTESTED_CONTRACT.of(runtime),
    )


async def _locked(tx: Tx, acting: Acting, ref: str) -> tuple[Organization, Listing]:
    """Lock the organization of a listing, then the listing. Raises: ListingUnknown, OrganizationNotActive, OrgRoleRequired."""
    found = await store.find(tx, ref)
    if found is None:
        raise ListingUnknown
    try:
        organization = await organizations.lock_as_member(
            tx, str(found.organization_id), acting.actor.id, Role.ADMIN
        )
    except organizations.OrganizationUnknown:
        raise ListingUnknown from None
    listing = await store.lock(tx, ref)
    assert listing is not None, "a listing is never deleted"
    return organization, listing


LISTING = RequestKind("listing", organizations.demands_of_control, _execute, is_unique=True)
