"""`hansa verify contract-proof`: a contract as evidence is judged with the card of its registry, from its address and offline."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa_verify import read_keys, verify_contract_proof
from tests.registry import DatabaseFarm
from tests.rooms.commerce.agreements import Agreements, open_agreements

ADMIN = "/admin/jurisdiction/authorizations"


@pytest.fixture(scope="module")
async def agreements(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agreements]:
    async with open_agreements(database_farm, tmp_path_factory.mktemp("proofs")) as opened:
        yield opened


@pytest.fixture(scope="module")
async def served(agreements: Agreements) -> dict[str, Any]:
    """The path of a proof, its text, the card, and the keys."""
    registry = agreements.registry
    contract = await agreements.accepted(
        await agreements.contractor(),
        await agreements.provider(),
        contract_type="attestation",
        title="Zulassung für Köln",
        terms={"b": "ü", "a": [1, None]},
    )
    admin = await registry.administrator("admin_platform")
    body = {
        "action": "fiat.lane",
        "authority": "Behörde",
        "subject": "hansa.local",
        "evidence": {"tier": "contract", "contract_id": contract["id"]},
    }
    answer = await registry.post(ADMIN, json=body, headers=admin.headers)
    assert answer.status_code == 201, answer.text
    path = f"/api/v1/jurisdiction/contracts/{contract['id']}"
    texts = {
        name: (await registry.http.get(place)).text
        for name, place in {
            "proof": path,
            "card": "/.well-known/registry-card.json",
            "keys": "/.well-known/registry-jwks.json",
        }.items()
    }
    return {"path": path, **texts}


def judged(served: dict[str, Any], proof: str | None = None, card: str | None = None) -> str:
    keys = read_keys(json.loads(served["keys"]))
    return verify_contract_proof(proof or served["proof"], card or served["card"], keys).code


def changed(text: str, *path: Any, value: Any) -> str:
    document = json.loads(text)
    holder = document
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return json.dumps(document)


async def test_a_proof_is_verified_at_its_address_and_offline(
    agreements: Agreements, served: dict[str, Any], tmp_path: Path
):
    async def verify(*arguments: object) -> tuple[int, str]:
        asked = ["verify", "contract-proof", *(str(one) for one in arguments)]
        ended = await asyncio.to_thread(CliRunner().invoke, app, asked)
        return ended.exit_code, ended.stdout + ended.stderr

    async with agreements.registry.listening() as place:
        exit_code, said = await verify(f"http://{place}{served['path']}")
        assert (exit_code, said.splitlines()[-1]) == (0, "verified")
    for name in ("proof", "card", "keys"):
        (tmp_path / name).write_text(served[name])
    files = (f"--card={tmp_path / 'card'}", f"--keys={tmp_path / 'keys'}")
    assert (await verify(tmp_path / "proof", *files))[0] == 0
    assert (await verify(tmp_path / "proof"))[0] == 2
    assert (await verify(tmp_path / "proof", files[0]))[0] == 2
    (tmp_path / "proof").write_text(changed(served["proof"], "subset", "amount", value="999"))
    exit_code, said = await verify(tmp_path / "proof", *files, "--json")
    assert (exit_code, json.loads(said)["code"]) == (1, "digest")


def test_each_thing_that_does_not_hold_is_named(served: dict[str, Any]):
    assert judged(served) == "verified"
    proof, card = served["proof"], served["card"]
    other = changed(proof, "subset", "title", value="Other")
    assert judged(served, proof=other) == "digest"
    assert judged(served, proof=changed(proof, "digest", value="0" * 64)) == "digest"
    assert judged(served, proof=changed(proof, "contract_id", value=99)) == "authorization"
    assert judged(served, proof=changed(proof, "authorization_id", value="x")) == "authorization"
    assert judged(served, proof=changed(proof, "verdict", value="good")) == "proof"
    assert judged(served, proof=proof[:-1]) == "proof"
    assert judged(served, card=changed(card, "description", value="Other")) == "card"
    evidence = ("compliance", "authorizations", 0)
    assert judged(served, card=changed(card, *evidence, "subject", value="other.example")) == "compliance"
    assert judged(served, card=changed(card, "compliance", "denied_features", value=["x"])) == "compliance"
    without = json.loads(card)
    del without["compliance"]
    assert judged(served, card=json.dumps(without)) == "card"
    assert judged({**served, "keys": '{"keys":[]}'}) == "card"
