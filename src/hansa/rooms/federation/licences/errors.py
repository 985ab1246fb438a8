"""Why a licence certificate is not issued, changed or installed."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, Unavailable


class CertificateUnknown(NotFound):
    """No licence certificate with this id or hash was issued here, and none is held."""

    code = "LICENCE_UNKNOWN"
    sentence = "This registry knows no such licence certificate."


class NotAMainframe(Unavailable):
    """Only an allow-listed sovereign mainframe issues licence certificates."""

    code = "FRAME_ONLY"
    sentence = (
        "This registry is not an allow-listed sovereign mainframe"
        " (IS_CENTRAL_REGISTRY, SOVEREIGN_MAINFRAMES); it issues no licence certificates."
    )
    remedy = "Send the request to the sovereign mainframe of the network."


class GenesisHeld(Conflict):
    """The genesis certificate is issued once, to a registry without a network certificate, and never changes."""

    code = "LICENCE_GENESIS_HELD"
    sentence = (
        "This registry holds a genesis or network certificate already; a genesis certificate is issued once."
    )


class GenesisKeyFixed(Conflict):
    """The licence-signing key of the genesis is the root of its network and is never rotated."""

    code = "LICENCE_GENESIS_KEY"
    sentence = (
        "The licence-signing key of the genesis is the root that every registry of the network trusts;"
        " it is not rotated. A genesis whose key is lost or stolen founds a new network."
    )
    remedy = "Read the guide to keys before anything else."


class GenesisMissing(Conflict):
    """Only the holder of the genesis certificate issues certificates to other trust domains."""

    code = "LICENCE_GENESIS_MISSING"
    sentence = (
        "Only the holder of the genesis certificate licenses another trust domain; this registry holds none."
    )


class CertificateState(Conflict):
    """The state of the subject's certificates does not allow this action."""

    code = "LICENCE_STATE"
    sentence = (
        "The state of the certificate does not allow this: only active ones can be suspended,"
        " only suspended ones that are not past their end reinstated, revoked and genesis ones not changed."
    )


class CertificateRefused(Invalid):
    """A member of the request contradicts the rules of issuance (Specification 2, "Issuance rules")."""

    code = "LICENCE_REFUSED"
    sentence = "The request contradicts the rules of issuance."


class InstallRefused(Invalid):
    """The certificate is not one of type frame that a trusted genesis issued to this registry and its present key."""

    code = "LICENCE_INSTALL_REFUSED"
    sentence = "The certificate cannot be installed here."


class LicensingKeySealed(Unavailable):
    """The licence-signing key was encrypted with a different sealing key than this process has."""

    code = "LICENSING_KEY_SEALED"
    sentence = "The licence-signing key does not open with the sealing key in DIR/keys: restore that file."
