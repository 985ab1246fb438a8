"""The specification on licence/mine at the operator: it verifies the root, keeps the licence and states it on its card."""

from typing import Any

import msgspec
import pytest

from hansa.foundation.values.jwk import jwk_of
from hansa.rooms import federation
from hansa.rooms.federation.licences import AnsweredLicence, keep_operator_licence
from hansa_verify import licence_hash
from tests.conversations.test_operator_licences import FRAME, change, frame, mine
from tests.licences import TestGenesis
from tests.registry import StartRegistry, TestRegistry


class Network:
    """A genesis, a frame with its certificate, and an operator registry of that frame that pins the root."""

    def __init__(self, genesis: TestGenesis, frame: TestRegistry, operator: TestRegistry) -> None:
        self.genesis, self.frame, self.operator = genesis, frame, operator

    async def keep(self, answer: dict[str, Any], **settings: object) -> bool:
        """Keep an answer of the frame, as the job does, and publish the card."""
        runtime = self.operator.runtime
        used = runtime.settings.model_copy(update=settings)
        answered = msgspec.convert(answer, AnsweredLicence)
        is_new = await runtime.database.transaction(lambda tx: keep_operator_licence(tx, used, answered))
        await runtime.database.transaction(lambda tx: federation.publish_card(tx, used, runtime.seal))
        return is_new

    async def held(self) -> federation.HeldOperatorLicence:
        found = await self.operator.database.query(federation.held_operator_licence)
        assert found is not None
        return found

    async def card(self) -> dict[str, Any]:
        answer = await self.operator.http.get("/.well-known/registry-card.json")
        return answer.json()  # type: ignore[no-any-return]


@pytest.fixture
async def network(start_registry: StartRegistry) -> Network:
    genesis = TestGenesis("genesis.example")
    framed = await start_registry(**frame())
    key = await framed.database.read(federation.licensing_public_key)
    delivered = federation.Delivered(genesis.frame(FRAME, jwk_of(key)), [genesis.certificate])
    settings, seal = framed.settings, framed.runtime.seal
    await framed.database.transaction(lambda tx: federation.join_network(tx, None, settings, seal, delivered))
    operator = await start_registry(
        trust_domain=FRAME,
        registry_name="north",
        registry_tier="cloud-operator",
        federation_root_hash=licence_hash(genesis.certificate),
    )
    return Network(genesis, framed, operator)


async def test_the_licence_is_verified_kept_and_shown_on_the_card(network: Network):
    answer = await mine(network.frame)
    assert await network.keep(answer)
    assert not await network.keep(answer)
    held = await network.held()
    assert (held.state, held.reason, held.hash) == ("active", "", answer["operator"]["hash"])
    card = await network.card()
    licence = card["federation"]["licence"]
    assert (licence["hash"], licence["type"]) == (answer["network"]["hash"], "frame")
    assert licence["network"] == "genesis.example"
    assert licence["operator"] == {
        "hash": held.hash,
        "state": "active",
        "reason": None,
        "plan": "operator-free",
        "frame": FRAME,
        "expires_at": None,
    }
    # It states the certificate of its frame, and is no frame for that.
    assert (card["identity"]["tier"], card["federation"]["is_sovereign_frame"]) == ("cloud-operator", False)
    served = await network.operator.http.get("/.well-known/federation-licence.json")
    assert served.json()["hash"] == answer["network"]["hash"]


@pytest.mark.parametrize(("act", "state"), [("suspend", "suspended"), ("revoke", "revoked")])
async def test_a_suspended_or_revoked_licence_is_shown_as_such(network: Network, act: str, state: str):
    await network.keep(await mine(network.frame))
    await change(network.frame, act)
    assert await network.keep(await mine(network.frame))
    assert (await network.card())["federation"]["licence"]["operator"]["state"] == state
    assert (await network.held()).reason == f"{state}: the frame reports this state"
    if act == "suspend":
        await change(network.frame, "reinstate")
        assert await network.keep(await mine(network.frame))
        assert (await network.held()).state == "active"


async def test_a_delivered_root_is_not_trusted_by_being_delivered(network: Network):
    answer = await mine(network.frame)
    await network.keep(answer, federation_root_hash=None)
    assert (await network.held()).state == "unverified"
    await network.keep(answer, federation_root_hash="0" * 64)
    assert (await network.held()).state == "untrusted_root"


async def test_without_a_network_the_licence_is_unverified(start_registry: StartRegistry, network: Network):
    other = await start_registry(**frame())
    await network.keep(await mine(other))
    held = await network.held()
    assert (held.state, held.reason.partition(":")[0]) == ("unverified", "no_network")


async def test_the_certificate_of_another_operator_does_not_count(network: Network):
    await network.keep(await mine(network.frame, "south"))
    held = await network.held()
    assert (held.state, held.reason.partition(":")[0]) == ("malformed", "other_subject")


async def test_a_network_certificate_of_another_trust_domain_is_not_kept(network: Network):
    answer = await mine(network.frame)
    key = await network.frame.database.read(federation.licensing_public_key)
    foreign = network.genesis.frame("other.example", jwk_of(key))
    await network.keep({**answer, "network": {**answer["network"], "certificate": foreign}})
    assert (await network.card())["federation"]["licence"]["hash"] is None
    assert (await network.held()).state == "unverified"


async def test_a_text_that_is_no_certificate_leaves_what_was_kept(network: Network):
    answer = await mine(network.frame)
    await network.keep(answer)
    changed = {**answer["operator"], "certificate": "no.certificate.at-all"}
    assert not await network.keep({**answer, "operator": changed})
    assert (await network.held()).state == "active"


async def test_a_changed_signature_is_malformed(network: Network):
    answer = await mine(network.frame)
    head, payload, signature = answer["operator"]["certificate"].split(".")
    forged = f"{head}.{payload}.{'A' * 10}{signature[10:]}"
    await network.keep({**answer, "operator": {**answer["operator"], "certificate": forged}})
    assert (await network.held()).state == "malformed"


async def test_a_licence_that_the_frame_no_longer_has_leaves_the_card(network: Network):
    answer = await mine(network.frame)
    await network.keep(answer)
    assert await network.keep({**answer, "operator": None})
    assert (await network.card())["federation"]["licence"]["operator"] is None
