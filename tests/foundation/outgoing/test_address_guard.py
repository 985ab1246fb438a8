"""Refused addresses are never connected to: traps listen on every address of this machine."""

import asyncio
import random

import httpcore2
import pytest

from hansa.foundation.plumbing.outgoing import (
    AddressRefused,
    CallLimits,
    HostUnreachable,
    NamedBy,
    NameUnknown,
    Outgoing,
    OutgoingTimeout,
    OutgoingTrouble,
)
from hansa.foundation.plumbing.outgoing.dialling import GuardedBackend, SystemLookup
from tests.hostile import closed_hosts
from tests.outside import Names, host
from tests.properties.scale import by_tier, printed_seed

SHORT = CallLimits(seconds=0.3)
INSIDE = [
    "127.0.0.1",
    "127.8.9.10",
    "10.0.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1%lo",
    "fd00::1",
    "no address at all",
]
PUBLIC_BUT_SILENT = "1.1.1.1"


@pytest.mark.parametrize("schemes", [("https",), ("http",)])
async def test_no_spelling_of_an_inner_host_is_connected_to(schemes: tuple[str, ...]):
    async with host(address=None) as trap:
        # The operator's list names the same host on another port, and the same port on another host.
        outgoing = Outgoing((), {"127.0.0.1:1", f"cards.local:{trap.port}"})
        for url in closed_hosts.urls(trap.port, schemes):
            with pytest.raises(OutgoingTrouble):
                await outgoing.get(url, limits=SHORT, named_by=NamedBy.USER)
        assert trap.connections == 0


async def test_random_spellings_of_inner_hosts_are_not_connected_to():
    shuffled = random.Random(printed_seed())
    async with host(address=None) as trap:
        outgoing = Outgoing(lookup=Names())
        for _ in range(by_tier(60, 500, 10_000)):
            inner = f"127.{shuffled.randrange(256)}.{shuffled.randrange(256)}.{shuffled.randrange(1, 255)}"
            spelling = shuffled.choice(closed_hosts.spellings(inner) + closed_hosts.inside_ipv6(inner))
            bracketed = f"[{spelling}]" if ":" in spelling else spelling
            with pytest.raises(AddressRefused):
                await outgoing.get(f"https://{bracketed}:{trap.port}/", named_by=NamedBy.USER)
        assert trap.connections == 0


async def test_the_guard_at_the_connection_needs_no_check_of_the_text_before():
    async with host(address=None) as trap:
        guard = GuardedBackend(())
        for spelling in closed_hosts.hosts():
            with pytest.raises((AddressRefused, NameUnknown)):
                await guard.connect_tcp(spelling.strip("[]"), trap.port, timeout=0.3)
        assert trap.connections == 0


@pytest.mark.parametrize(
    ("name", "port"), [("intranet", 443), ("printer.local", 443), ("cards.example.com", 22)]
)
async def test_the_guard_at_the_connection_asks_nobody_about_names_and_ports_that_are_closed(
    name: str, port: int
):
    names = Names({name: [[PUBLIC_BUT_SILENT]]})
    with pytest.raises(AddressRefused):
        await GuardedBackend((), names).connect_tcp(name, port, timeout=0.3)
    assert names.asked == []


@pytest.mark.parametrize("inside", INSIDE)
async def test_a_name_that_resolves_to_an_inner_address_is_not_connected_to(inside: str):
    async with host(address=None) as trap:
        names = Names({"cards.example.com": [[inside]], "mixed.example.com": [[PUBLIC_BUT_SILENT, inside]]})
        outgoing = Outgoing(lookup=names)
        for name in ("cards.example.com", "mixed.example.com"):
            with pytest.raises(AddressRefused) as refused:
                await outgoing.get(f"https://{name}:{trap.port}/", named_by=NamedBy.USER)
            assert refused.value.reason == "internal_host"
        assert names.asked == ["cards.example.com.", "mixed.example.com."]
        assert trap.connections == 0


async def test_a_name_that_resolves_otherwise_a_moment_later_is_looked_up_once():
    async with host(address=None) as trap:
        rebinding = Names({"cards.example.com": [[PUBLIC_BUT_SILENT], ["127.0.0.1"]]})
        with pytest.raises((OutgoingTimeout, HostUnreachable)):
            await Outgoing(lookup=rebinding).get(
                f"https://cards.example.com:{trap.port}/", limits=SHORT, named_by=NamedBy.USER
            )
        assert rebinding.asked == ["cards.example.com."]
        assert trap.connections == 0


