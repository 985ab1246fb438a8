"""Which channels an event is told on, and how much of it is kept."""

from uuid import uuid4

import pytest

from hansa.rooms.journal.feed.errors import ChannelNeedsCredential, ChannelRefused, OriginRefused
from hansa.rooms.journal.feed.messages import LiveEvent
from hansa.rooms.journal.feed.ring import Ring
from hansa.rooms.journal.feed.rules import Channel, Follower, channel_for, keys_of, require_own_origin


def event(number: int, *keys: str) -> LiveEvent:
    return LiveEvent(id=uuid4(), sequence=number, keys=keys, record=b"{}", frame=b"")


def sequences(ring: Ring, key: str) -> list[int]:
    return [event.sequence for event in ring.latest(key)]


def test_a_balance_event_is_filed_under_every_account_that_it_moves():
    data = {"entries": [{"account": "did:a"}, {"account": "did:b"}, {"account": "did:a"}], "memo": "did:c"}
    assert keys_of("LedgerBalanceChanged", "did:a", data) == (
        *("events:all", "events:LedgerBalanceChanged", "agent:did:a", "agent:did:b"),
        *("balance:did:a", "balance:did:b"),
    )


def test_a_text_that_somebody_chose_names_nobody():
    data = {"from": "did:a", "to": "did:b", "message": "did:c", "payer": ["did:d"]}
    assert keys_of("TokensTransferred", "did:a", data) == (
        *("events:all", "events:TokensTransferred", "agent:did:a", "agent:did:b"),
    )


AGENT = Follower(is_known=True, did="did:a")
OWNER = Follower(is_known=True, owned=frozenset({"did:a", "did:b"}))


def test_the_channel_of_an_agent_is_the_same_for_the_agent_and_its_owner():
    for follower in (AGENT, OWNER):
        assert channel_for(follower, "agent:did:a") == Channel("agent:did:a", "agent:did:a")


def test_a_balance_is_the_agents_alone():
    assert channel_for(AGENT, "balance:updates") == Channel("balance:updates", "balance:did:a")
    with pytest.raises(ChannelRefused):
        channel_for(OWNER, "balance:updates")


@pytest.mark.parametrize("name", ["agent:did:c", "agent:", "agent:agent:did:a", "agent:did:a "])
def test_the_channel_of_another_agent_is_refused_and_without_a_credential_every_one(name: str):
    for follower in (AGENT, OWNER, Follower(is_known=True)):
        with pytest.raises(ChannelRefused):
            channel_for(follower, name)
    with pytest.raises(ChannelNeedsCredential):
        channel_for(Follower(), name)


def test_the_ring_replays_the_latest_fifteen_the_oldest_first():
    ring = Ring(400)
    for number in range(40):
        ring.add(event(number, "events:all", "agent:a" if number % 2 else "agent:b"))
    assert sequences(ring, "events:all") == list(range(25, 40))
    assert sequences(ring, "agent:a") == list(range(11, 40, 2))
    assert sequences(ring, "agent:c") == []


def test_an_agents_events_leave_with_the_ring_and_those_of_a_type_stay():
    ring = Ring(3)
    ring.add(event(0, "events:all", "events:Rare", "agent:a"))
    for number in range(1, 5):
        ring.add(event(number, "events:all", "agent:b"))
    assert sequences(ring, "agent:a") == []
    assert sequences(ring, "agent:b") == [2, 3, 4]
    assert sequences(ring, "events:Rare") == [0]


@pytest.mark.parametrize(
    "origin", [None, "https://registry.example", "http://10.0.0.1:8000", "https://10.0.0.1:8000"]
)
def test_pages_of_the_registry_and_programs_may_open_the_feed(origin: str | None):
    require_own_origin(origin, host="10.0.0.1:8000", base_url="https://registry.example")


@pytest.mark.parametrize(
    "origin", ["null", "", "https://evil.example", "http://registry.example", "10.0.0.1:8000", "file://"]
)
def test_other_pages_may_not(origin: str):
    with pytest.raises(OriginRefused):
        require_own_origin(origin, host="10.0.0.1:8000", base_url="https://registry.example")
