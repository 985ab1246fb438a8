"""`hansa verify balance-proof`: a saved proof, and all that a registry owes, are judged from the terminal."""

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path

from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.rooms import auditor
from hansa.rooms.auditor.cycle import audit_on_request
from tests.verifier.past import FROZEN
from tests.verifier.served import vectors_in


async def verify(*arguments: object) -> tuple[int, str]:
    asked = ["verify", "balance-proof", *(str(one) for one in arguments)]
    ended = await asyncio.to_thread(CliRunner().invoke, app, asked)
    return ended.exit_code, ended.stdout + ended.stderr


async def test_a_saved_proof_and_the_sum_of_a_registry_are_judged_with_the_keys_of_the_auditor(
    registry, tmp_path
):
    agent = await registry.agent()
    await auditor.run_cycle(registry.runtime)
    saved = tmp_path / "proof.json"
    saved.write_text((await registry.get("/teg/balance/proof", headers=agent.headers)).text)
    async with registry.listening() as place:
        code, said = await verify(f"http://{place}")
        assert (code, said.splitlines()[-1]) == (0, "verified")
        assert [line.split()[1] for line in said.splitlines()[:-1]] == [
            "attestation:", "moment:", "sum:", "root:"
        ]  # fmt: skip
        keys = f"--keys=http://{place}/.well-known/auditor-jwks.json"
        assert (await verify(saved, keys))[0] == 0
        code, said = await verify(saved, keys, "--balance=100.00000001", "--json")
        assert (code, json.loads(said)["code"]) == (1, "balance")
        assert (await verify(saved, keys, "--balance=a lot"))[0] == 2
    code, said = await verify(saved)
    assert (code, "--keys is required for a proof in a file" in said) == (2, True)
    assert (await verify(tmp_path / "absent.json", f"--keys={saved}"))[0] == 2


async def test_a_proof_is_judged_as_of_a_time_by_the_attestations_of_its_registry(registry, tmp_path):
    agent = await registry.agent()
    await auditor.run_cycle(registry.runtime)
    saved = tmp_path / "proof.json"
    saved.write_text((await registry.get("/teg/balance/proof", headers=agent.headers)).text)
    record = json.loads(saved.read_text())["attestation"]
    signed_at = datetime.fromisoformat(record["ts"])
    async with registry.listening() as place:
        keys = f"--keys=http://{place}/.well-known/auditor-jwks.json"
        at = f"--at={signed_at.isoformat()}"
        code, said = await verify(saved, keys, at)
        assert (code, said.splitlines()[-2:]) == (1, ["unverified", f"unverified at {signed_at.isoformat()}"])
        await registry.agent()
        await registry.database.transaction(audit_on_request, one_snapshot=True)
        await auditor.run_cycle(registry.runtime)
        code, said = await verify(saved, keys, at)
        assert (code, said.splitlines()[-1]) == (0, f"valid at {signed_at.isoformat()}"), said
        proof = f"--log-proof=http://{place}/log/proof?kind=attestation&id={record['id']}"
        code, said = await verify(
            saved, keys, f"--at={datetime.now(signed_at.tzinfo).isoformat()}", proof, "--json"
        )
        assert (code, json.loads(said)["code"], json.loads(said)["then"]) == (1, "superseded", "not valid")
        early = (signed_at - timedelta(microseconds=1)).isoformat()
        code, said = await verify(f"http://{place}", f"--at={early}", "--json")
        assert (code, json.loads(said)["code"]) == (1, "not_yet_published")


async def test_each_frozen_proof_is_judged_from_files(tmp_path: Path):
    for vector in vectors_in(FROZEN):
        if vector["kind"] != "balance":
            continue
        files = {
            "proof": vector["document"],
            "keys": json.dumps(vector["keys"]),
            "attestations": json.dumps({"standard": "SA-1.0", "attestations": vector["records"]}),
            "log-proof": vector["log_proof"] and json.dumps(vector["log_proof"]),
            "checkpoint": vector["checkpoint"],
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text or "")
        options = [f"--{name}={tmp_path / name}" for name, text in files.items() if text and name != "proof"]
        if vector["balance"]:
            options.append(f"--balance={vector['balance']}")
        code, said = await verify(tmp_path / "proof", f"--at={vector['at']}", "--json", *options)
        assert (json.loads(said)["code"], code) == (vector["expect"], int(vector["expect"] != "verified"))


async def test_documents_of_then_need_the_time_and_attestations(tmp_path: Path):
    vector = next(one for one in vectors_in(FROZEN) if one["kind"] == "balance")
    proof, keys = tmp_path / "proof", tmp_path / "keys"
    proof.write_text(vector["document"])
    keys.write_text(json.dumps(vector["keys"]))
    code, said = await verify(proof, f"--keys={keys}", f"--at={vector['at']}")
    assert (code, "--attestations is required with keys in a file" in said) == (2, True)
    code, said = await verify(proof, f"--keys={keys}", f"--attestations={proof}")
    assert (code, "require --at" in said) == (2, True)
    assert (await verify(proof, f"--keys={keys}", "--at=yesterday"))[0] == 2
