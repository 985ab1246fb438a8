"""snarkjs, unmodified, proves a statement about a new agent: the registry accepts the proof, and snarkjs verifies what the registry serves."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from tests.attesting import BOUND, Attesting
from tests.proving import VECTORS, signal, vectors
from tests.registry import StartRegistry
from tests.stock_clients.tools import HERE, installed


async def test_snarkjs_proves_for_the_registry_and_verifies_what_it_serves(
    start_registry: StartRegistry, tmp_path: Path
) -> None:
    tools = await asyncio.to_thread(installed)
    registry = await start_registry(zkp_phases=["1"])
    attesting, agent = await Attesting.at(registry), await (await registry.developer()).agent()
    key = vectors("bound")["verification_key"]
    answer = await attesting.try_register(BOUND, verification_key=key, holder_input=0, context_input=1)
    assert answer.status_code == 201, answer.text
    script = tools.home / "prove.mjs"
    shutil.copy(HERE / "prove.mjs", script)

    async def said(*arguments: str | Path) -> Any:
        done = await asyncio.to_thread(tools.run, [tools.node, script, *arguments])
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.strip().rpartition("\n")[2])

    signals = tmp_path / "input.json"
    holder, subject = signal(agent.did), signal("contract:7")
    signals.write_text(
        json.dumps({"holder": holder, "subject": subject, "product": "15", "left": 3, "right": 5})
    )
    made = await said(VECTORS / "bound.wasm", VECTORS / "bound.zkey", signals)
    assert made["public"] == [holder, subject, "15"]
    submitted = await attesting.try_submit(
        agent,
        answer.json()["circuit_id"],
        proof_data=made["proof"],
        public_inputs=made["public"],
        context={"contract_id": 7},
    )
    assert submitted.status_code == 201, submitted.text
    shown = await attesting.read(submitted.json()["attestation_id"])
    circuit = (await registry.get(f"/circuits/{shown['circuit_id']}")).json()
    served = tmp_path / "served.json"
    document = {
        "key": circuit["verification_key"],
        "public": shown["public_inputs"],
        "proof": shown["proof_data"],
    }
    for changed, holds in ((document, True), ({**document, "public": [holder, subject, "16"]}, False)):
        served.write_text(json.dumps(changed))
        assert await said("verify", served) is holds
