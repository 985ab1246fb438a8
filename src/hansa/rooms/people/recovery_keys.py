"""Recovery keys: proof of identity when the password or the second factor is lost. Each works once."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.entity_tags import version_of
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import store

PREFIX = "avrec"
KEYS = 3
GROUPS = 3
GROUP_DIGITS = 8


async def issue(tx: Tx, developer_id: int) -> list[str]:
    """The keys of a new account, shown once."""
    keys = ["-".join([PREFIX, *(new_hex("", GROUP_DIGITS) for _ in range(GROUPS))]) for _ in range(KEYS)]
    await store.add_recovery_keys(tx, developer_id, [fingerprint(key) for key in keys])
    return keys


async def fingerprints_of(tx: Tx, developer_id: int) -> frozenset[bytes]:
    """The unused keys of the account, each as its fingerprint."""
    return frozenset(await store.recovery_keys_of(tx, developer_id))


def version_of_keys(fingerprints: frozenset[bytes]) -> str:
    """The version of the unused keys: another text once one is used, or once all are replaced."""
    return version_of(b"".join(sorted(fingerprints)))


async def present_version(tx: Tx, developer_id: int) -> str:
    """The version of the keys that the account has now."""
    return version_of_keys(await fingerprints_of(tx, developer_id))


async def renew(tx: Tx, developer_id: int) -> list[str]:
    """New keys, shown once; the old ones are worth nothing any more."""
    await store.forget_recovery_keys(tx, developer_id)
    return await issue(tx, developer_id)


async def burn(tx: Tx, developer_id: int, key: str) -> bool:
    """Use up a recovery key; return whether it was an unused key of the account."""
    return await store.burn_recovery_key(tx, developer_id, fingerprint(as_issued(key)))


async def burn_of_address(tx: Tx, email: str, key: str) -> int | None:
    """The developer with this address, of whom this was an unused key; it is used now."""
    return await store.burn_recovery_key_of_address(tx, email, fingerprint(as_issued(key)))


def as_issued(key: str) -> str:
    """The key as it was shown; people type capitals and stray blanks."""
    return key.strip().lower()
