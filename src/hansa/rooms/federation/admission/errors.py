"""Why a registry is not admitted, and why its licence is not changed."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class LicenceUnknown(NotFound):
    """There is no such federation licence."""

    code = "FEDERATION_LICENCE_UNKNOWN"
    sentence = "There is no federation licence with this id."


class LicenceState(Conflict):
    """The federation licence is not in a state in which that can be done to it."""

    code = "FEDERATION_LICENCE_STATE"
    sentence = "Suspend an active licence, reinstate a suspended one, revoke one that is not revoked."


class LicenceAlreadyHeld(Conflict):
    """The registry has a federation licence that is neither revoked nor expired."""

    code = "FEDERATION_LICENCE_HELD"
    sentence = "This trust domain holds a licence already; revoke it first."


class LicenceForOwnDomain(Invalid):
    """The trust domain is this registry's own: it needs no licence to read its own routes."""

    code = "FEDERATION_LICENCE_SELF"
    sentence = "trust_domain is this registry's own; a licence key is issued to another registry."
