"""Create an agent: identity, card, account and grant in one commit, or nothing at all."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from hansa.foundation.events import AgentOnboarded
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import catalogue, federation, journal, ledger

from . import grants_store, rules, store
from .bootstrap import IsSuspended, OrganizationAgents, require_not_suspended
from .credentials import NewIdentity
from .errors import BootstrapTokenUsed
from .grants import fund
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
    agent_id = await _register(tx, asked.identity, token, card.name, settings)
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
    return await catalogue.publish_card(
        tx,
        did=did,
        developer_id=token.developer_id,
        organization_id=token.organization_id,
        card_data=asked.card,
        settings=settings,
    )


async def _register(
    tx: Tx, identity: NewIdentity, token: BootstrapToken, name: str, settings: Settings
) -> int:
    return await store.insert_agent(
        tx,
        store.NewAgent(
            did=identity.did,
            developer_id=token.developer_id,
            organization_id=token.organization_id,
            client_id=identity.client_id,
            client_secret_sha256=fingerprint(identity.client_secret),
            name=name,
            roles=settings.agent_rbac_default_roles,
            public_key=identity.public_key,
        ),
    )
