"""Decentralised identifiers: `did:<method>:<issuer>:<uuid4>`, or without the issuer where a registry has none.

A DID is opaque: compare it whole. System accounts have fixed readable ones.
"""

from enum import StrEnum
from urllib.parse import quote, unquote
from uuid import UUID

DID_MAX_CHARACTERS = 512

RESERVED_NAMESPACES = frozenset(
    [
        "operator",
        "cloud",
        "org",
        "agora-gateway",
        "developer",
        "api-tester",
        "system",
        "teg",
        "treasury",
        "gateway",
        "fx",
        "fee",
        "fee_collector",
        "admin",
        "registry",
        "frame",
        "template",
    ],
)


class SystemAccount(StrEnum):
    """The registry's own accounts; the value is the last part of the DID."""

    TREASURY = "treasury"
    FEE_COLLECTOR = "fee_collector"
    UNCLAIMED = "unclaimed"
    SHORTFALL = "shortfall"


def mint_did(method: str, issuer: str, unique: UUID) -> str:
    """The DID of a new agent; `issuer` may be empty."""
    return f"did:{method}:{issuer}:{unique}" if issuer else f"did:{method}:{unique}"


def namespace_of(did: str) -> str | None:
    """The issuer part of a DID; None where it has none."""
    match did.split(":"):
        case ["did", _, issuer, _]:
            return issuer
    return None


def system_did(method: str, account: SystemAccount) -> str:
    """The fixed DID of a system account."""
    return f"did:{method}:system:{account.value}"


def transit_did(method: str, ledger_id: str) -> str:
    """Return the DID of the account for units that cross to and from the registry with this ledger id."""
    return f"did:{method}:system:transit:{quote(ledger_id, safe='')}"


def leg_did(method: str, ledger_id: str) -> str:
    """The DID of the account with the own reserve of the pool shared with the registry of this ledger id."""
    return f"did:{method}:system:fx:{quote(ledger_id, safe='')}"


def bridge_did(method: str, ledger_id: str) -> str:
    """The DID of the account for own units that are held wrapped at the registry with this ledger id."""
    return f"did:{method}:system:bridge:{quote(ledger_id, safe='')}"


def listing_did(treasury: str, ref: str) -> str:
    """The DID of the account with the distributions of a listing, of the method of the DID of its treasury."""
    _, method, *_ = treasury.split(":")
    return f"did:{method}:system:agora:{ref}"


def ledger_id_of_transit(did: str) -> str | None:
    """The other registry of a transit account; None for any other DID."""
    return _ledger_id_of(did, "transit")


def ledger_id_of_bridge(did: str) -> str | None:
    """The other registry of a bridge account; None for any other DID."""
    return _ledger_id_of(did, "bridge")


def _ledger_id_of(did: str, kind: str) -> str | None:
    match did.split(":"):
        case ["did", _, "system", named, ledger_id] if named == kind:
            return unquote(ledger_id)
    return None


def is_system_did(did: str) -> bool:
    """Return whether the DID names a registry's own account: `did:<method>:system:<name>`, or one for a peer behind the name."""
    parts = did.split(":")
    return len(parts) in (4, 5) and parts[0] == "did" and parts[2] == "system"