async def test_a_name_that_goes_to_and_fro_never_leads_inside():
    """R15's rebinding: each try is one lookup, whose answer is both judged and connected to."""
    tries = by_tier(40, 400, 10_000)
    async with host(address=None) as trap:
        answers = [[PUBLIC_BUT_SILENT], ["127.0.0.1"]] * tries
        names = Names({"cards.example.com": answers})
        guard = GuardedBackend((), names)
        for _ in range(tries):
            with pytest.raises((AddressRefused, HostUnreachable)):
                await guard.connect_tcp("cards.example.com", trap.port, timeout=0.001)
        assert len(names.asked) == tries
        assert trap.connections == 0


async def test_one_inner_address_at_the_end_of_many_is_found():
    names = Names({"cards.example.com": [[f"1.1.1.{last}" for last in range(1, 20)] + ["10.0.0.1"]]})
    with pytest.raises(AddressRefused):
        await Outgoing(lookup=names).get("https://cards.example.com/", named_by=NamedBy.USER)


async def test_the_address_connected_to_is_the_one_that_was_looked_up():
    async with host() as named:
        names = Names({"cards.local": [["127.0.0.1"], ["127.0.0.9"]]})
        outgoing = Outgoing((), {f"cards.local:{named.port}"}, lookup=names)
        answer = await outgoing.get(f"http://cards.local:{named.port}/card?x=1", named_by=NamedBy.USER)
        assert (answer.status, answer.body) == (200, b"ok")
        assert names.asked == ["cards.local"]
        assert named.heads[0].startswith("GET /card?x=1 HTTP/1.1\r\n")
        assert f"\r\nHost: cards.local:{named.port}\r\n" in named.heads[0]


async def test_a_dead_address_of_a_name_leaves_time_for_the_next():
    async with host() as named:
        names = Names({"cards.local": [["127.0.0.9", "127.0.0.1"]]})
        outgoing = Outgoing((), {f"cards.local:{named.port}"}, lookup=names)
        assert (await outgoing.get(f"http://cards.local:{named.port}/", named_by=NamedBy.USER)).status == 200


async def test_the_operator_lets_through_the_named_host_on_the_named_port_only():
    async with host() as named, host() as other:
        outgoing = Outgoing((), {f"127.0.0.1:{named.port}"})
        assert (await outgoing.get(f"http://127.0.0.1:{named.port}/", named_by=NamedBy.USER)).status == 200
        for url in (
            f"http://127.0.0.1:{other.port}/",
            f"http://127.1:{named.port}/",
            f"http://localhost:{named.port}/",
        ):
            with pytest.raises(AddressRefused):
                await outgoing.get(url, named_by=NamedBy.USER)
        assert (named.connections, other.connections) == (1, 0)


async def test_an_allowed_ipv6_host_is_written_in_brackets():
    async with host(address="::1") as named:
        outgoing = Outgoing((), {f"[::1]:{named.port}"})
        assert (await outgoing.get(f"http://[::1]:{named.port}/", named_by=NamedBy.USER)).status == 200


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://cards.example.com/", "plain_http"),
        ("https://cards.example.com:22/", "odd_port"),
        ("https://cards.example.com:6379/", "odd_port"),
        ("https://user:word@cards.example.com/", "not_a_web_address"),
        ("ftp://cards.example.com/", "not_a_web_address"),
        ("https://intranet/", "internal_host"),
    ],
)
async def test_a_refusal_says_why(url: str, reason: str):
    with pytest.raises(AddressRefused) as refused:
        await Outgoing(lookup=Names()).get(url, named_by=NamedBy.USER)
    assert refused.value.reason == str(refused.value) == reason


async def test_a_name_without_an_address_is_an_error_of_its_own():
    with pytest.raises(NameUnknown):
        await Outgoing(lookup=Names()).get("https://nobody.example.com/", named_by=NamedBy.USER)


async def test_the_resolver_of_the_system_is_asked_in_threads_of_its_own():
    assert "127.0.0.1" in await asyncio.wait_for(SystemLookup()("localhost", 80), 10)


async def test_a_socket_of_the_file_system_is_never_dialled():
    with pytest.raises(NotImplementedError):
        await GuardedBackend(()).connect_unix_socket("/var/run/docker.sock")
    assert issubclass(GuardedBackend, httpcore2.AsyncNetworkBackend)
