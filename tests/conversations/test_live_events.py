"""WebSocket /ws/events and POST /ws/ticket."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import running_dsn
from hansa.rooms import journal
from hansa.rooms.journal.audience import PRIVATE_TYPES
from hansa.rooms.journal.feed import conversation
from tests.founded import open_copy
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import RegistryProcess, postgres_pid, until
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, TestDeveloper, TestRegistry, open_registry
from tests.rooms.journal.feed.feed_client import (
    Listener,
    all_sent,
    append,
    issued,
    open_listener,
    refused_with,
    ticket_of,
)


@dataclass(frozen=True)
class House:
    """A registry on a socket, and two agents of different developers."""

    registry: TestRegistry
    address: str
    agent: TestAgent
    other: TestAgent


@pytest.fixture(scope="module")
async def house(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    directory = tmp_path_factory.mktemp("feed")
    async with (
        open_copy(database_farm, directory, rate_limit_reads="off") as registry,
        registry.listening() as address,
    ):
        yield House(registry, address, await registry.agent(), await registry.agent())


async def recent(registry: TestRegistry, count: int) -> list[dict]:
    """The newest events, the oldest first."""
    answer = await registry.get("/public/eventstore-recent", params={"limit": count})
    return answer.json()["events"][::-1]


async def test_a_welcome_comes_first_then_the_confirmation_then_the_replay_then_live_events(house: House):
    await append(house.registry, *[f"before {number}" for number in range(20)])
    await all_sent(house.registry)
    async with open_listener(house.address) as listener:
        replay = await listener.subscribe("events:all")
        assert replay == await recent(house.registry, 15)
        await append(house.registry, "live")
        heard = await listener.hear()
        assert set(heard) == {"type", "event"}
        assert heard == {"type": "event", "event": (await recent(house.registry, 1))[0]}


async def test_the_channel_of_a_type_carries_that_type_alone_also_when_it_is_rare(
    start_registry: StartRegistry,
):
    registry = await start_registry(recent_events_ring=3)
    agent = await registry.agent()
    async with registry.listening() as address, open_listener(address) as listener:
        await append(registry, *[str(number) for number in range(30)])
        await all_sent(registry)
        replay = await listener.subscribe("events:AgentOnboarded")
        assert [event["data"]["did"] for event in replay] == [agent.did]
        await append(registry, "another")
        second = await registry.agent()
        heard = await listener.hear()
        assert (heard["event"]["event_type"], heard["event"]["data"]["did"]) == ("AgentOnboarded", second.did)


async def test_an_event_of_several_channels_is_sent_once(house: House):
    async with open_listener(house.address) as listener:
        for channel in ("events:all", "events:TokensIssued"):
            await listener.subscribe(channel)
        await append(house.registry, "once", "then")
        heard = await listener.hear_many(2)
        assert [message["event"]["data"]["ref"] for message in heard] == ["once", "then"]
        assert await listener.is_quiet()


async def test_a_repeated_subscription_is_confirmed_and_sends_nothing_again(house: House):
    await append(house.registry, "before")
    await all_sent(house.registry)
    async with open_listener(house.address) as listener:
        assert await listener.subscribe("events:all")
        assert await listener.subscribe("events:all") == []
        await append(house.registry, "once")
        assert (await listener.hear())["event"]["data"]["ref"] == "once"
        assert await listener.is_quiet()
        await listener.unsubscribe("events:all")
        assert await listener.subscribe("events:all"), "after an end it is a new subscription"


async def test_after_unsubscribing_nothing_more_is_sent(house: House):
    async with open_listener(house.address) as listener:
        await listener.subscribe("events:all")
        answer = await listener.ask(action="unsubscribe", channel="events:all")
        assert answer == {"type": "unsubscribed", "channel": "events:all"}
        await append(house.registry, "unheard")
        assert await listener.is_quiet()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("{", "BODY_INVALID"),
        ('{"action":"ping","action":"ping"}', "BODY_INVALID"),
        ('{"action":"\\ud800"}', "BODY_INVALID"),
        ("[" * 500, "BODY_INVALID"),
        (b"\xff\xfe", "BODY_INVALID"),
        ("[]", "ACTION_UNKNOWN"),
        ("{}", "ACTION_UNKNOWN"),
        ('{"action":["subscribe"]}', "ACTION_UNKNOWN"),
        ('{"action":"publish","channel":"events:all"}', "ACTION_UNKNOWN"),
        ('{"action":"subscribe"}', "CHANNEL_UNKNOWN"),
        ('{"action":"subscribe","channel":7}', "CHANNEL_UNKNOWN"),
        ('{"action":"subscribe","channel":"events:Nothing"}', "CHANNEL_UNKNOWN"),
        ('{"action":"subscribe","channel":"everything"}', "CHANNEL_UNKNOWN"),
        ('{"action":"subscribe","channel":"agent:did:hansa:x:y"}', "CHANNEL_NEEDS_CREDENTIAL"),
        ('{"action":"subscribe","channel":"balance:updates"}', "CHANNEL_NEEDS_CREDENTIAL"),
        ('{"action":"ping","more":"' + "x" * 4096 + '"}', "MESSAGE_TOO_LARGE"),
    ],
)
async def test_what_is_not_understood_is_answered_with_an_error_and_the_socket_stays(
    house: House, said: str | bytes, code: str
):
    async with open_listener(house.address) as listener:
        await listener.socket.send(said)
        refusal = await listener.hear()
        assert (refusal["type"], refusal["code"]) == ("error", code)
        assert refusal["detail"]
        assert await listener.ask(action="ping") == {"type": "pong"}


async def test_a_socket_has_at_most_64_subscriptions(house: House, monkeypatch: pytest.MonkeyPatch):
    names = {f"Type{number}" for number in range(65)}
    monkeypatch.setattr("hansa.rooms.journal.feed.rules._TYPES", frozenset(names))
    async with open_listener(house.address) as listener:
        for name in sorted(names)[:64]:
            assert await listener.subscribe(f"events:{name}") == []
        refusal = await listener.ask(action="subscribe", channel="events:all")
        assert (refusal["code"], refusal["channel"]) == ("TOO_MANY_CHANNELS", "events:all")
        assert await listener.subscribe("events:Type0") == []


async def test_an_agent_follows_itself_and_its_balance_and_nobody_elses(house: House):
    agent, other = house.agent, house.other
    async with open_listener(house.address, await ticket_of(agent)) as listener:
        for channel in (f"agent:{other.did}", "agent:", f"agent:{agent.did} "):
            refusal = await listener.ask(action="subscribe", channel=channel)
            assert (refusal["code"], refusal["channel"]) == ("CHANNEL_REFUSED", channel)
        await listener.subscribe("balance:updates")
        bystander = await house.registry.agent()
        assert (await other.transfer(bystander, "1")).status_code == 200
        assert (await other.transfer(agent, "2", message=agent.did)).status_code == 200
        event = (await listener.hear())["event"]
        assert event["event_type"] == "LedgerBalanceChanged"
        assert {"account": agent.did, "delta": "2"}.items() <= max(
            event["data"]["entries"], key=lambda entry: entry["account"] == agent.did
        ).items()
        assert await listener.is_quiet()


async def test_the_channel_of_an_agent_carries_the_events_that_name_it(house: House):
    agent, other = house.agent, house.other
    third = await house.registry.agent()
    async with open_listener(house.address, agent.token) as listener:
        replay = await listener.subscribe(f"agent:{agent.did}")
        assert "AgentOnboarded" in {event["event_type"] for event in replay} or len(replay) == 15
        # A message that spells a DID makes it no party.
        assert (await other.transfer(third, "1", message=agent.did)).status_code == 200
        assert await listener.is_quiet()
        assert (await other.transfer(agent, "1")).status_code == 200
        kinds = {message["event"]["event_type"] for message in await listener.hear_many(2)}
        assert kinds == {"TokensTransferred", "LedgerBalanceChanged"}


async def test_a_developer_follows_the_own_agents_as_they_follow_themselves_and_no_balance(house: House):
    developer = await house.registry.developer()
    agent = await developer.agent()
    await agent.transfer(house.other, "1")
    await all_sent(house.registry)
    async with (
        open_listener(house.address, await ticket_of(developer)) as owner,
        open_listener(house.address, agent.token) as itself,
    ):
        replay = await owner.subscribe(f"agent:{agent.did}")
        assert "AgentOnboarded" in {event["event_type"] for event in replay}
        assert replay == await itself.subscribe(f"agent:{agent.did}")
        refusal = await owner.ask(action="subscribe", channel="balance:updates")
        assert (refusal["code"], refusal["channel"]) == ("CHANNEL_REFUSED", "balance:updates")
        assert await owner.subscribe("events:all")


async def test_an_owner_hears_a_transfer_of_the_own_agent(house: House):
    developer = await house.registry.developer()
    agent, second = await developer.agent(), await developer.agent(name="Second")
    async with (
        open_listener(house.address, developer.token) as owner,
        open_listener(house.address, agent.token) as itself,
    ):
        await owner.subscribe(f"agent:{second.did}")
        for listener in (owner, itself):
            await listener.subscribe(f"agent:{agent.did}")
        # Both are the owner's, and an event that names both is sent once.
        assert (await agent.transfer(second, "1")).status_code == 200
        heard = await owner.hear_many(3)
        kinds = {message["event"]["event_type"] for message in heard}
        assert kinds == {"TokensTransferred", "LedgerBalanceChanged", "TransactionFeeCollected"}
        # Both balances are the owner's to see, the agent sees its own.
        movement = heard[0]["event"]["data"]
        assert {entry["account"] for entry in movement["entries"] if "balance_after" in entry} == {
            agent.did,
            second.did,
        }
        movement["entries"] = [
            entry if entry["account"] == agent.did else without_balance(entry)
            for entry in movement["entries"]
        ]
        assert heard == await itself.hear_many(3)
        assert await owner.is_quiet()


def without_balance(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "balance_after"}


async def test_the_feed_without_a_token_leaves_out_messages_and_balances_and_an_own_channel_the_counterpartys(
    house: House,
):
    stranger = await house.registry.agent()
    channels = ("events:all", "events:LedgerBalanceChanged")
    async with (
        open_listener(house.address) as anyone,
        open_listener(house.address, stranger.token) as other,
        open_listener(house.address, house.agent.token) as payer,
        open_listener(house.address, house.other.token) as payee,
    ):
        for listener in (anyone, other, payer):
            for channel in channels:
                await listener.subscribe(channel)
        await payee.subscribe("balance:updates")
        answer = await house.agent.transfer(house.other, "1", message="for your eyes")
        assert answer.status_code == 200
        public = await anyone.hear_many(3)
        assert public == await other.hear_many(3)
        assert "for your eyes" not in str(public)
        assert "balance_after" not in str(public)
        assert public[1]["event"]["data"]["from"] == house.agent.did
        for own, heard in ((house.agent, await payer.hear_many(3)), (house.other, await payee.hear_many(1))):
            data = heard[0]["event"]["data"]
            assert data["memo"] == "for your eyes"
            seen = [entry["account"] for entry in data["entries"] if "balance_after" in entry]
            assert seen == [own.did]
        # The replay shows no more.
        async with open_listener(house.address) as later:
            assert await later.subscribe("events:all") == [*(await recent(house.registry, 15))]
        replayed = (await payer.subscribe(f"agent:{house.agent.did}"))[-3]["data"]
        assert [entry["account"] for entry in replayed["entries"] if "balance_after" in entry] == [
            house.agent.did
        ]


async def test_spend_approvals_and_act_tokens_are_sent_to_the_agent_and_its_owner_alone(house: House):
    developer = await house.registry.developer()
    agent = await developer.agent()
    async with open_listener(house.address) as anyone, open_listener(house.address, developer.token) as owner:
        for channel in ("events:all", "events:AgentActTokenIssued"):
            await anyone.subscribe(channel)
        await owner.subscribe(f"agent:{agent.did}")
        answer = await house.registry.post(
            f"/agents/{agent.did}/act-token", headers=developer.headers, json={}
        )
        assert answer.status_code == 200
        assert (await owner.hear())["event"]["event_type"] == "AgentActTokenIssued"
        await append(house.registry, "after it")
        # What was appended before the subscription may be sent after it, while the feed lags behind.
        heard = [await anyone.hear()]
        while heard[-1]["event"]["data"].get("ref") != "after it":
            heard.append(await anyone.hear())
        assert "AgentActTokenIssued" not in str(heard)
        assert "AgentActTokenIssued" not in str(await anyone.subscribe("events:all"))


async def test_a_replay_gives_the_latest_fifteen_events_of_its_channel_whatever_came_since_and_after_a_restart(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    async with open_registry(dsn, tmp_path, recent_events_ring=1, rate_limit_reads="off") as registry:
        agents = [await registry.agent() for _ in range(17)]
        payer, payee = agents[:2]
        for _ in range(7):
            assert (await payer.transfer(payee, "1")).status_code == 200
        await append(registry, *[str(number) for number in range(500)])
        token = payee.token
    onboarded = [agent.did for agent in agents][-15:]
    async with open_registry(dsn, tmp_path, recent_events_ring=1, rate_limit_reads="off") as registry:
        page = await registry.get(
            f"/events/aggregate/{payee.did}",
            params={"sort_order": "desc", "limit": 15},
            headers=registry.internal,
        )
        own = [event["id"] for event in page.json()["items"]][::-1]
        async with registry.listening() as address:
            for _ in range(2):
                async with open_listener(address, token) as listener:
                    replay = await listener.subscribe("events:AgentOnboarded")
                    assert [event["data"]["did"] for event in replay] == onboarded
                    assert [e["id"] for e in await listener.subscribe(f"agent:{payee.did}")] == own
                    assert len(own) == 15
                    movements = await listener.subscribe("balance:updates")
                    # The grant and seven transfers.
                    assert [event["event_type"] for event in movements] == ["LedgerBalanceChanged"] * 8
                    transfers = await listener.subscribe("events:TokensTransferred")
                    assert [event["data"]["to"] for event in transfers][-7:] == [payee.did] * 7
                    issued = await listener.subscribe("events:all")
                    assert [event["data"]["ref"] for event in issued] == [str(n) for n in range(485, 500)]


async def test_what_is_published_while_a_replay_is_read_is_neither_missed_nor_repeated(house: House):
    agent = await house.registry.agent()
    enough = asyncio.Event()
    paying = asyncio.create_task(pay_until(enough, agent, house.other))
    channels = [f"agent:{agent.did}", "events:all", "events:TransactionFeeCollected"]
    async with AsyncExitStack() as stack:
        heard: list[list[int]] = []
        listening = []
        for channel in channels * 3:
            listener = await stack.enter_async_context(open_listener(house.address, agent.token))
            assert (await listener.ask(action="subscribe", channel=channel))["type"] == "subscribed"
            heard.append([])
            listening.append(asyncio.create_task(hear_to_the_end(listener, heard[-1])))
        enough.set()
        await paying
        assert (await agent.transfer(house.other, "3")).status_code == 200
        await asyncio.gather(*listening)
    page = await house.registry.get(
        "/events/", params={"sort_order": "desc", "limit": 1000}, headers=house.registry.internal
    )
    everything = page.json()["items"][::-1]
    for channel, sequences in zip(channels * 3, heard, strict=True):
        of_channel = [
            event["sequence"]
            for event in everything
            if (channel == "events:all" and event["event_type"] not in PRIVATE_TYPES)
            or channel.endswith(event["event_type"])
            or (channel.startswith("agent:") and agent.did in str(event))
        ]
        assert len(sequences) >= min(15, len(of_channel))
        assert sequences == of_channel[-len(sequences) :]


async def hear_to_the_end(listener: Listener, sequences: list[int]) -> None:
    """Record the sequences of the received events up to the fee of the transfer of three units, the last event of all."""
    while True:
        event = (await listener.hear())["event"]
        sequences.append(event["sequence"])
        if event["event_type"] == "TransactionFeeCollected" and event["data"]["fee"] == "0.015":
            return


async def pay_until(enough: asyncio.Event, payer: TestAgent, payee: TestAgent) -> None:
    while not enough.is_set():
        assert (await payer.transfer(payee, "0.01")).status_code == 200


async def test_every_type_of_the_taxonomy_can_be_subscribed_to_emitted_yet_or_not(house: House):
    async with open_listener(house.address) as listener:
        for event_type in (
            *("AgentStatusChanged", "DisputeCompensationMinted", "DisputeSlash", "BalanceCorrected"),
            *(
                "RewardsAutoCompounded",
                "CrossRegistryTransferCompleted",
                "A2APaymentSettled",
                "ProposalCreated",
            ),
            *("VoteCast", "ProposalTallied", "RegistryFederated", "PeerRegistryDeactivated"),
            *("RegistryQuarantined", "SupplyInvariantBreach", "ProjectionSnapshot", "ContractProposed"),
        ):
            assert isinstance(await listener.subscribe(f"events:{event_type}"), list)


async def credential_of(developer: TestDeveloper, kind: str) -> str:
    """Return the credential with which the developer opens a socket."""
    if kind.endswith("key"):
        developer = await developer.api_key()
    return await ticket_of(developer) if kind.startswith("ticket") else developer.token


@pytest.mark.parametrize("kind", ["token", "ticket", "key", "ticket for a key"])
async def test_an_owners_ticket_or_key_opens_what_the_token_opens(house: House, kind: str):
    developer = await house.registry.developer()
    agent = await developer.agent()
    async with open_listener(house.address, await credential_of(developer, kind)) as owner:
        await owner.subscribe(f"agent:{agent.did}")
        assert (await house.agent.transfer(agent, "1")).status_code == 200
        assert agent.did in str(await owner.hear_many(2))


async def test_a_narrow_key_opens_no_socket(house: House):
    developer = await house.registry.developer()
    key = await developer.api_key("agents:read")
    assert await refused_with(house.address, f"?token={key.token}") == (403, "SCOPE_MISSING")


async def test_a_strangers_agent_and_an_unknown_did_are_refused_alike(house: House):
    developer = await house.registry.developer()
    await developer.agent()
    unknown = house.other.did[:-12] + "0" * 12
    async with open_listener(house.address, await ticket_of(developer)) as listener:
        refusals = [
            await listener.ask(action="subscribe", channel=f"agent:{did}")
            for did in (house.other.did, unknown, "", "nonsense", house.other.did + " ")
        ]
        assert {refusal["code"] for refusal in refusals} == {"CHANNEL_REFUSED"}
        assert len({tuple((refusal | {"channel": ""}).items()) for refusal in refusals}) == 1
        assert (await house.agent.transfer(house.other, "1")).status_code == 200
        assert await listener.is_quiet()


async def agent_in(listener: Listener, event_type: str) -> str:
    """The DID that the next event of this type is about; others are passed over."""
    while (heard := await listener.hear())["event"]["event_type"] != event_type:
        pass
    return heard["event"]["data"]["did"]


async def enforce(registry: TestRegistry, path: str, **body: Any) -> None:
    administrator = await registry.administrator("admin_enforcement")
    answer = await registry.post(
        f"/admin/{path}", json={"reason": "For a test.", **body}, headers=administrator.headers
    )
    assert answer.status_code == 200, answer.text


async def test_an_owner_hears_that_an_agent_is_stopped_for_good_and_goes_on_hearing(house: House):
    developer = await house.registry.developer()
    agent, second = await developer.agent(), await developer.agent(name="Second")
    async with open_listener(house.address, await ticket_of(developer)) as owner:
        for did in (agent.did, second.did):
            await owner.subscribe(f"agent:{did}")
        for act, expected in (
            ("suspend", "AgentSuspended"),
            ("reinstate", "AgentReinstated"),
            ("suspend", "AgentSuspended"),
            ("revoke", "AgentRevoked"),
        ):
            await enforce(house.registry, f"agents/bulk/{act}", agent_dids=[agent.did])
            assert await agent_in(owner, expected) == agent.did
        assert await owner.is_quiet()
        assert (await house.agent.transfer(second, "1")).status_code == 200
        assert second.did in str(await owner.hear_many(2))
        # What became of it can still be read from the start.
        await owner.unsubscribe(f"agent:{agent.did}")
        assert "AgentRevoked" in {
            event["event_type"] for event in await owner.subscribe(f"agent:{agent.did}")
        }


async def test_an_owner_who_is_suspended_may_read_and_so_follows_on(house: House):
    developer = await house.registry.developer()
    agent = await developer.agent()
    profile = await house.registry.get("/auth/profile", headers=developer.headers)
    async with open_listener(house.address, await ticket_of(developer)) as owner:
        await owner.subscribe(f"agent:{agent.did}")
        await enforce(house.registry, f"developers/{profile.json()['id']}/suspend")
        assert await agent_in(owner, "AgentSuspended") == agent.did
        await owner.unsubscribe(f"agent:{agent.did}")
        assert "AgentSuspended" in {
            event["event_type"] for event in await owner.subscribe(f"agent:{agent.did}")
        }


async def test_an_owner_who_logs_out_hears_no_more(house: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversation, "SILENT_SECONDS", 0.5)
    developer = await house.registry.developer()
    agent = await developer.agent()
    async with open_listener(house.address, await ticket_of(developer)) as owner:
        await owner.subscribe(f"agent:{agent.did}")
        answer = await house.registry.post("/auth/logout", headers=developer.headers)
        assert answer.status_code == 200
        while (heard := await owner.hear())["type"] == "keepalive":
            pass
        assert heard["code"] == "AUTH_FAILED"
        assert await owner.ended() == 1008


async def test_a_developer_whose_agent_is_somebody_elses_now_leaves_its_channel_and_the_socket_stays(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "SILENT_SECONDS", 0.5)
    developer = await house.registry.developer()
    agent, kept = await developer.agent(), await developer.agent(name="Kept")
    async with open_listener(house.address, await ticket_of(developer)) as owner:
        for did in (agent.did, kept.did):
            await owner.subscribe(f"agent:{did}")
        await house.registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE agents_agent SET developer_id ="
                " (SELECT developer_id FROM agents_agent WHERE did = $2) WHERE did = $1",
                *(agent.did, house.other.did),
            )
        )
        while (heard := await owner.hear())["type"] == "keepalive":
            pass
        assert (heard["code"], heard["channel"]) == ("CHANNEL_REFUSED", f"agent:{agent.did}")
        for payee in (agent, kept):
            assert (await house.agent.transfer(payee, "1")).status_code == 200
        heard = []
        while len(heard) < 2:
            heard += [message for message in [await owner.hear()] if message["type"] == "event"]
        assert all(kept.did in str(event) and agent.did not in str(event) for event in heard)


async def test_a_ticket_opens_one_socket(house: House):
    ticket = await ticket_of(house.agent)
    async with open_listener(house.address, ticket):
        assert await refused_with(house.address, f"?token={ticket}") == (401, "TICKET_INVALID")


async def test_of_many_sockets_with_one_ticket_one_opens(house: House):
    ticket = await ticket_of(house.agent)

    async def opens() -> bool:
        try:
            async with open_listener(house.address, ticket):
                return True
        except Exception:  # noqa: BLE001
            return False

    assert sum(await asyncio.gather(*[opens() for _ in range(8)])) == 1


async def test_a_ticket_is_good_for_thirty_seconds(house: House):
    answer = await house.registry.post("/ws/ticket", headers=house.agent.headers)
    assert answer.json() == {"ticket": answer.json()["ticket"], "expires_in": 30}
    await house.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE journal_feed_ticket SET expires_at = expires_at - interval '30 seconds'"
        )
    )
    assert await refused_with(house.address, f"?token={answer.json()['ticket']}") == (401, "TICKET_INVALID")


async def test_a_wrong_credential_is_refused_at_the_handshake(house: House):
    for query, code in (
        ("?token=nonsense", "AUTH_FAILED"),
        ("?token=wst_" + "0" * 64, "TICKET_INVALID"),
        ("?token=", "AUTH_FAILED"),
        ("?token=%00", "AUTH_FAILED"),
        (f"?token={house.agent.token}&token={house.agent.token}", "AUTH_FAILED"),
        (f"?token={house.agent.token[:-4]}AAAA", "AUTH_FAILED"),
    ):
        assert await refused_with(house.address, query) == (401, code), query


async def test_where_it_is_required_public_channels_need_a_credential_too(start_registry: StartRegistry):
    registry = await start_registry(eventstore_ws_auth_required=True)
    developer = await registry.developer()
    async with registry.listening() as address:
        assert await refused_with(address) == (401, "AUTH_FAILED")
        async with open_listener(address, await ticket_of(developer)) as listener:
            assert await listener.subscribe("events:all")


async def test_a_page_of_another_origin_is_refused(house: House):
    for origin in ("https://elsewhere.example", "null", f"http://{house.address}.elsewhere.example"):
        assert await refused_with(house.address, origin=origin) == (403, "ORIGIN_REFUSED")
    for origin in (f"http://{house.address}", house.registry.settings.base_url):
        async with open_listener(house.address, origin=origin):
            pass


async def test_a_suspended_agent_can_follow_nothing_private_and_its_socket_ends(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(conversation, "SILENT_SECONDS", 1.0)
    agent = await house.registry.agent()
    async with open_listener(house.address, await ticket_of(agent)) as listener:
        await house.registry.database.transaction(
            lambda tx: tx.execute("UPDATE agents_agent SET status = 'suspended' WHERE did = $1", agent.did)
        )
        refusal = await listener.ask(action="subscribe", channel="balance:updates")
        assert refusal["code"] == "AGENT_SUSPENDED"
        assert (await listener.hear())["code"] == "AGENT_SUSPENDED"
        assert await listener.ended() == 1008


async def test_a_silent_socket_is_kept_alive(house: House, monkeypatch: pytest.MonkeyPatch):
    assert conversation.SILENT_SECONDS * 2 < 60
    monkeypatch.setattr(conversation, "SILENT_SECONDS", 0.1)
    async with open_listener(house.address) as listener:
        assert await listener.hear() == {"type": "keepalive"}


@pytest.fixture(scope="module")
async def process(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry in a process of its own, as talkative as it can be."""
    directory = tmp_path_factory.mktemp("process") / "data"
    process = RegistryProcess(directory, founded=founded_data, LOG_LEVEL="debug", LOG_FORMAT="json")
    yield process
    await process.kill()
    await end_postgres(process.data_dir)


