"""Webhooks of a served registry: sent without a request, and not lost with the process that was sending."""

import asyncpg
import httpx2

from hansa.rooms.notifications.webhooks import WEBHOOKS
from tests.operation.conftest import Launch
from tests.operation.registry_process import until
from tests.registry import PASSWORD, DatabaseFarm, card_of
from tests.rooms.notifications.webhooks.receiver import HOOKS, receiving


async def developer(http: httpx2.AsyncClient) -> dict[str, str]:
    """The headers of a new developer."""
    me = {"name": "Ada", "email": "ada@example.org", "password": PASSWORD}
    consent = {"tos_accepted": True, "age_confirmed": True}
    assert (await http.post("/auth/register", json={**me, **consent})).status_code == 201
    login = await http.post("/auth/login", data={"username": me["email"], "password": PASSWORD})
    return {"Authorization": f"Bearer {login.json()['access_token']}"}


async def create_agent(http: httpx2.AsyncClient, headers: dict[str, str]) -> str:
    ticket = await http.post("/onboard/bootstrap/request-token", json={}, headers=headers)
    made = await http.post(
        "/onboard/create_agent",
        json={"agent_did_method": "hansa", "agent_card": card_of()},
        headers={"Bootstrap-Token": ticket.json()["bootstrap_token"]},
    )
    assert made.status_code == 201, made.text
    return made.json()["agent_did"]


async def test_what_a_killed_process_was_sending_is_sent_by_the_next_one(
    operated: Launch, database_farm: DatabaseFarm
):
    dsn = await database_farm.fresh()
    async with receiving() as receiver:
        settings = {"DATABASE_URL": dsn, "OUTGOING_ALLOW_USER_HOSTS": receiver.place, "LOG_LEVEL": "debug"}
        killed, heir = operated("killed", **settings), operated("heir", **settings)
        # The two share their keys, as replicas on several machines do.
        heir.data_dir.mkdir()
        (heir.data_dir / "keys").symlink_to(killed.data_dir / "keys")
        await killed.start()
        receiver.pause = 60
        async with httpx2.AsyncClient(base_url=f"{killed.url}/api/v1", timeout=60) as http:
            headers = await developer(http)
            wanted = {"url": f"{receiver.url}/path-that-is-a-secret", "event_types": ["agent.onboarded"]}
            made = (await http.post(HOOKS, json=wanted, headers=headers)).json()
            did = await create_agent(http, headers)
        await until(lambda: receiver.received)
        await killed.kill()

        receiver.pause = 0
        await heir.start()
        connection = await asyncpg.connect(dsn)
        lease_over = (
            "UPDATE plumbing_job SET lease_until = lease_until - $2 * interval '1 second' WHERE kind = $1"
        )
        await connection.execute(lease_over, WEBHOOKS.name, WEBHOOKS.lease_seconds)
        await until(lambda: len(receiver.received) == 2)
        first, second = receiver.received
        assert (first.id, first.body) == (second.id, second.body)
        assert second.message["data"]["did"] == did
        assert second.is_signed_with(made["secret"])
        # Who stops in order first writes how it ended.
        assert (await heir.stop()).code == 0
        stands = await connection.fetchrow("SELECT status, attempts FROM notifications_webhook_delivery")
        assert tuple(stands) == ("delivered", 1)
        await connection.close()
    for registry in (killed, heir):
        log = registry.log.read_text()
        assert made["secret"].removeprefix("whsec_") not in log
        assert "path-that-is-a-secret" not in log
