"""Specification 2, "Registry card and licence routes": public documents with content that a client can use."""

from datetime import UTC, datetime

from tests.registry import StartRegistry, TestRegistry

BASE = "https://registry.example"


async def fields_of(registry: TestRegistry) -> dict[str, str]:
    answer = await registry.http.get("/.well-known/security.txt")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return dict(line.split(": ", 1) for line in answer.text.splitlines())


async def test_security_txt_names_the_contact_and_ends_within_a_year(start_registry: StartRegistry):
    registry = await start_registry(
        public_base_url=BASE,
        security_contact="mailto:security@registry.example",
        security_policy_url="https://registry.example/policy",
    )
    fields = await fields_of(registry)
    assert fields["Contact"] == "mailto:security@registry.example"
    assert fields["Policy"] == "https://registry.example/policy"
    assert fields["Canonical"] == f"{BASE}/.well-known/security.txt"
    ends = datetime.fromisoformat(fields["Expires"])
    assert 170 < (ends - datetime.now(UTC)).days < 365


async def test_without_a_contact_there_is_no_security_txt(registry: TestRegistry):
    answer = await registry.http.get("/.well-known/security.txt")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SECURITY_CONTACT_MISSING")


async def test_an_agent_gets_its_token_where_the_metadata_of_the_authorization_server_says(
    registry: TestRegistry,
):
    document = (await registry.http.get("/.well-known/oauth-authorization-server")).json()
    agent = await registry.agent()
    form = {
        "grant_type": "client_credentials",
        "client_id": agent.created["client_id"],
        "client_secret": agent.created["client_secret"],
    }
    assert form["grant_type"] in document["grant_types_supported"]
    path = document["token_endpoint"].removeprefix(document["issuer"])
    answer = await registry.http.post(path, data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    assert answer.json()["access_token"]


async def test_the_api_names_its_authorization_server_or_the_one_that_is_set(start_registry: StartRegistry):
    for server in (None, "https://login.example"):
        registry = await start_registry(public_base_url=BASE, oauth_authorization_server_url=server)
        document = (await registry.http.get("/.well-known/oauth-protected-resource")).json()
        assert document["authorization_servers"] == [server or BASE]
        assert (document["resource"], document["bearer_methods_supported"]) == (BASE, ["header"])
