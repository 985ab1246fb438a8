"""`python -m tests.verifier.capture_served`: objects of every kind as a registry served them, into `tests/vectors/served.jsonl`."""

import asyncio
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.rooms import auditor
from tests.founded import FoundedRegistries, RegistriesOfATest
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent, TestRegistry
from tests.verifier.served import SERVED

AGED = "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"
CYCLES = 14
NAMES = (
    "Translator",
    "Übersetzer",
    "翻訳者",
    "مترجم",
    "😀 \U0001f600\ufffd",
    'quote " and \\ slash',
    "Ω" * 60,
)
MEMBERS: tuple[dict[str, Any], ...] = (
    {},
    {"documentationUrl": "https://agent.example.org/docs"},
    {"version": "2.0.0-rc.1", "iconUrl": "https://agent.example.org/i.png"},
    {"provider": {"organization": "Ada & Co.", "url": "https://agent.example.org"}},
)


class Capture:
    """The objects of one registry with its keys, each as one line."""

    def __init__(self, registry: TestRegistry) -> None:
        self.registry, self.lines = registry, list[dict[str, Any]]()

    async def read(self, path: str, agent: TestAgent | None = None) -> str:
        headers = {"Accept": "application/json, text/plain", **(agent.headers if agent else {})}
        is_api = path.startswith(("/agents/", "/teg/"))
        answer = await (self.registry.get if is_api else self.registry.http.get)(path, headers=headers)
        assert answer.status_code == 200, (path, answer.text)
        return answer.text

    async def add(self, kind: str, path: str, agent: TestAgent | None = None, **more: Any) -> None:
        keys = "registry" if kind in {"card", "receipt", "registry_card"} else "auditor"
        self.lines.append(
            {
                "kind": kind,
                "name": f"{kind}_{sum(line['kind'] == kind for line in self.lines) + 1}",
                "document": await self.read(path, agent),
                "keys": json.loads(await self.read(f"/.well-known/{keys}-jwks.json")),
                "at": datetime.now(UTC).isoformat(),
                "expect": "verified",
                **more,
            }
        )

    async def cycle(self) -> str:
        """A cycle of the auditor; the checkpoint after it."""
        await self.registry.database.transaction(lambda tx: tx.execute(AGED))
        await auditor.run_cycle(self.registry.runtime)
        return await self.read("/log/checkpoint")


async def capture(registry: TestRegistry) -> list[dict[str, Any]]:
    kept = Capture(registry)
    agents = []
    for number, name in enumerate(NAMES * len(MEMBERS)):
        agents.append(await registry.agent(name=name, **MEMBERS[number % len(MEMBERS)]))
        await kept.add("card", f"/agents/{agents[-1].did}/card-export", agents[-1])
    payments = await Payments.between_two(registry)
    for amount in ("1", "2.5", "0.00000001", "40"):
        made = await payments.authorized(amount)
        assert (await payments.settle(made["token"], wait=10)).json()["status"] == "settled"
        await kept.add("receipt", f"/pay/{made['token_id']}")
    notes = []
    for number in range(CYCLES):
        answer = await agents[number].transfer(agents[number + 1], f"0.{number + 1:08d}")
        assert answer.status_code == 200, answer.text
        notes.append(await kept.cycle())
        await kept.add("chain", "/api/auditor/attestations?limit=200")
        await kept.add("balance", "/teg/balance/proof", agents[number])
    await kept.add("balance", "/teg/balance/proof", payments.caller)
    await kept.add("blocks", "/api/auditor/liabilities")
    await kept.add("registry_card", "/.well-known/registry-card.json")
    size = int(notes[-1].split("\n")[1])
    for index in range(size - 1, max(size - 57, 0), -1):
        await kept.add("leaf", f"/log/proof?index={index}")
    for note in notes:
        await kept.add("consistency", f"/log/consistency?old_size={note.split(chr(10))[1]}", old=note)
    return kept.lines


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        server = EmbeddedPostgres(Path(directory) / "server")
        farm = DatabaseFarm(await server.start())
        await farm.prepare()
        registries = RegistriesOfATest(farm, FoundedRegistries(farm, Path(directory)), Path(directory))
        try:
            lines = await capture(await registries.start())
        finally:
            await registries.end()
            await server.stop()
    SERVED.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    asyncio.run(main())
