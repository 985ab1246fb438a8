"""`hansa transfers in-doubt`: what is not decided, with its cause, while the registry serves."""

import json
from pathlib import Path
from uuid import uuid4

from hansa.rooms.transfers.crossing import store
from tests.operation.registry_process import run
from tests.registry import DatabaseFarm, open_registry

PEER = "spiffe://peer.example/registry/peer"

_RESERVED = """
INSERT INTO transfers_sent (transfer_id, peer, frame, sender_did, receiver_did, amount, currency, state, expected_fee, backend,
  deadline, next_at)
VALUES ($1, $2, 'peer.example', 'did:hansa:a:1', 'did:hansa:peer.example:2', 250000000, 'AVT', 'reserved', 0, 'async',
  now() + interval '5 minutes', now())
"""


async def test_an_undecided_transfer_is_listed_with_its_cause(database_farm: DatabaseFarm, tmp_path: Path):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"

    async def in_doubt(*options: str) -> tuple[int, str]:
        ended = await run("transfers", "in-doubt", *options, data_dir=data_dir, DATABASE_URL=dsn)
        return ended.code, ended.output or ended.complaint

    async with open_registry(dsn, data_dir) as registry:
        assert await in_doubt() == (0, "every transfer is decided\n")
        transfer_id = str(uuid4())
        await registry.database.act(lambda tx: store.open_pair(tx, PEER))
        await registry.database.act(lambda tx: tx.execute(_RESERVED, transfer_id, PEER))
        code, listed = await in_doubt()
        assert code == 0
        assert listed.startswith(f"{transfer_id} out peer.example: 2.5 AVT, reserved since ")
        assert "aborted at its deadline" in listed
        _, shown = await in_doubt("--json")
        (one,) = json.loads(shown)["transfers"]
        assert (one["amount"], one["registry"], one["state"]) == ("2.5", "peer.example", "reserved")
