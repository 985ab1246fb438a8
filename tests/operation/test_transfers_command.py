"""`hansa transfers in-doubt`: the undecided transfers, with their cause, while the registry serves."""

import json
from pathlib import Path
from uuid import uuid4

from hansa.foundation.values.money import units
from hansa.rooms import ledger
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

FRAME = "peer.example"


async def test_an_undecided_transfer_is_listed_with_its_cause(database_farm: DatabaseFarm, tmp_path: Path):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"

    async def in_doubt(*options: str) -> tuple[int, str]:
        ended = await run("transfers", "in-doubt", *options, data_dir=data_dir, DATABASE_URL=dsn)
        return ended.code, ended.output or ended.complaint

    async with open_registry(dsn, data_dir) as registry:
        assert await in_doubt() == (0, "every transfer is decided\n")
        transfer_id = str(uuid4())
        await registry.database.transaction(lambda tx: store.open_pair(tx, PEER))
        await registry.database.transaction(lambda tx: tx.execute(_RESERVED, transfer_id, PEER))
        code, listed = await in_doubt()
        assert code == 0
        assert listed.startswith(f"{transfer_id} out peer.example: 2.5 AVT, reserved since ")
        assert "aborted at its deadline" in listed
        _, shown = await in_doubt("--json")
        (one,) = json.loads(shown)["transfers"]
        assert (one["amount"], one["registry"], one["state"]) == ("2.5", "peer.example", "reserved")


async def test_units_of_a_closed_account_are_listed_and_paid_once_by_the_operator(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"

    async def transfers(*arguments: str) -> tuple[int, str]:
        ended = await run("transfers", *arguments, data_dir=data_dir, DATABASE_URL=dsn)
        return ended.code, ended.output or ended.complaint

    async with open_registry(dsn, data_dir, genesis_grant_enabled=False) as registry:
        closed, heir = await registry.agent(), await registry.agent()
        book, transfer = ledger.Book.of(registry.settings), uuid4()

        async def carry_out(step: ledger.ReserveIn | ledger.CommitIn) -> None:
            await registry.database.transaction(lambda tx: ledger.apply(tx, [step.order(book)], book))

        assert await transfers("unclaimed") == (0, "no units are unclaimed\n")
        await carry_out(ledger.ReserveIn(FRAME, transfer, closed.did, units(10), units(1), None))
        await registry.database.transaction(
            lambda tx: ledger.close_account(tx, closed.did, waits_for_crossings=False)
        )
        await carry_out(ledger.CommitIn(FRAME, transfer))
        (listed,) = json.loads((await transfers("unclaimed", "--json"))[1])["unclaimed"]
        assert (listed["amount"], listed["closed_did"]) == ("9", closed.did)
        claim = ("claim", listed["transaction_id"], "--to", heir.did, "--ref", "ticket-12")
        code, paid = await transfers(*claim)
        assert (code, paid) == (0, f"9 AVT of {listed['transaction_id']} paid to {heir.did}\n")
        code, again = await transfers(*claim)
        assert (code, "nothing was moved" in again) == (1, True)
        assert (await transfers("claim", "17x", "--to", heir.did, "--ref", "a"))[0] == 1
        acts = await registry.database.query(
            lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_admin_act WHERE act = 'units.claim'")
        )
        assert acts == 1
