"""Why a registry is not admitted, and why its licence is not changed."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class LicenceUnknown(NotFound):
    """No federation licence has this id."""

    code = "FEDERATION_LICENCE_UNKNOWN"
    sentence = "No federation licence has this id."


class LicenceState(Conflict):
    """The status of the federation licence does not allow this action."""

    code = "FEDERATION_LICENCE_STATE"
    sentence = "The status of the licence does not allow this: only an active licence can be suspended, only a suspended one reinstated."


class LicenceAlreadyHeld(Conflict):
    """The trust domain already has a federation licence that is neither revoked nor expired."""

    code = "FEDERATION_LICENCE_HELD"
    sentence = "This trust domain already has a licence; revoke it first."


class LicenceForOwnDomain(Invalid):
    """The trust domain is the registry's own, which needs no licence."""

    code = "FEDERATION_LICENCE_SELF"
    sentence = "trust_domain is this registry's own domain; expected the domain of another registry."