@pytest.fixture
async def served(process: RegistryProcess) -> RegistryProcess:
    """The same, which may have been stopped since."""
    if not process.running:
        await process.start()
    return process


async def test_a_socket_outlives_a_restart_of_the_database_and_misses_and_repeats_nothing(
    served: RegistryProcess,
):
    async with open_listener(served.url.removeprefix("http://")) as listener:
        await listener.subscribe("events:TokensIssued")
        await append_from_outside(served, "before")
        heard = [await listener.hear()]
        server = postgres_pid(served.data_dir)
        assert server is not None
        os.kill(server, signal.SIGQUIT)
        await until(lambda: "the embedded PostgreSQL is back" in served.log.read_text())
        await append_from_outside(served, "after")
        heard.append(await listener.hear())
        assert [message["event"]["data"]["ref"] for message in heard] == ["before", "after"]
        assert await listener.is_quiet()


async def append_from_outside(served: RegistryProcess, ref: str) -> None:
    """Append an event as another process of the registry does."""
    database = Database(running_dsn(served.data_dir), pool_size=1)
    await database.open()
    await database.transaction(lambda tx: journal.append(tx, issued(ref)))
    await database.close()


async def test_a_refused_handshake_is_one_line_in_the_log_and_no_error(served: RegistryProcess):
    address, logged = served.url.removeprefix("http://"), len(served.log.read_text())

    def lines() -> list[dict]:
        return [json.loads(line) for line in served.log.read_text()[logged:].splitlines()]

    used = "wst_" + "7" * 64
    assert await refused_with(address, f"?token={used}") == (401, "TICKET_INVALID")
    assert await refused_with(address, origin="https://elsewhere.example") == (403, "ORIGIN_REFUSED")
    await until(lambda: {line.get("status") for line in lines()} >= {401, 403})
    refused = [line for line in lines() if line["event"] == "socket refused"]
    assert sorted(line["status"] for line in refused) == [401, 403]
    assert not [line for line in lines() if line["level"] in {"warning", "error", "critical"}]
    assert used not in served.log.read_text()


async def test_a_stop_says_going_away_and_exits_with_zero_and_no_ticket_is_in_the_log(
    served: RegistryProcess,
):
    address, logged = served.url.removeprefix("http://"), len(served.log.read_text())
    canaries = ["wst_" + "5" * 64, "x.y." + "z" * 43, "canary"]
    for canary in canaries:
        await refused_with(address, f"?token={canary}")
    async with open_listener(address, "other=canary") as listener, open_listener(address) as paused:
        await listener.subscribe("events:all")
        paused.socket.transport.pause_reading()
        stopping = asyncio.create_task(served.stop())
        assert await listener.ended() == 1001
        ended = await stopping
        paused.socket.transport.abort()
    assert ended.code == 0, ended
    assert not any(canary in ended.complaint for canary in canaries)
    assert "Traceback" not in ended.complaint[logged:], ended.complaint
