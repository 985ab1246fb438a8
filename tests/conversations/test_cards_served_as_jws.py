"""An agent serves its card as a JWS by its own key: compact, flattened or general, as well as plain JSON."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.founded import open_copy
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.rooms.catalogue.pulls.agent_host import (
    AgentHost,
    card_of_agent,
    forget_visits,
    hosted_agent,
    hosting,
    let_be_due,
    one_row,
    pull_cards,
    said,
    visit_of,
)

HEADER: dict[str, Any] = {"alg": "EdDSA", "kid": "key-1", "typ": "JOSE"}
STRANGER = Ed25519PrivateKey.generate()


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def parts(card: Any, key: Ed25519PrivateKey, **header: Any) -> tuple[str, str, str]:
    """Protected header, payload and signature; a `card` of bytes is signed as it is."""
    payload = b64(card if isinstance(card, bytes) else json.dumps(card).encode())
    protected = b64(json.dumps({**HEADER, **header}).encode())
    return protected, payload, b64(key.sign(f"{protected}.{payload}".encode()))


def compact(card: Any, key: Ed25519PrivateKey, **header: Any) -> bytes:
    return ".".join(parts(card, key, **header)).encode() + b"\n"


def flattened(card: Any, key: Ed25519PrivateKey, **header: Any) -> bytes:
    protected, payload, signature = parts(card, key, **header)
    return json.dumps({"payload": payload, "protected": protected, "signature": signature}).encode()


def general(card: Any, key: Ed25519PrivateKey, **header: Any) -> bytes:
    """Return the card as a general JWS with two signatures, the second one by `key`."""
    payload = parts(card, key)[1]
    entries = [
        {"protected": protected, "signature": signature}
        for protected, _, signature in (parts(card, STRANGER), parts(card, key, **header))
    ]
    return json.dumps({"payload": payload, "signatures": entries}).encode()


FORMS = {"compact": compact, "flattened": flattened, "general": general}
Form = Callable[..., bytes]


class Stage:
    """A registry with a policy, beside a host of agents."""

    def __init__(self, registry: TestRegistry, agents: AgentHost) -> None:
        self.registry, self.agents = registry, agents

    async def agent(self) -> tuple[TestAgent, Ed25519PrivateKey]:
        agent = await hosted_agent(self.registry, self.agents.url)
        key = load_pem_private_key(agent.created["private_key_pem"].encode(), None)
        assert isinstance(key, Ed25519PrivateKey)
        return agent, key

    async def pull(self, body: bytes) -> None:
        self.agents.raw = said(body, "Content-Type: application/jose")
        await let_be_due(self.registry)
        assert await pull_cards(self.registry) == 1

    async def is_noted_as_signed(self, agent: TestAgent) -> bool:
        row = await one_row(
            self.registry,
            "SELECT signature_verified_at IS NOT NULL AS is_signed FROM catalogue_card WHERE did = $1",
            agent.did,
        )
        return bool(row["is_signed"])


@pytest.fixture(scope="module", params=[False, True], ids=["noted", "enforced"])
async def opened(
    request: pytest.FixtureRequest, database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    policy = {
        "jws_verify_enabled": True,
        "jws_enforce": request.param,
        "jws_require_signature": request.param,
    }
    directory = tmp_path_factory.mktemp("jws")
    async with (
        hosting() as agents,
        open_copy(database_farm, directory, outgoing_allow_user_hosts=agents.place, **policy) as registry,
    ):
        yield Stage(registry, agents)


@pytest.fixture
async def stage(opened: Stage) -> AsyncIterator[Stage]:
    yield opened
    await forget_visits(opened.registry)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
async def test_a_card_served_as_a_jws_by_the_agents_key_is_read_and_noted_as_signed(stage: Stage, form: Form):
    agent, key = await stage.agent()
    await stage.pull(form(stage.agents.card("Weaver"), key))
    card = await card_of_agent(agent)
    assert (card["name"], card["last_pull_status"]) == ("Weaver", "updated")
    assert "signatures" not in card["card_data"]
    assert await stage.is_noted_as_signed(agent)
    await stage.pull(form(stage.agents.card("Weaver"), key, iat=1))
    assert (await card_of_agent(agent))["last_pull_status"] == "unchanged"


BAD_SIGNATURES: dict[str, Callable[[Any, Ed25519PrivateKey], bytes]] = {
    "another key": lambda card, _: compact(card, STRANGER),
    "no algorithm": lambda card, key: compact(card, key, alg="none"),
    "no signature": lambda card, key: compact(card, key, alg="none").rpartition(b".")[0] + b".",
    "another algorithm": lambda card, key: compact(card, key, alg="HS256"),
    "unencoded payload": lambda card, key: compact(card, key, b64=False, crit=["b64"]),
    "critical extension": lambda card, key: flattened(card, key, crit=["exp"], exp=1),
    "key in the header": lambda card, _: flattened(card, STRANGER, jwk={"kty": "OKP"}),
    "a registry's key": lambda card, key: compact(card, key, kid="spiffe://x.example/registry/x#1"),
    "seventeen signatures": lambda card, key: json.dumps(
        {"payload": parts(card, key)[1], "signatures": [{"protected": "", "signature": ""}] * 17}
    ).encode(),
    "both forms at once": lambda card, key: json.dumps(
        {**json.loads(general(card, key)), **json.loads(flattened(card, key))}
    ).encode(),
    "a header that is not protected": lambda card, key: json.dumps(
        {"payload": parts(card, key)[1], "header": HEADER, "signature": parts(card, key)[2]}
    ).encode(),
    "signatures that are no objects": lambda card, key: json.dumps(
        {"payload": parts(card, key)[1], "signatures": [None, 5, "x"]}
    ).encode(),
    "another payload": lambda card, key: b".".join(
        [compact(card, key).split(b".")[0], b64(json.dumps(card).encode() + b" ").encode(), compact(card, key).strip().split(b".")[2]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("served", BAD_SIGNATURES.values(), ids=BAD_SIGNATURES.keys())
async def test_a_jws_that_is_not_the_agents_is_read_unsigned_or_refused_where_that_is_enforced(
    stage: Stage, served: Callable[[Any, Ed25519PrivateKey], bytes]
):
    agent, key = await stage.agent()
    await stage.pull(served(stage.agents.card("Weaver"), key))
    card = await card_of_agent(agent)
    if stage.registry.settings.jws_enforce:
        assert card["last_pull_status"] == "attempted_failed"
        assert "The signature is refused" in (await visit_of(agent))["trouble"]
    else:
        assert (card["name"], card["last_pull_status"]) == ("Weaver", "updated")
    assert not await stage.is_noted_as_signed(agent)


NO_CARDS: dict[str, Callable[[Ed25519PrivateKey], bytes]] = {
    "a payload that is no JSON": lambda key: compact(b"not json", key),
    "a member twice": lambda key: compact(b'{"name": "x", "name": "y"}', key),
    "a list": lambda key: flattened([], key),
    "a JWS within": lambda key: compact(json.loads(flattened({}, key)), key),
    "deep": lambda key: compact(b"[" * 100_000, key),
    "padding": lambda key: compact({"a": 1}, key).replace(b".", b"=.", 1),
    "payload of other characters": lambda key: json.dumps(
        {"payload": "a+/=", "protected": "e30", "signature": ""}
    ).encode(),
    "an empty payload": lambda key: flattened(b"", key),
    "half a card": lambda key: compact({"name": "No more than a name"}, key),
}


@pytest.mark.parametrize("served", NO_CARDS.values(), ids=NO_CARDS.keys())
async def test_a_jws_without_a_card_changes_nothing(
    stage: Stage, served: Callable[[Ed25519PrivateKey], bytes]
):
    agent, key = await stage.agent()
    await stage.pull(served(key))
    card = await card_of_agent(agent)
    assert (card["last_pull_status"], card["pull_failures"]) == ("attempted_failed", 1)
    assert (await visit_of(agent))["trouble"]


async def test_plain_json_with_signatures_is_read_as_before(stage: Stage):
    agent, _ = await stage.agent()
    card = stage.agents.card("Weaver", payload="a member of the owner's")
    await stage.pull(json.dumps(card).encode())
    expected = "attempted_failed" if stage.registry.settings.jws_enforce else "updated"
    assert (await card_of_agent(agent))["last_pull_status"] == expected
