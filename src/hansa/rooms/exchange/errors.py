"""Refusals of the exchange."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound


class ExchangeDisabled(Forbidden):
    """The exchange is off at this registry: nothing new is listed, launched or ordered."""

    code = "exchange_disabled"
    sentence = "The exchange is disabled at this registry."
    remedy = "Reads, cancellations and claims of what exists go on; ask the operator about anything else."


class ListingUnknown(NotFound):
    """No listing has this reference, or it is not public and the caller is no member of its organization."""

    code = "LISTING_UNKNOWN"
    sentence = "No listing of this registry has this reference."


class ListingState(Conflict):
    """The listing is not in a state in which this can be done; the context has its state."""

    code = "LISTING_STATE"
    sentence = "The listing is not in a state in which this can be done."
    remedy = "Read GET /agora/listings/{ref} for its state."


class RefTaken(Conflict):
    """A listing has, or had, this reference."""

    code = "REF_TAKEN"
    sentence = "A listing has or had this reference; none is used twice."
    remedy = "Choose another `ref`."


class OrganizationListed(Conflict):
    """The organization has a listing that has not ended."""

    code = "ORGANIZATION_LISTED"
    sentence = "The organization has a listing that has not ended."
    remedy = "Change that listing while it is a draft, or wait until it has ended."


class OrganizationNotPublic(Conflict):
    """The organization is private; buyers could not read who sells."""

    code = "ORGANIZATION_NOT_PUBLIC"
    sentence = "A listing needs a public organization, and this one is private."
    remedy = "Make the organization public, then send the request again."


class TermsChanged(Conflict):
    """The terms of the listing are not those that the request was made for."""

    code = "LISTING_TERMS_CHANGED"
    sentence = "The terms of the listing were changed since the request was made."
    remedy = "Cancel the request, and submit the listing again."


class OpeningPassed(Conflict):
    """The launch would have opened already."""

    code = "LISTING_OPENING_PASSED"
    sentence = "The time at which the launch was to open has passed."
    remedy = "Set `opens_at` and `closes_at` to later times while the listing is a draft."
