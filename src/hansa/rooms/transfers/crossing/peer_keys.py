"""The keys under which messages count: those of the peer's verified key set, and for proofs every key of this registry."""

from hansa.foundation.plumbing.database import Tx
from hansa.rooms import federation
from hansa_verify import NotAKey, read_keys


def keys_of_peer(peer: federation.PeerRecord) -> dict[str, bytes]:
    """The peer's public keys by their kid; none before its card was verified."""
    try:
        keys = read_keys(peer.keys)
    except NotAKey:
        return {}
    return {key.kid: key.public_key for key in keys}


async def own_keys(tx: Tx) -> dict[str, bytes]:
    """Every key that this registry has or had."""
    return {key.kid: key.public_key for key in await federation.all_keys(tx)}
