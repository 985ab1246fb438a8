"""Create an agent: identity, card, account and grant in one commit, or nothing at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Agent
from hansa.foundation.values.errors import ReplacedMeanwhile
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import catalogue, federation, journal, ledger

from . import grants_store, rules, store
from .bootstrap import ORGANIZATION_AGENTS, IsSuspended, OrganizationAgents, require_not_suspended
from .credentials import NewIdentity
from .errors import BootstrapTokenUsed
from .grants import fund
from .lineage import HeldPlace, count_fork, hold_place
from .rules import BootstrapToken, FundingStatus


@dataclass(frozen=True)
class Onboarding:
    """Request of a developer for an agent with a card of its own, or a stub for the card at `host`."""

    bootstrap_token: str = field(repr=False)
    identity: NewIdentity
    host: str | None
    card: dict[str, Any] | None
    site: str = field(repr=False)
    """The network of the request, on which the grants of an hour are counted."""
    imported_from: Mapping[str, Any] | None = None
    """Origin of a card of a bundle, which is not listed."""


class Maker(msgspec.Struct, frozen=True):
    """Owner of a new agent, and the person of an organization who reads its secret, None where no person does."""

    developer_id: int
    organization_id: UUID | None
    secret_seen_by: int | None


class Offspring(msgspec.Struct, frozen=True):
    """Child to be made. `is_listed`: its card joins the listings."""

    identity: NewIdentity
    card: dict[str, Any]
    roles: tuple[str, ...]
    is_listed: bool
    secret_seen_by: int | None
    """The person who reads the secret; None where its parent does."""


class Fork(msgspec.Struct, frozen=True):
    """Agent to be made of the card of a bundle."""

    identity: NewIdentity
    card: dict[str, Any]
    imported_from: Mapping[str, Any]


class Onboarded(msgspec.Struct, frozen=True):
    """The agent that was created."""

    card: catalogue.StoredCard
    funding: FundingStatus


async def create_agent(
    tx: Tx,
    asked: Onboarding,
    settings: Settings,
    is_suspended: IsSuspended,
    organizations: OrganizationAgents,
) -> Onboarded:
    """Create the agent and burn the token; whatever is refused leaves the token usable.

    Locks: the developer, the organization, then the token. An agent of an organization receives no grant and leaves the claim of the
    developer as it is.

    Raises: BootstrapTokenRefused, BootstrapTokenUsed, DeveloperSuspended, for an organization the errors of `OrganizationAgents.hold`, and for
    the card CardInvalid, HumanReadableIdTaken, HostRefused.
    """
    token_sha256 = fingerprint(asked.bootstrap_token)
    token = rules.require_usable(await store.find_bootstrap_token(tx, token_sha256))
    await require_not_suspended(tx, token.developer_id, is_suspended)
    if token.organization_id is not None:
        await organizations.hold(tx, token.developer_id, str(token.organization_id))
        await organizations.record(tx, token.developer_id, token.organization_id, asked.identity.did)
    card = await _publish(tx, asked, token, settings)
    agent_id = await _register(
        tx,
        asked.identity,
        card.name,
        settings.agent_rbac_default_roles,
        Maker(token.developer_id, token.organization_id, token.developer_id),
    )
    if not await store.burn_bootstrap_token(tx, token_sha256):
        raise BootstrapTokenUsed
    await federation.announce_did(tx, asked.identity.did, settings)
    is_first = token.organization_id is None and await grants_store.claim_grant(
        tx, token.developer_id, agent_id
    )
    await ledger.open_account(tx, asked.identity.did)
    funding = await fund(
        tx, token.developer_id, asked.identity.did, asked.site, is_first=is_first, settings=settings
    )
    onboarded = AgentOnboarded(
        did=asked.identity.did,
        card_id=str(card.id),
        first_agent=is_first,
        initial_funding_status=funding.value,
    )
    await journal.append(tx, onboarded)
    return Onboarded(card, funding)


async def hold_maker(tx: Tx, maker: Agent, runtime: Runtime) -> HeldPlace:
    """Lock an agent that makes another one, a child or a fork, and require that its owner and its tree may have one more.

    Locks: the owner against suspension, an organization with the number of its agents, the root of the tree, then the agent.

    Raises: DeveloperSuspended, the errors of `OrganizationAgents.hold_for_agent`, AgentUnknown, AgentSuspended, AgentRevoked, ChildEnding,
    SpawnQuotaReached, ReplacedMeanwhile.
    """
    if maker.organization_id is not None:
        await ORGANIZATION_AGENTS.of(runtime).hold_for_agent(tx, maker.organization_id)
    else:
        await require_not_suspended(tx, maker.developer_id, IS_DEVELOPER_SUSPENDED.of(runtime))
    held = await hold_place(tx, maker.did)
    if (held.agent.developer_id, held.agent.organization_id) != (maker.developer_id, maker.organization_id):
        raise ReplacedMeanwhile
    return held


async def create_child(tx: Tx, held: HeldPlace, asked: Offspring, settings: Settings) -> Onboarded:
    """Create a child of the held agent for its owner, with an empty account and no grant.

    Raises: CardInvalid, HumanReadableIdTaken, DidClaimed.
    """
    parent, did = held.agent, asked.identity.did
    publish = catalogue.publish_card if asked.is_listed else catalogue.publish_unlisted
    card = await publish(
        tx,
        did=did,
        developer_id=parent.developer_id,
        organization_id=parent.organization_id,
        card_data=asked.card,
        settings=settings,
    )
    seen_by = parent.secret_seen_by if asked.secret_seen_by is None else asked.secret_seen_by
    maker = Maker(parent.developer_id, parent.organization_id, seen_by)
    await _register(tx, asked.identity, card.name, asked.roles, maker)
    await federation.announce_did(tx, did, settings)
    await ledger.open_account(tx, did)
    funding = FundingStatus.NOT_FIRST_AGENT
    onboarded = AgentOnboarded(
        did=did,
        card_id=str(card.id),
        first_agent=False,
        initial_funding_status=funding.value,
        parent_did=parent.did,
    )
    await journal.append(tx, onboarded)
    return Onboarded(card, funding)


async def create_fork(tx: Tx, held: HeldPlace, asked: Fork, settings: Settings) -> Onboarded:
    """Create an agent of a bundle for the owner of the held agent, with an empty account and no grant; it is no child.

    Its roles are the default ones that the creator has as well.

    Raises: CardInvalid, HumanReadableIdTaken, DidClaimed.
    """
    creator, did = held.agent, asked.identity.did
    await count_fork(tx, held, did)
    card = await catalogue.publish_imported(
        tx,
        did=did,
        developer_id=creator.developer_id,
        organization_id=creator.organization_id,
        card_data=asked.card,
        imported_from=asked.imported_from,
        settings=settings,
    )
    roles = [role for role in settings.agent_rbac_default_roles if role in creator.roles]
    maker = Maker(creator.developer_id, creator.organization_id, creator.secret_seen_by)
    await _register(tx, asked.identity, card.name, roles, maker)
    await federation.announce_did(tx, did, settings)
    await ledger.open_account(tx, did)
    funding = FundingStatus.NOT_FIRST_AGENT
    await journal.append(
        tx,
        AgentOnboarded(
            did=did, card_id=str(card.id), first_agent=False, initial_funding_status=funding.value
        ),
    )
    return Onboarded(card, funding)


async def _publish(
    tx: Tx, asked: Onboarding, token: BootstrapToken, settings: Settings
) -> catalogue.StoredCard:
    did = asked.identity.did
    if asked.host is not None:
        return await catalogue.publish_stub(
            tx,
            did=did,
            developer_id=token.developer_id,
            organization_id=token.organization_id,
            host=asked.host,
            settings=settings,
        )
    assert asked.card is not None
    if asked.imported_from is not None:
        return await catalogue.publish_imported(
            tx,
            did=did,
            developer_id=token.developer_id,
            organization_id=token.organization_id,
            card_data=asked.card,
            imported_from=asked.imported_from,
            settings=settings,
        )
    return await catalogue.publish_card(
        tx,
        did=did,
        developer_id=token.developer_id,
        organization_id=token.organization_id,
        card_data=asked.card,
        settings=settings,
    )


async def _register(tx: Tx, identity: NewIdentity, name: str, roles: Sequence[str], maker: Maker) -> int:
    return await store.insert_agent(
        tx,
        store.NewAgent(
            did=identity.did,
            developer_id=maker.developer_id,
            organization_id=maker.organization_id,
            client_id=identity.client_id,
            client_secret_sha256=fingerprint(identity.client_secret),
            name=name,
            roles=list(roles),
            public_key=identity.public_key,
            secret_seen_by=maker.secret_seen_by,
        ),
    )
