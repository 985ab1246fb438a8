"""Nobody gets past a rate limit by naming other addresses, by having many, or by coming all at once."""

import itertools

import httpx2
import pytest

from tests.registry import StartRegistry, TestRegistry, at_once

LOGINS = 10
_numbers = itertools.count(1)


async def attempt(registry: TestRegistry, username: str | None = None, **headers: str) -> int:
    """A login that fails, to an account of its own unless one is named, from the address that the headers state."""
    form = {
        "username": username or f"nobody{next(_numbers)}@example.org",
        "password": "Wrong-Horse-7-Battery",
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await registry.post("/auth/login", data=form, headers=named)
    assert answer.status_code in (401, 429), answer.text
    return answer.status_code


async def statuses(registry: TestRegistry, addresses: list[str]) -> list[int]:
    return [await attempt(registry, X_Forwarded_For=address) for address in addresses]


async def test_a_client_names_no_other_address_for_itself(start_registry: StartRegistry):
    registry = await start_registry(trusted_proxies=[])
    codes = []
    for number in range(LOGINS + 1):
        other = f"198.51.100.{number}"
        codes.append(
            await attempt(
                registry,
                X_Forwarded_For=other,
                Forwarded=f"for={other}",
                X_Real_IP=other,
                True_Client_IP=other,
                CF_Connecting_IP=other,
            )
        )
    assert codes == [401] * LOGINS + [429]


async def test_behind_a_named_proxy_the_address_that_the_proxy_saw_counts(registry: TestRegistry):
    spoofed = [f"198.51.100.{number}, 203.0.113.7" for number in range(LOGINS + 1)]
    assert await statuses(registry, spoofed) == [401] * LOGINS + [429]
    assert await statuses(registry, ["203.0.113.7, 203.0.113.8"]) == [401]


async def test_a_chain_of_named_proxies_is_followed_to_the_first_that_is_not_named(
    start_registry: StartRegistry,
):
    registry = await start_registry(trusted_proxies=["127.0.0.1", "192.0.2.1"])
    chains = [f"198.51.100.{number}, 203.0.113.7, 192.0.2.1" for number in range(LOGINS + 1)]
    assert await statuses(registry, chains) == [401] * LOGINS + [429]


async def test_a_named_network_has_proxies_alone_and_an_address_beside_it_is_a_client(
    start_registry: StartRegistry,
):
    registry = await start_registry(trusted_proxies=["127.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"])
    chains = [f"198.51.100.{number}, 203.0.113.7, 192.0.2.{number}" for number in range(LOGINS)]
    chains.append("198.51.100.99, 203.0.113.7, 2001:db8:1::1, ::ffff:192.0.2.9")
    assert await statuses(registry, chains) == [401] * LOGINS + [429]
    assert await statuses(registry, ["203.0.113.7, 192.0.3.1"]) == [401]


async def test_an_address_in_several_header_lines_is_read_like_one_line(registry: TestRegistry):
    codes = []
    for number in range(LOGINS + 1):
        lines = httpx2.Headers(
            [("X-Forwarded-For", f"198.51.100.{number}"), ("X-Forwarded-For", "203.0.113.7")]
        )
        form = {"username": f"line{number}@example.org", "password": "Wrong-Horse-7-Battery"}
        codes.append((await registry.post("/auth/login", data=form, headers=lines)).status_code)
    assert codes == [401] * LOGINS + [429]


async def test_all_addresses_of_one_64_bit_network_are_one_client(registry: TestRegistry):
    neighbours = [f"2001:db8:1:2:{number:x}::{number:x}" for number in range(1, LOGINS + 2)]
    assert await statuses(registry, neighbours) == [401] * LOGINS + [429]
    assert await statuses(registry, ["2001:db8:1:3::1"]) == [401]


async def test_an_ipv4_address_is_the_same_client_in_ipv6_clothes(registry: TestRegistry):
    spellings = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107", "0:0:0:0:0:ffff:203.0.113.7"]
    several = list(itertools.islice(itertools.cycle(spellings), LOGINS + 1))
    assert await statuses(registry, several) == [401] * LOGINS + [429]


async def test_of_a_burst_as_many_are_admitted_as_the_limit_says(registry: TestRegistry):
    codes = await at_once(*(attempt(registry, X_Forwarded_For="203.0.113.7") for _ in range(3 * LOGINS)))
    assert sorted(codes) == [401] * LOGINS + [429] * 2 * LOGINS


# Half a minute is for a slow machine: the logins themselves take time.
@pytest.mark.parametrize(("seconds", "admitted"), [(30, 0), (61, LOGINS)])
async def test_a_window_has_no_edge_to_burst_at(registry: TestRegistry, seconds: int, admitted: int):
    assert set(await statuses(registry, ["203.0.113.7"] * LOGINS)) == {401}
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE plumbing_rate_limit SET admitted = ARRAY(SELECT t - make_interval(secs => $1)"
            " FROM unnest(admitted) t ORDER BY t)",
            float(seconds),
        )
    )
    codes = await statuses(registry, ["203.0.113.7"] * LOGINS)
    assert codes == [401] * admitted + [429] * (LOGINS - admitted)


