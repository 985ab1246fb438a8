"""A developer and an agent, from registration to a balance, by the client alone."""

from decimal import Decimal

import pyotp
import pytest

from hansa_client import AgentCredentials, ApiKey, DeveloperTokens
from hansa_client.errors import (
    Conflict,
    CredentialMissing,
    Forbidden,
    NotFound,
    PreconditionFailed,
    SecondFactorNeeded,
    Unauthorized,
)
from tests.client.conftest import Open
from tests.registry import PASSWORD, TestRegistry, card_of


async def registered(connect: Open, email: str = "ada@example.org", **options: object):
    client = connect(**options)
    await client.accounts.register("Ada", email, PASSWORD, accept_terms=True, is_of_age=True)
    await client.accounts.login(email, PASSWORD)
    return client


async def test_a_developer_registers_logs_in_and_creates_an_agent_that_reads_its_balance(connect: Open):
    developer = await registered(connect)
    assert (await developer.accounts.profile()).email == "ada@example.org"
    created = await developer.agents.create(card=card_of("Painter"))
    agent = connect(agent=created.credentials)
    assert (await agent.agents.me()).did == created.agent_did
    assert (await agent.transfers.balance()).balance == Decimal(100)
    assert [own.did for own in (await developer.agents.list()).items] == [created.agent_did]


async def test_an_api_key_is_a_developer_until_it_is_revoked(connect: Open):
    developer = await registered(connect)
    made = await developer.accounts.create_api_key("Script", scopes=["profile:read"], expires_in_days=1)
    script = connect(developer=ApiKey(made.plain_api_key))
    assert (await script.accounts.profile()).name == "Ada"
    with pytest.raises(Forbidden):
        await script.agents.list()
    listed = await developer.accounts.api_keys()
    assert [key.scopes for key in listed.items] == [["profile:read"]]
    await developer.accounts.revoke_api_key(made.api_key_info.id)
    with pytest.raises(Unauthorized):
        await script.accounts.profile()


async def test_the_present_terms_are_accepted_by_their_version(connect: Open):
    developer = await registered(connect)
    version = (await developer.config()).tos_version
    accepted = await developer.accounts.accept_terms(version)
    assert accepted == await developer.accounts.profile()
    assert (accepted.tos_reconsent_required, accepted.tos_accepted_at is None) == (False, False)
    with pytest.raises(Conflict) as refused:
        await developer.accounts.accept_terms(f"{version}0")
    assert refused.value.code == "TOS_VERSION_NOT_PRESENT"


async def test_an_access_token_that_ended_is_refreshed_and_the_new_pair_is_kept(connect: Open):
    first = await (await registered(connect)).accounts.login("ada@example.org", PASSWORD)
    kept: list[DeveloperTokens] = []
    ended = DeveloperTokens("not-a-token", first.refresh_token, first.expires_at)
    client = connect(developer=ended, keep=kept.append)
    assert (await client.accounts.profile()).name == "Ada"
    assert [pair.refresh_token != first.refresh_token for pair in kept] == [True]
    again = connect(developer=kept[0])
    assert (await again.accounts.profile()).name == "Ada"


async def test_a_login_with_two_factors_is_completed_with_a_code(connect: Open, registry: TestRegistry):
    developer = await registered(connect)
    tokens = await developer.accounts.login("ada@example.org", PASSWORD)
    headers = {"Authorization": f"Bearer {tokens.access_token}"}
    setup = await registry.post("/auth/2fa/setup", json={}, headers=headers)
    totp = pyotp.TOTP(setup.json()["secret"])
    verified = await registry.post("/auth/2fa/verify", json={"code": totp.now()}, headers=headers)
    code = verified.json()["backup_codes"][0]
    client = connect()
    with pytest.raises(SecondFactorNeeded) as half:
        await client.accounts.login("ada@example.org", PASSWORD)
    await client.accounts.complete_login(half.value.partial_token, code)
    assert (await client.accounts.profile()).name == "Ada"


async def test_after_a_logout_the_client_has_no_credential(connect: Open):
    developer = await registered(connect)
    await developer.accounts.logout()
    with pytest.raises(CredentialMissing):
        await developer.accounts.profile()


async def test_a_secret_is_replaced_and_the_one_before_it_works_no_more(connect: Open):
    developer = await registered(connect)
    created = await developer.agents.create(card=card_of("Painter"))
    renewed = await developer.agents.rotate_secret(created.agent_did)
    assert (await connect(agent=renewed.credentials).agents.me()).did == created.agent_did
    with pytest.raises(Unauthorized):
        await connect(agent=created.credentials).agents.me()


async def test_a_secret_that_was_replaced_since_its_version_was_read_stays_as_it_is(connect: Open):
    developer = await registered(connect)
    created = await developer.agents.create(card=card_of("Painter"))
    (listed,) = (await developer.agents.list()).items
    renewed = await developer.agents.rotate_secret(created.agent_did, secret_version=listed.secret_version)
    with pytest.raises(PreconditionFailed):
        await developer.agents.rotate_secret(created.agent_did, secret_version=listed.secret_version)
    assert (await connect(agent=renewed.credentials).agents.me()).did == created.agent_did


async def test_a_revoked_agent_is_refused_with_the_code_of_the_registry(connect: Open):
    developer = await registered(connect)
    await developer.agents.create(card=card_of("Holder of the grant"))
    created = await developer.agents.create(card=await developer.agents.card_template() | card_of("Painter"))
    assert (await developer.agents.revoke(created.agent_did)).status == "revoked"
    with pytest.raises(Forbidden) as refused:
        await connect(agent=created.credentials).transfers.balance()
    assert refused.value.code == "AGENT_REVOKED"
    with pytest.raises(NotFound):
        await developer.agents.revoke("did:hansa:hansa.local:00000000-0000-4000-8000-000000000000")


async def test_an_agent_is_created_from_either_a_card_or_a_host(connect: Open, registry: TestRegistry):
    developer = await registered(connect)
    with pytest.raises(ValueError, match="either a card or a host"):
        await developer.agents.create()
    created = await developer.agents.create(host="https://agent.example.org")
    assert created.requires_well_known_fetch
    assert (await developer.config()).trust_domain == registry.settings.trust_domain


async def test_no_secret_is_in_a_representation(connect: Open):
    developer = await registered(connect)
    tokens = await developer.accounts.login("ada@example.org", PASSWORD)
    created = await developer.agents.create(card=card_of("Painter"))
    key = await developer.accounts.create_api_key("Script")
    shown = repr([tokens, created, created.credentials, key, ApiKey(key.plain_api_key)])
    secrets = [
        tokens.access_token,
        tokens.refresh_token,
        created.client_secret,
        created.private_key_pem,
        key.plain_api_key,
    ]
    assert [secret for secret in secrets if secret in shown] == []
    assert created.client_id in shown
    assert AgentCredentials("agent-1", "hsk_1").client_secret == "hsk_1"
