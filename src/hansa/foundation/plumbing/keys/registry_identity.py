"""A database belongs to one registry: its name, its trust domain and the fingerprints of its keys are recorded in it.

- They are recorded in the transaction that founds the book, and compared at every start and by every command.
- A process with another name, trust domain or key changes nothing: the others could not verify its signatures and seals.
- The internal API key is not part of the identity: it may be replaced at any time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hansa.foundation.plumbing.keys.authority import KEY_NAME as AUTHORITY
from hansa.foundation.plumbing.keys.key_files import BadKey, Keyring, private_key_in, secret_in
from hansa.foundation.plumbing.keys.seal import KEY_NAME as SEALING
from hansa.foundation.plumbing.keys.tokens import TokenKind
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Unavailable

_RECORD = """
INSERT INTO plumbing_registry (registry_name, trust_domain, ledger_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""

_ADD_KEYS = """
INSERT INTO plumbing_registry_key (name, fingerprint) SELECT * FROM unnest($1::text[], $2::bytea[])
ON CONFLICT (name) DO NOTHING
"""

_REPLACE_KEYS = """
INSERT INTO plumbing_registry_key (name, fingerprint) SELECT * FROM unnest($1::text[], $2::bytea[])
ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, recorded_at = now()
"""

# A schema that is still to be brought up to date has no ledger id: every registry was a frame.
_REGISTRY = """
SELECT registry_name, trust_domain, coalesce(to_jsonb(one) ->> 'ledger_id', trust_domain) AS ledger_id
FROM plumbing_registry AS one
"""

_IS_RECORDED = "SELECT to_regclass('plumbing_registry') IS NOT NULL"


class DatabaseOfAnother(Unavailable):
    """The database belongs to a different registry than this process."""

    code = "DATABASE_OF_ANOTHER_REGISTRY"
    sentence = "The database belongs to a different registry."


class RegistryIdentity(msgspec.Struct, frozen=True):
    """Name, trust domain, ledger id (Specification 6 W 2), and SHA-256 fingerprints by the name of the key."""

    registry_name: str
    trust_domain: str
    ledger_id: str
    fingerprints: dict[str, bytes]


def local_identity(settings: Settings) -> RegistryIdentity:
    """The identity of this process, with the keys that it has; none is made. Raises: BadKey."""
    keys = Keyring(settings.data_dir)
    found = {name: keys.find(name, file) for name, (file, _) in _FINGERPRINTED.items()}
    fingerprints = {name: _FINGERPRINTED[name][1](*key) for name, key in found.items() if key is not None}
    return RegistryIdentity(settings.registry_name, settings.trust_domain, settings.ledger_id, fingerprints)


async def recorded_identity(tx: Tx) -> RegistryIdentity | None:
    """The identity that the database holds, or None before a book is founded in it, whatever its schema."""
    if not await tx.fetchval(_IS_RECORDED):
        return None
    registry = await tx.fetchrow(_REGISTRY)
    if registry is None:
        return None
    keys = await tx.fetch("SELECT name, fingerprint FROM plumbing_registry_key ORDER BY name")
    return RegistryIdentity(**registry, fingerprints={key["name"]: key["fingerprint"] for key in keys})


async def require_own(tx: Tx, own: RegistryIdentity) -> RegistryIdentity | None:
    """The recorded identity, which is this process's own; None where no registry is founded. Raises: DatabaseOfAnother."""
    recorded = await recorded_identity(tx)
    if recorded is not None:
        _require_same(recorded, own)
    return recorded


async def record_identity(tx: Tx, own: RegistryIdentity) -> None:
    """Record the identity where there is none, and keys that are new. Raises: DatabaseOfAnother."""
    # The first of several that start together writes; the others wait here for its commit.
    await tx.execute(_RECORD, own.registry_name, own.trust_domain, own.ledger_id)
    await require_own(tx, own)
    await tx.execute(_ADD_KEYS, list(own.fingerprints), list(own.fingerprints.values()))
    await require_own(tx, own)


async def require_adoptable(tx: Tx, trust_domain: str, ledger_id: str) -> RegistryIdentity:
    """The recorded identity, of which the trust domain and the ledger id cannot be replaced.

    The one stands in every DID, the other in every posting and attestation.

    Raises: DatabaseOfAnother.
    """
    recorded = await recorded_identity(tx)
    if recorded is None:
        raise DatabaseOfAnother("There is no registry in this database; run `hansa serve` to create one.")
    if recorded.trust_domain != trust_domain:
        raise DatabaseOfAnother(
            f"The trust domain of a registry cannot change: it is {recorded.trust_domain}, and TRUST_DOMAIN is"
            f" {trust_domain}."
        )
    if recorded.ledger_id != ledger_id:
        raise DatabaseOfAnother(
            f"The ledger of a registry keeps its name: it is {recorded.ledger_id}, and by REGISTRY_TIER and REGISTRY_NAME"
            f" it would be {ledger_id}."
        )
    return recorded


async def replace_identity(tx: Tx, own: RegistryIdentity) -> list[str]:
    """Record this name and these keys in place of the present ones; returns the changes, in words.

    Raises: DatabaseOfAnother.
    """
    recorded = await require_adoptable(tx, own.trust_domain, own.ledger_id)
    await tx.execute(
        "UPDATE plumbing_registry SET registry_name = $1, recorded_at = now()", own.registry_name
    )
    await tx.execute(_REPLACE_KEYS, list(own.fingerprints), list(own.fingerprints.values()))
    return [
        *([f"name {own.registry_name!r}"] if recorded.registry_name != own.registry_name else []),
        *(f"key {name}" for name in _differing(own, recorded)),
    ]


async def key_recorded(tx: Tx, name: str) -> tuple[bytes, datetime]:
    """The fingerprint of a key of the registry, and since when it is recorded. Raises: DatabaseOfAnother."""
    row = await tx.fetchrow(
        "SELECT fingerprint, recorded_at FROM plumbing_registry_key WHERE name = $1", name
    )
    if row is None:
        raise DatabaseOfAnother(f"The database has no key {name}; start the registry once.")
    return row["fingerprint"], row["recorded_at"]


async def replace_key(tx: Tx, name: str, fingerprint: bytes) -> None:
    """Record this key in place of the present one of that name."""
    await tx.execute(_REPLACE_KEYS, [name], [fingerprint])


def _require_same(recorded: RegistryIdentity, own: RegistryIdentity) -> None:
    name = f"{recorded.registry_name!r} of trust domain {recorded.trust_domain}"
    if (recorded.registry_name, recorded.trust_domain) != (own.registry_name, own.trust_domain):
        raise DatabaseOfAnother(
            f"The database belongs to the registry {name}, and this process is {own.registry_name!r} of"
            f" {own.trust_domain}: set REGISTRY_NAME and TRUST_DOMAIN to those of the registry to join it, use"
            " another database, or rename the registry with `hansa db adopt`."
        )
    if recorded.ledger_id != own.ledger_id:
        raise DatabaseOfAnother(
            f"The database belongs to the registry {name}, whose ledger is {recorded.ledger_id}, and by REGISTRY_TIER and"
            f" REGISTRY_NAME the ledger of this process is {own.ledger_id}: set REGISTRY_TIER to what it was at the first"
            " start, or use another database."
        )
    if error := _differing(recorded, own):
        raise DatabaseOfAnother(
            f"The database belongs to the registry {name}, and this process has not its keys ({', '.join(error)}):"
            " to join it, run `hansa keys export FILE` where it runs and `hansa keys import FILE` here; otherwise use"
            " another database. After keys were lost or replaced, run `hansa db adopt`."
        )


def _differing(expected: RegistryIdentity, found: RegistryIdentity) -> Sequence[str]:
    """Names of keys that are wanted and absent or different."""
    return [
        name
        for name, fingerprint in expected.fingerprints.items()
        if found.fingerprints.get(name) != fingerprint
    ]


def _of_signing_key(place: str, pem: bytes) -> bytes:
    return sha256(private_key_in(place, pem).public_key().public_bytes_raw()).digest()


def fingerprint_of_secret(place: str, content: bytes) -> bytes:
    """The fingerprint of the shared secret in that place. Raises: BadKey."""
    return sha256(f"fingerprint {secret_in(place, content)}".encode()).digest()


def fingerprint_of_authority(place: str, pem: bytes) -> bytes:
    """The fingerprint of the key of the authority in that place. Raises: BadKey."""
    try:
        key = x509.load_pem_x509_certificate(pem).public_key()
    except ValueError:
        raise BadKey(f"{place} is refused; allowed is a P-256 key and its certificate, in PEM") from None
    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()


_FINGERPRINTED: dict[str, tuple[str, Callable[[str, bytes], bytes]]] = {
    **{f"{kind}-token": (f"{kind}-token.pem", _of_signing_key) for kind in TokenKind},
    AUTHORITY: (f"{AUTHORITY}.pem", fingerprint_of_authority),
    SEALING: (SEALING, fingerprint_of_secret),
}

KEY_FILES = {name: file for name, (file, _) in _FINGERPRINTED.items()}
"""The file in DIR/keys of each key that is part of the identity."""
