"""Onboarding: a developer token buys a bootstrap token, the bootstrap token creates one agent."""

import re
from datetime import datetime
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hansa.foundation.values.jwk import jwk_of
from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from hansa.rooms.agents.grants import pay_owed_grants
from tests.registry import at_once, card_of
from tests.rooms.catalogue.pulls.agent_host import PULL_STATUS, pull_cards

REQUEST = "/onboard/bootstrap/request-token"
CREATE = "/onboard/create_agent"


def wanted(**changes):
    """A creation that is accepted, with changes; a member changed to None is left out."""
    body = {"agent_did_method": "hansa", "agent_card": card_of(), **changes}
    return {name: value for name, value in body.items() if value is not None}


async def create(registry, token, body=None):
    headers = {"Bootstrap-Token": token, **registry.elsewhere()}
    return await registry.post(CREATE, json=wanted() if body is None else body, headers=headers)


async def created(registry, developer, **changes):
    answer = await create(registry, await developer.bootstrap_token(), wanted(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def sql(registry, statement, *arguments):
    return await registry.database.transaction(lambda tx: tx.fetch(statement, *arguments))


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


# The bootstrap token


async def test_an_empty_object_buys_a_token_that_lasts_five_minutes(registry):
    developer = await registry.developer()
    answer = await registry.post(REQUEST, json={}, headers=developer.headers)
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"bootstrap_token", "expires_in", "expires_at"}
    assert body["bootstrap_token"].startswith("bst_")
    assert body["expires_in"] == 300
    (row,) = await sql(
        registry, "SELECT expires_at - issued_at AS lifetime, expires_at FROM agents_bootstrap_token"
    )
    assert row["lifetime"].total_seconds() == 300
    assert datetime.fromisoformat(body["expires_at"]) == row["expires_at"]
    assert answer.headers["cache-control"] == "no-store"


async def test_the_request_may_say_who_asks_and_for_what(registry):
    developer = await registry.developer()
    body = {"agent_type_hint": "translator", "requested_by": "ci"}
    assert (await registry.post(REQUEST, json=body, headers=developer.headers)).status_code == 200
    too_long = {"agent_type_hint": "x" * 129}
    assert (await registry.post(REQUEST, json=too_long, headers=developer.headers)).status_code == 422


async def test_a_request_without_a_body_is_a_validation_error(registry):
    developer = await registry.developer()
    assert (await registry.post(REQUEST, headers=developer.headers)).status_code == 422


async def test_only_a_developer_may_ask_for_a_token(registry):
    agent = await registry.agent()
    assert (await registry.post(REQUEST, json={}, headers=registry.elsewhere())).status_code == 401
    assert (await registry.post(REQUEST, json={}, headers=agent.headers)).status_code == 401


async def test_an_unverified_developer_is_refused_with_a_code_of_its_own(registry):
    developer = await registry.developer()
    await sql(registry, "UPDATE people_developer SET is_verified = false")
    answer = await registry.post(REQUEST, json={}, headers=developer.headers)
    assert code(answer) == (403, "DEVELOPER_UNVERIFIED")


async def test_the_21st_request_in_a_minute_from_one_address_is_too_many(registry):
    developer = await registry.developer()
    headers = developer.headers
    answers = [await registry.post(REQUEST, json={}, headers=headers) for _ in range(21)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0


async def test_the_11th_creation_in_a_minute_from_one_address_is_too_many(registry):
    headers = {"Bootstrap-Token": "bst_unknown", **registry.elsewhere()}
    answers = [await registry.post(CREATE, json=wanted(), headers=headers) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]


async def test_a_missing_token_is_unauthorized_whatever_the_body(registry):
    for body in (wanted(), {}):
        answer = await registry.post(CREATE, json=body, headers=registry.elsewhere())
        assert code(answer) == (401, "AUTH_FAILED")


@pytest.mark.parametrize("token", ["bst_" + "0" * 64, "x" * 5000, "bst_é".encode("latin-1"), ""])
async def test_an_unknown_token_is_unauthorized(registry, token):
    assert (await create(registry, token)).status_code == 401


async def test_the_authorization_header_does_not_carry_a_bootstrap_token(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    headers = {"Authorization": f"Bearer {token}", **registry.elsewhere()}
    assert (await registry.post(CREATE, json=wanted(), headers=headers)).status_code == 401


async def test_an_expired_token_is_unauthorized(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    await sql(
        registry,
        "UPDATE agents_bootstrap_token SET issued_at = now() - interval '6 minutes', expires_at = now()",
    )
    assert (await create(registry, token)).status_code == 401


async def test_a_used_token_is_a_conflict_even_after_its_end(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    assert (await create(registry, token)).status_code == 201
    assert code(await create(registry, token)) == (409, "BOOTSTRAP_TOKEN_USED")
    await sql(
        registry,
        "UPDATE agents_bootstrap_token SET issued_at = now() - interval '6 minutes', expires_at = now()",
    )
    assert code(await create(registry, token)) == (409, "BOOTSTRAP_TOKEN_USED")


async def test_one_token_used_many_times_at_once_creates_one_agent(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    answers = await at_once(*(create(registry, token) for _ in range(50)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 49]
    (row,) = await sql(registry, "SELECT count(*) FROM agents_agent")
    assert row["count"] == 1


# The new agent


async def test_a_new_agent_answers_with_its_identity_and_its_credentials(registry):
    answer = await create(registry, await (await registry.developer()).bootstrap_token())
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()
    assert set(made) == {
        "agent_did",
        "client_id",
        "client_secret",
        "account_status",
        "initial_funding_status",
        "agent_card_id",
        "agent_card_name",
        "requires_well_known_fetch",
        "private_key_pem",
    }
    method, issuer, unique = made["agent_did"].removeprefix("did:").split(":")
    assert (method, issuer, UUID(unique).version) == ("hansa", "hansa.local", 4)
    assert re.fullmatch(r"agent-[a-z0-9]{16}", made["client_id"])
    assert re.fullmatch(r"hsk_[0-9a-f]{64}", made["client_secret"])
    assert made["account_status"] == "active"
    assert made["initial_funding_status"] == "completed"
    assert UUID(made["agent_card_id"])
    assert made["agent_card_name"] == "Translator"
    assert made["requires_well_known_fetch"] is False


async def test_a_registry_without_an_issuer_namespace_mints_uuid_shaped_dids(start_registry):
    registry = await start_registry(did_namespace="")
    agent = await registry.agent()
    assert UUID(agent.did.removeprefix("did:hansa:")).version == 4


async def test_the_card_is_readable_by_the_did(registry):
    made = await created(registry, await registry.developer())
    answer = await registry.get(f"/agent-cards/{made['agent_did']}")
    assert answer.status_code == 200
    assert answer.json()["id"] == made["agent_card_id"]


async def test_a_host_makes_a_stub_that_awaits_the_agents_own_card(registry):
    made = await created(
        registry, await registry.developer(), agent_card=None, agent_host="https://agent.hansa.dev"
    )
    assert made["requires_well_known_fetch"] is True
    assert (await registry.get(f"/agent-cards/{made['agent_did']}")).status_code == 200


async def test_of_host_and_card_the_host_is_preferred(registry):
    made = await created(registry, await registry.developer(), agent_host="https://agent.hansa.dev")
    assert (made["requires_well_known_fetch"], made["agent_card_name"]) == (True, "agent.hansa.dev")


@pytest.mark.parametrize(
    "private",
    [
        "http://127.0.0.1:8080",
        "https://localhost",
        "http://10.1.2.3/agents/",
        "http://intranet:9000",
        "http://[::1]",
    ],
)
async def test_an_agent_with_a_private_host_is_created_and_its_card_never_pulled(registry, private):
    made = await created(registry, await registry.developer(), agent_card=None, agent_host=private)
    assert made["requires_well_known_fetch"] is True
    await pull_cards(registry)
    card = (await registry.get(f"/agent-cards/{made['agent_did']}")).json()
    pulled = [card[member] for member in ("last_pull_status", "last_pull_attempt_at", "pull_failures")]
    assert pulled == ["internal_host", None, 0]
    operator = await registry.administrator("admin_platform")
    status = (await registry.get(PULL_STATUS, headers=operator.headers)).json()
    assert status["reasons"]["internal_host"] == 1
    assert status["reasons"]["attempted_failed"] == 0


async def test_the_private_key_shown_belongs_to_the_published_public_key(registry):
    made = await created(registry, await registry.developer())
    private_key = load_pem_private_key(made["private_key_pem"].encode(), password=None)
    assert isinstance(private_key, Ed25519PrivateKey)
    published = (await registry.get(f"/agents/{made['agent_did']}/public-key")).json()
    assert published == {
        **jwk_of(private_key.public_key().public_bytes_raw()),
        "kid": published["kid"],
    }


async def test_a_key_that_is_brought_is_the_agents_and_no_private_key_is_shown(registry):
    jwk = jwk_of(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    made = await created(registry, await registry.developer(), public_key_jwk={**jwk, "kid": "mine"})
    assert made["private_key_pem"] is None
    published = (await registry.get(f"/agents/{made['agent_did']}/public-key")).json()
    assert published["x"] == jwk["x"]
    assert published["kid"] != "mine"


async def test_an_agent_onboarded_event_states_card_and_funding(registry):
    made = await created(registry, await registry.developer())
    events = (await registry.get("/public/eventstore-recent")).json()["events"]
    (onboarded,) = [event for event in events if event["event_type"] == "AgentOnboarded"]
    assert onboarded["aggregate_id"] == made["agent_did"]
    assert onboarded["data"] == {
        "did": made["agent_did"],
        "card_id": made["agent_card_id"],
        "first_agent": True,
        "initial_funding_status": "completed",
    }


async def test_secrets_are_nowhere_in_the_database_in_clear(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    made = (await create(registry, token)).json()
    seed = load_pem_private_key(made["private_key_pem"].encode(), password=None).private_bytes_raw()
    # Without the prefix, as raw bytes and as bytes of text: however a column would show them.
    secrets = [token[4:], made["client_secret"][4:], seed.hex(), made["private_key_pem"].splitlines()[1]]
    secrets += [text.encode().hex() for text in (token[4:], made["client_secret"][4:])]
    tables = await sql(
        registry, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    for table in tables:
        for row in await sql(registry, f'SELECT to_jsonb(t)::text AS whole FROM "{table["table_name"]}" t'):
            assert not [secret for secret in secrets if secret in row["whole"]], table["table_name"]


# What is refused leaves the token usable


HOSTILE_BODIES = {
    "no method": wanted(agent_did_method=None),
    "another method": wanted(agent_did_method="web"),
    "neither host nor card": wanted(agent_card=None),
    "an empty card": wanted(agent_card={}),
    "a card that is a list": wanted(agent_card=[]),
    "a host on a port of another protocol": wanted(agent_card=None, agent_host="https://agent.hansa.dev:22"),
    "a bad host beside a good card": wanted(agent_host="ftp://agent.hansa.dev"),
    "no address": wanted(agent_card=None, agent_host=""),
    "a key of another type": wanted(public_key_jwk={"kty": "RSA", "n": "AQAB", "e": "AQAB"}),
    "an empty key": wanted(public_key_jwk={}),
    "the identity point": wanted(public_key_jwk=jwk_of((1).to_bytes(32, "little"))),
    "a private key": wanted(public_key_jwk={**jwk_of(bytes(31) + b"\x01"), "d": "AAAA"}),
}


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES.keys())
async def test_a_refused_body_is_a_422_and_leaves_the_token_usable(registry, body):
    token = await (await registry.developer()).bootstrap_token()
    answer = await create(registry, token, body)
    assert answer.status_code == 422, answer.text
    assert (await create(registry, token)).status_code == 201


async def test_a_card_may_be_larger_than_other_bodies(registry):
    token = await (await registry.developer()).bootstrap_token()
    padding = " " * (1 << 20)
    headers = {"Bootstrap-Token": token, "Content-Type": "application/json", **registry.elsewhere()}
    answer = await registry.post(CREATE, content=padding + "{}", headers=headers)
    assert answer.status_code == 422
    answer = await registry.post(CREATE, content=padding * 2 + "{}", headers=headers)
    assert answer.status_code == 413


# The genesis grant


async def test_the_first_agent_receives_the_grant_and_the_second_does_not(registry):
    developer = await registry.developer()
    first, second = await developer.agent(), await developer.agent(name="Second")
    assert first.created["initial_funding_status"] == "completed"
    assert second.created["initial_funding_status"] == "not_first_agent"
    assert (await first.balance(), await second.balance()) == ("100", "0")


async def test_first_agents_created_at_once_receive_exactly_one_grant(registry):
    developer = await registry.developer()
    tokens = [await developer.bootstrap_token() for _ in range(5)]
    answers = await at_once(
        *(
            create(registry, token, wanted(agent_card=card_of(name=f"Agent {number}")))
            for number, token in enumerate(tokens)
        )
    )
    statuses = sorted(answer.json()["initial_funding_status"] for answer in answers)
    assert statuses == ["completed", *["not_first_agent"] * 4]
    (row,) = await sql(registry, "SELECT count(*) FROM ledger_transaction WHERE tx_type = 'grant'")
    assert row["count"] == 1


async def test_first_agents_of_different_developers_created_at_once_all_receive_theirs(registry):
    developers = [await registry.developer() for _ in range(4)]
    agents = await at_once(*(developer.agent() for developer in developers))
    assert [agent.created["initial_funding_status"] for agent in agents] == ["completed"] * 4


async def test_an_empty_treasury_is_reported_and_the_agent_created_all_the_same(start_registry):
    registry = await start_registry(genesis_supply="150")
    first, second = await registry.agent(), await registry.agent()
    assert first.created["initial_funding_status"] == "completed"
    assert second.created["initial_funding_status"] == "treasury_empty"
    assert await second.balance() == "0"


async def mint(registry, amount, ref="more"):
    book = ledger.Book.of(registry.settings)
    await registry.database.transaction(
        lambda tx: ledger.mint(
            tx, amount=parse_amount(amount), ref=ref, amount_max=parse_amount("1000"), book=book
        )
    )


async def test_a_grant_that_met_an_empty_treasury_stays_due_and_is_paid_once_the_treasury_can(start_registry):
    registry = await start_registry(genesis_supply="150")
    await registry.agent()
    second, third = await registry.agent(), await registry.agent()
    await pay_owed_grants(registry.runtime)
    assert (await second.balance(), await third.balance()) == ("0", "0")
    await mint(registry, "60")
    await at_once(*(pay_owed_grants(registry.runtime) for _ in range(4)))
    assert (await second.balance(), await third.balance()) == ("100", "0")
    await mint(registry, "1000", "plenty")
    await at_once(*(pay_owed_grants(registry.runtime) for _ in range(4)))
    await pay_owed_grants(registry.runtime)
    assert (await second.balance(), await third.balance()) == ("100", "100")
    assert (await registry.supply())["status"] == "OK"


async def test_a_grant_owed_to_a_revoked_agent_is_not_paid(start_registry):
    registry = await start_registry(genesis_supply="0")
    agent = await registry.agent()
    assert agent.created["initial_funding_status"] == "treasury_empty"
    assert (await registry.http.delete("/api/v1/agents/me", headers=agent.headers)).status_code == 200
    await mint(registry, "1000")
    await pay_owed_grants(registry.runtime)
    (row,) = await sql(registry, "SELECT count(*) FROM ledger_transaction WHERE tx_type = 'grant'")
    assert row["count"] == 0


@pytest.mark.parametrize("switch", [{"genesis_grant_enabled": False}, {"genesis_grant_amount": "0"}])
async def test_a_registry_that_gives_no_grant_says_so(start_registry, switch):
    registry = await start_registry(**switch)
    agent = await registry.agent()
    assert agent.created["initial_funding_status"] == "disabled"
    assert await agent.balance() == "0"


async def test_the_grant_is_of_the_amount_that_is_set(start_registry):
    registry = await start_registry(genesis_grant_amount="12.5")
    assert await (await registry.agent()).balance() == "12.5"


async def test_a_failed_creation_leaves_the_claim_to_the_grant(registry):
    developer = await registry.developer()
    token = await developer.bootstrap_token()
    assert (await create(registry, token, wanted(agent_card={}))).status_code == 422
    assert (await create(registry, token)).json()["initial_funding_status"] == "completed"


# The template


async def test_the_card_template_is_a_card_that_is_accepted(registry):
    developer = await registry.developer()
    answer = await registry.get("/onboard/agent-card-template", headers=developer.headers)
    assert answer.status_code == 200
    await created(registry, developer, agent_card=answer.json())


async def test_the_card_template_has_what_clients_of_both_formats_read(registry):
    developer = await registry.developer()
    template = (await registry.get("/onboard/agent-card-template", headers=developer.headers)).json()
    assert {"supportedInterfaces", "version", "capabilities", "skills"} <= {*template}
    assert {"url", "preferredTransport", "protocolVersion", "authSchemes", "agentVersion"} <= {*template}
    assert template["url"] == template["supportedInterfaces"][0]["url"]


async def test_examples_of_the_template_that_were_left_in_one_format_are_derived_from_the_other(registry):
    developer = await registry.developer()
    template = (await registry.get("/onboard/agent-card-template", headers=developer.headers)).json()
    interface = {"url": "https://mine.example/a2a", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    provider = {**template["provider"], "organization": "Mine"}
    written = {**template, "supportedInterfaces": [interface], "provider": provider, "version": "2.0.0"}
    agent = await created(registry, developer, agent_card=written)
    card = (await registry.get(f"/agent-cards/{agent['agent_did']}")).json()["card_data"]
    assert (card["url"], card["preferredTransport"]) == ("https://mine.example/a2a", "GRPC")
    assert (card["provider"]["name"], card["agentVersion"]) == ("Mine", "2.0.0")


async def test_the_card_template_is_for_developers(registry):
    assert (await registry.get("/onboard/agent-card-template")).status_code == 401
