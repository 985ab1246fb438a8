"""`hansa verify balance-proof`: a saved proof, and all that a registry owes, are judged from the terminal."""

import asyncio
import json

from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa.rooms import auditor


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
