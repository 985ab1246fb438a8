"""`hansa transfers in-doubt`: what is not decided, with its cause, while the registry serves."""

import json
from pathlib import Path
from uuid import uuid4

from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.messages import Body
from tests.operation.registry_process import run
from tests.registry import DatabaseFarm, open_registry

PEER = "spiffe://peer.example/registry/peer"


async def test_an_undecided_transfer_is_listed_with_its_cause(database_farm: DatabaseFarm, tmp_path: Path):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"

    async def in_doubt(*options: str) -> tuple[int, str]:
        ended = await run("transfers", "in-doubt", *options, data_dir=data_dir, DATABASE_URL=dsn)
        return ended.code, ended.output or ended.complaint

    async with open_registry(dsn, data_dir) as registry:
        assert await in_doubt() == (0, "every transfer is decided\n")
        body = Body(str(uuid4()), "did:hansa:a:1", "did:hansa:peer.example:2", 250_000_000, "AVT")
        new = store.NewSent(
            body,
            PEER,
            "peer.example",
            expected_fee=0,
            backend="async",
            is_counted=False,
            capability_id=None,
            request_scope=None,
            deadline_seconds=300.0,
            first_retry_seconds=0.0,
        )
        await registry.database.act(lambda tx: store.open_pair(tx, PEER))
        await registry.database.act(lambda tx: store.add_sent(tx, new))
        code, listed = await in_doubt()
        assert code == 0
        assert listed.startswith(f"{body.transfer_id} out peer.example: 2.5 AVT, reserved since ")
        assert "aborted at its deadline" in listed
        _, shown = await in_doubt("--json")
        (one,) = json.loads(shown)["transfers"]
        assert (one["amount"], one["registry"], one["state"]) == ("2.5", "peer.example", "reserved")
