"""Export an agent: its card, roles, spend policy, releases and pipelines in a document that the registry signs. No key, log or balance."""

from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.canonical import canonical_json
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, catalogue, federation
from hansa.rooms.agents import SpendPolicyOut
from hansa.rooms.operations.releases import releases_of
from hansa_verify import CARD_PROFILE

from . import store
from .errors import BundleTooLarge, SecretInBundle
from .pipelines import PipelinesOfBundle
from .rules import BUNDLE_MAX_BYTES, KIND, RELEASES_MAX, TYPE, first_secret


class Exported(msgspec.Struct, frozen=True):
    """A bundle with the signature of the registry, and the id under which it is stored."""

    id: UUID
    bundle: dict[str, Any]


async def export_agent(
    tx: Tx, developer: Developer, did: str, pipelines: PipelinesOfBundle, seal: Seal
) -> Exported:
    """Sign and store the bundle of an agent.

    Raises: AgentUnknown, OrgRoleRequired, CardUnknown, SecretInBundle, BundleTooLarge, KeyDoesNotOpen.
    """
    await agents.require_caller(tx, developer, did, Right.OPERATE)
    card = await catalogue.card_of_agent(tx, did)
    authz = await agents.authz_of(tx, developer, did)
    policy = SpendPolicyOut.of(authz.policy).model_dump(mode="json") if authz.policy else None
    releases = await releases_of(tx, did, None, RELEASES_MAX)
    key = await federation.present_signing_key(tx, seal)
    content: dict[str, Any] = {
        "kind": KIND,
        "did": did,
        "card": {name: member for name, member in (card.card_data or {}).items() if name != "signatures"},
        "roles": list(authz.roles),
        "spend_policy": policy,
        "releases": [_exported(one) for one in releases],
        "pipelines": await pipelines.export_pipelines(tx, did),
        "exported_at": key.now.isoformat(),
    }
    if pointer := first_secret(content):
        raise SecretInBundle(field=pointer)
    payload = canonical_json(content)
    if len(payload) > BUNDLE_MAX_BYTES:
        raise BundleTooLarge
    header = {"typ": TYPE, "iat": int(key.now.timestamp()), "canon": CARD_PROFILE}
    bundle = {**content, "signatures": [federation.detached_signature(key, payload, header)]}
    stored = await store.insert(tx, developer.id, card.organization_id, did, canonical_json(bundle).decode())
    return Exported(stored, bundle)


def _exported(release: catalogue.Release) -> dict[str, Any]:
    return {
        "version": release.version,
        "commit_hash": release.commit_hash,
        "release_notes": release.release_notes,
        "artifacts": {
            name: {"uri": one.uri, "sha256": one.sha256} for name, one in release.artifacts.items()
        },
        "is_stable": release.is_stable,
    }
