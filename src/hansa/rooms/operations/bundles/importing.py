"""Make an agent of a bundle: with a new DID, the default roles and an unlisted card that states its origin."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from pydantic import ValidationError

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Agent, Developer
from hansa.rooms import agents, federation
from hansa.rooms.operations.releases import register_release_of

from . import store
from .errors import BundleRefused, BundleUnknown
from .pipelines import PIPELINES_OF_BUNDLE
from .records import JudgedBundle
from .schemas import BundleContent


class Imported(msgspec.Struct, frozen=True):
    """New agent of a bundle. `warnings` are sentences on members that it has otherwise or not."""

    identity: agents.NewIdentity
    onboarded: agents.Onboarded
    warnings: list[str]


class ForkRequest(msgspec.Struct, frozen=True):
    """Stored bundle, and the texts of the card that differ."""

    bundle_id: UUID
    texts: dict[str, str]


async def import_agent(
    tx: Tx, runtime: Runtime, developer: Developer, bundle: JudgedBundle, site: str
) -> Imported:
    """Create an agent of a bundle for a developer. Raises: BundleRefused, and as issue_bootstrap_token and create_agent."""
    content = content_of(bundle.content)
    is_suspended, organizations = IS_DEVELOPER_SUSPENDED.of(runtime), agents.ORGANIZATION_AGENTS.of(runtime)
    issued = await agents.issue_bootstrap_token(
        tx,
        developer,
        agent_type_hint=None,
        requested_by=None,
        lifetime_seconds=runtime.settings.bootstrap_token_lifetime,
        is_suspended=is_suspended,
        organizations=organizations,
    )
    identity = agents.new_identity(runtime.settings, None)
    asked = agents.Onboarding(
        issued.token, identity, host=None, card=content.card, site=site, imported_from=bundle.origin
    )
    onboarded = await agents.create_agent(tx, asked, runtime.settings, is_suspended, organizations)
    return await _imported(tx, runtime, identity, onboarded, content)


async def fork_bundle(tx: Tx, runtime: Runtime, agent: Agent, asked: ForkRequest) -> Imported:
    """Create an agent of a stored bundle of the owner of the agent that asks. Raises: BundleUnknown, and as hold_maker and create_fork."""
    creator = await agents.active_agent(tx, agent.did)
    stored = await store.find(tx, asked.bundle_id, creator.owner)
    if stored is None:
        raise BundleUnknown
    settings = runtime.settings
    bundle = JudgedBundle(
        {name: member for name, member in stored.document.items() if name != "signatures"},
        federation.registry_id_of(settings.trust_domain, settings.registry_name),
    )
    content = content_of(bundle.content)
    identity = agents.new_identity(settings, None)
    held = await agents.hold_maker(tx, creator, runtime)
    fork = agents.Fork(identity, {**content.card, **asked.texts}, bundle.origin)
    onboarded = await agents.create_fork(tx, held, fork, settings)
    return await _imported(tx, runtime, identity, onboarded, content)


async def _imported(
    tx: Tx,
    runtime: Runtime,
    identity: agents.NewIdentity,
    onboarded: agents.Onboarded,
    content: BundleContent,
) -> Imported:
    """Furnish a new agent with the rest of a bundle."""
    warnings = await _furnish(tx, runtime, identity.did, content)
    default_roles = runtime.settings.agent_rbac_default_roles
    return Imported(identity, onboarded, [*_warnings(content, default_roles), *warnings])


def content_of(document: dict[str, Any]) -> BundleContent:
    """The members of a bundle whose signature holds. Raises: BundleRefused, naming the first member of another form."""
    try:
        return BundleContent.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        pointer = "".join(f"/{step}" for step in ("bundle", *first["loc"]))
        raise BundleRefused(f"The bundle has another form: {first['msg']}.", field=pointer[:200]) from None


async def _furnish(tx: Tx, runtime: Runtime, did: str, content: BundleContent) -> list[str]:
    """Give a new agent the policy, the releases and the pipelines of a bundle; returns warnings."""
    if content.spend_policy is not None:
        await agents.put_policy(tx, did, content.spend_policy.policy())
    # The oldest first, so that the list has their order.
    names: set[str] = set()
    for one in reversed(content.releases):
        if one.version not in names:
            await register_release_of(tx, did, one.release())
        names.add(one.version)
    return await PIPELINES_OF_BUNDLE.of(runtime).import_pipelines(tx, did, content.pipelines)


def _warnings(content: BundleContent, default_roles: Sequence[str]) -> list[str]:
    found = ["The card is unlisted; list it when the agent answers at an address of its own."]
    if "humanReadableId" in content.card:
        found.append("The card has a new humanReadableId; the former one belongs to the exported agent.")
    if missing := sorted(set(content.roles) - set(default_roles)):
        found.append(
            f"Roles of the exported agent that were not given: {len(missing)}. The agent has the default roles."
        )
    if content.spend_policy is not None:
        found.append("The amounts of the spend policy count in the currency of this registry.")
    if content.releases:
        found.append("The versions are drafts; none is active.")
    return found
