"""Pulls of a served registry: made without being asked, and made again when the process that was making them is killed."""

import asyncpg
import httpx2

from hansa.rooms.catalogue.pulls import CARD_PULLS
from tests.operation.conftest import Launch
from tests.operation.registry_process import until
from tests.operation.test_webhooks_in_operation import developer
from tests.registry import DatabaseFarm
from tests.rooms.catalogue.pulls.agent_host import hosting


async def test_what_a_killed_process_was_pulling_is_pulled_by_the_next_one(
    operated: Launch, database_farm: DatabaseFarm
):
    dsn = await database_farm.fresh()
    async with hosting() as agents:
        settings = {"DATABASE_URL": dsn, "OUTGOING_ALLOW_USER_HOSTS": agents.place}
        killed, heir = operated("killed", **settings), operated("heir", **settings)
        # The two share their keys, as replicas on several machines do.
        heir.data_dir.mkdir()
        (heir.data_dir / "keys").symlink_to(killed.data_dir / "keys")
        await killed.start()
        agents.serve("Weaver")
        agents.pause = 60
        async with httpx2.AsyncClient(base_url=f"{killed.url}/api/v1", timeout=60) as http:
            headers = await developer(http)
            ticket = await http.post("/onboard/bootstrap/request-token", json={}, headers=headers)
            made = await http.post(
                "/onboard/create_agent",
                json={"agent_did_method": "hansa", "agent_host": agents.url},
                headers={"Bootstrap-Token": ticket.json()["bootstrap_token"]},
            )
            did = made.json()["agent_did"]
        await until(lambda: agents.asked)
        await killed.kill()

        agents.pause = 0
        await heir.start()
        connection = await asyncpg.connect(dsn)
        stub = await connection.fetchrow(
            "SELECT c.is_stub, j.lease_until FROM catalogue_card c JOIN plumbing_job j ON j.key = c.id::text"
            " WHERE c.did = $1 AND j.kind = $2",
            did,
            CARD_PULLS.name,
        )
        assert stub["is_stub"]
        assert stub["lease_until"] is not None
        time_passes = "UPDATE plumbing_job SET due_at = least(due_at, now()), lease_until = lease_until - interval '1 day'"
        await connection.execute(time_passes)
        await connection.execute("SELECT pg_notify('hansa_jobs', '')")
        # Who has a card is called for a health check; a page of a web server is none.
        await until(lambda: any(asked.line.startswith("POST /a2a ") for asked in agents.asked))
        async with httpx2.AsyncClient(base_url=f"{heir.url}/api/v1", timeout=60) as http:
            assert (await http.get(f"/agent-cards/{did}")).json()["name"] == "Weaver"
        returned = await connection.fetchval(
            "SELECT count(*) FROM journal_event WHERE event_type = 'AgentCardPulled'"
        )
        assert returned == 1
        await connection.close()