async def test_the_case_of_an_address_makes_no_other_account(registry: TestRegistry):
    codes = []
    for number in range(LOGINS + 1):
        username = "".join(
            character.upper() if number >> place & 1 else character
            for place, character in enumerate("ada@example.org")
        )
        codes.append(await attempt(registry, username, X_Forwarded_For=f"203.0.113.{number}"))
    assert codes == [401] * LOGINS + [429]


async def test_a_refusal_says_when_to_come_back(registry: TestRegistry):
    await statuses(registry, ["203.0.113.7"] * LOGINS)
    form = {"username": "late@example.org", "password": "Wrong-Horse-7-Battery"}
    answer = await registry.post("/auth/login", data=form, headers={"X-Forwarded-For": "203.0.113.7"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["ratelimit-limit"] == str(LOGINS)


async def test_codes_of_invitations_cannot_be_tried_out(start_registry: StartRegistry):
    registry = await start_registry(beta_invite_required=True)
    codes = []
    for number in range(6):
        body = {
            "name": f"Guesser {number}",
            "email": f"guesser{number}@example.org",
            "password": "Correct-Horse-7-Battery",
            "tos_accepted": True,
            "age_confirmed": True,
            "invite_code": f"HANSA-0000-0000-0000-000{number}",
        }
        answer = await registry.post("/auth/register", json=body, headers={"X-Forwarded-For": "203.0.113.7"})
        codes.append(answer.status_code)
    assert codes == [400] * 5 + [429]


async def test_of_a_burst_of_reads_as_many_are_admitted_as_the_limit_says(start_registry: StartRegistry):
    registry = await start_registry(rate_limit_reads=120)
    answers = await at_once(*(registry.get("/public/registry-config") for _ in range(130)))
    assert sorted(answer.status_code for answer in answers) == [200] * 120 + [429] * 10
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert "More than 120 requests in 60 seconds" in refused.json()["detail"]


async def test_an_agent_moves_units_as_often_a_minute_as_rate_limit_writes_says(
    start_registry: StartRegistry,
):
    registry = await start_registry(rate_limit_writes=4, agent_rbac_default_roles=["trader", "staker"])
    alice, bob = await registry.agent(), await registry.agent()
    answers = await at_once(*(alice.transfer(bob, "1") for _ in range(3)))
    assert [answer.status_code for answer in answers] == [200] * 3
    body = {"receiver_did": bob.did, "amount": "1"}
    sent = await registry.post("/teg/send", json=body, headers=alice.headers)
    assert sent.status_code == 200
    for refused in (
        await alice.transfer(bob, "1"),
        await registry.post("/teg/send", json=body, headers=alice.headers),
        await registry.post("/staking/stake", json={"amount": "10"}, headers=alice.headers),
        await registry.post("/staking/unstake", json={"amount": "10"}, headers=alice.headers),
    ):
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert (await bob.transfer(alice, "1")).status_code == 200
    assert await bob.balance() == "102.995"


async def test_no_number_of_writes_is_too_many_by_default(start_registry: StartRegistry):
    assert (await start_registry()).settings.rate_limit_writes == 0
