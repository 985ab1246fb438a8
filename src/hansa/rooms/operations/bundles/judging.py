"""Judge a bundle: signed by this registry or by a peer that speaks for its agent, as a whole, by a key that counts now."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa_verify import BadEntry, NotAKey, RegistryKey, read_entry, read_keys, verify_bundle

from .errors import BundleRefused
from .records import JudgedBundle


async def judge_bundle(runtime: Runtime, bundle: dict[str, Any]) -> JudgedBundle:
    """The content of a bundle whose signature holds. Raises: BundleRefused."""
    registry_id = _signer(bundle)
    keys, at = await runtime.database.read(
        lambda tx: _keys_and_time(tx, registry_id, bundle.get("did"), runtime.settings)
    )
    # A large bundle takes long enough to be judged that others would notice.
    verdict = await asyncio.to_thread(verify_bundle, canonical_json(bundle), keys, at=at)
    if verdict.card is None:
        failed = verdict.steps[-1]
        member = "kind" if failed.name == "kind" else "signatures"
        raise BundleRefused(f"The bundle is refused: {failed.said}.", field=f"/bundle/{member}")
    return JudgedBundle(dict(verdict.card), registry_id)


def _signer(bundle: dict[str, Any]) -> str:
    """The registry that the one signature of a bundle names; nothing of it is believed yet. Raises: BundleRefused."""
    entries = bundle.get("signatures")
    if not isinstance(entries, list) or len(entries) != 1:
        raise BundleRefused("A bundle has one signature.", field="/bundle/signatures")
    try:
        return (read_entry(entries[0]).kid or "").rpartition("#")[0]
    except BadEntry as error:
        raise BundleRefused(f"The bundle is refused: {error}.", field="/bundle/signatures") from None


async def _keys_and_time(
    tx: Tx, registry_id: str, did: Any, settings: Settings
) -> tuple[Sequence[RegistryKey], Any]:
    """The keys of the registry, where it speaks for the agent, and the time of the database. Raises: BundleRefused."""
    at = await clock.now(tx)
    if not isinstance(did, str):
        raise BundleRefused("`did` is the DID of the agent.", field="/bundle/did")
    if registry_id == federation.registry_id_of(settings.trust_domain, settings.registry_name):
        own = await federation.all_keys(tx)
        return [RegistryKey(key.kid, key.public_key, key.valid_from, key.retired_at) for key in own], at
    for peer in await federation.peers(tx):
        counts = peer.is_open and peer.is_member
        if peer.spiffe_id == registry_id and counts and await federation.speaks_for(tx, peer, did, settings):
            try:
                return read_keys(peer.keys), at
            except NotAKey:
                break
    raise BundleRefused(
        "Neither this registry nor a peer that speaks for the agent signed the bundle.",
        field="/bundle/signatures",
    )
