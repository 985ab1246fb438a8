"""Channels that carry an event."""

import pytest

from hansa.rooms.journal.feed.errors import ChannelNeedsCredential, ChannelRefused, OriginRefused
from hansa.rooms.journal.feed.rules import Channel, Follower, channel_for, keys_of, require_own_origin


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
