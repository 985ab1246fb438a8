"""The page of an agent's credentials, by the issuer of workload identities."""

import re
from dataclasses import dataclass

import pytest

from hansa.foundation.events.agents import AgentMtlsEnrolled, AgentMtlsRevoked
from hansa.rooms import agents
from tests.browsing import BrowserOf, browser_of
from tests.registry import StartRegistry, TestAgent

ENABLE, DISABLE = "Enable mutual TLS", "Disable the workload identity"


@dataclass
class Owner:
    """A person at the page of an agent of theirs."""

    browser: BrowserOf
    agent: TestAgent

    @property
    def path(self) -> str:
        return f"/account/agents/{self.agent.did}/credentials"

    async def open(self) -> str:
        await self.browser.open(self.path)
        return self.browser.text

    async def act(self, name: str) -> str:
        """Press a button of the page."""
        await self.open()
        await self.browser.send(f"/account/agents/{self.agent.did}/{name}")
        return self.browser.text

    async def events(self) -> list[str]:
        kinds = [AgentMtlsEnrolled.__name__, AgentMtlsRevoked.__name__]
        return await self.agent.registry.database.read(
            lambda tx: tx.fetchval(
                "SELECT coalesce(array_agg(event_type ORDER BY seq), '{}') FROM journal_event"
                " WHERE aggregate_id = $1 AND event_type = ANY($2)",
                self.agent.did,
                kinds,
            )
        )


async def owner_of_one(start_registry: StartRegistry, **settings: object) -> Owner:
    registry = await start_registry(**settings)
    developer = await registry.developer()
    return Owner(await browser_of(registry, developer), await developer.agent())


@pytest.fixture
async def owner(start_registry: StartRegistry) -> Owner:
    """At a registry whose certificates SPIRE issues; its agent is out of reach, which concerns no page."""
    return await owner_of_one(
        start_registry, agent_identity_issuer="spire", spiffe_endpoint_socket="unix:///run/none/api.sock"
    )


async def test_where_spire_issues_an_identity_is_enabled_and_disabled_without_a_certificate(owner: Owner):
    text = await owner.open()
    assert "SPIRE issues the certificates" in text
    assert (ENABLE in text, DISABLE in text) == (True, False)

    text = await owner.act("enable-mtls")
    assert "The workload identity is enabled." in text
    assert f"spiffe://hansa.local/agent/{owner.agent.did.replace(':', '-')}" in text
    assert (ENABLE in text, DISABLE in text) == (False, True)
    assert not re.search(r"PRIVATE KEY|Certificate (issued|expires)|Download the certificate", text)

    text = await owner.act("disable-mtls")
    assert "The workload identity is disabled." in text
    assert (ENABLE in text, DISABLE in text) == (True, False)
    assert await owner.events() == ["AgentMtlsEnrolled", "AgentMtlsRevoked"]


async def test_where_spire_issues_a_revoked_identity_can_only_be_restored_by_an_administrator(owner: Owner):
    await owner.act("enable-mtls")
    await owner.agent.registry.database.transaction(lambda tx: agents.revoke_mtls(tx, owner.agent.did))
    text = await owner.open()
    assert "no workload identity: it is revoked" in text
    assert (ENABLE in text, DISABLE in text) == (False, False)


async def test_where_nobody_issues_the_page_says_so_and_enabling_is_refused(start_registry: StartRegistry):
    owner = await owner_of_one(start_registry, agent_identity_issuer="none")
    text = await owner.open()
    assert "This registry does not issue workload identities." in text
    assert ENABLE not in text
    base = f"/account/agents/{owner.agent.did}"
    await owner.browser.post(f"{base}/enable-mtls", owner.browser.form(f"{base}/rotate-secret").fields)
    assert owner.browser.page.status_code == 503
    assert await owner.events() == []
