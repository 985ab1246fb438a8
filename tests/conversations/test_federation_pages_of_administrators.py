"""The administration of a federation in a browser: peers, invitations, pools, slash requests and keys (Specification 6 W 13, 19)."""

import re
from collections.abc import AsyncIterator

import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms import federation
from tests.browsing import BrowserOf, browser_of
from tests.conversations.test_joining import with_trust_followed
from tests.hostile.federation_requests import settlement_that_can
from tests.neighbours.pool_scene import Currencies, currencies
from tests.neighbours.two_registries import Neighbour, Neighbours, neighbours
from tests.registry import DatabaseFarm, TestRegistry

PEERS, POOLS = "/administration/peers", "/administration/pools"
REQUESTS, KEYS = "/administration/slash-requests", "/administration/keys"
PAGES = {
    PEERS: "admin_federation",
    f"{PEERS}/invite": "admin_federation",
    f"{PEERS}/accept": "admin_federation",
    POOLS: "admin_treasury",
    REQUESTS: "admin_enforcement",
    KEYS: "admin_platform",
}
NINE = 9


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    """Registry a has the currency ARA, b has BOB; they are peers without a pool."""
    directory = tmp_path_factory.mktemp("pages")
    async with currencies(database_farm, directory, a={"fx_rate_mode": "fixed"}) as pair:
        yield pair


@pytest.fixture(scope="module")
async def browser(scene: Currencies) -> BrowserOf:
    """A browser of an administrator of every area at a."""
    return await opened(scene.a)


async def opened(one: Neighbour, *areas: str) -> BrowserOf:
    return await browser_of(one.registry, await one.registry.administrator(*(areas or ADMIN_AREAS)))


async def acts(registry: TestRegistry, act: str) -> int:
    """How many such acts the audit log has."""
    count: int = await registry.database.read(
        lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_admin_act WHERE act = $1", act)
    )
    return count


async def twice(browser: BrowserOf, action: str, **fields: str) -> str:
    """Send a form of the open page two times; the page of the second answer."""
    form = browser.form(action)
    kept = [pair for pair in form.fields if pair[0] not in fields]
    await browser.post(action, kept, **fields)
    return (await browser.post(action, kept, **fields)).text


async def refused(browser: BrowserOf, status: int, field: str | None = None) -> None:
    """The open page is that of a form that was refused, with the sentence beside its field."""
    assert (browser.page.status_code, 'role="alert"' in browser.text) == (status, True), browser.text
    assert field is None or f'id="{field}-trouble"' in browser.text


async def test_each_page_needs_the_area_of_its_routes(scene):
    for area in ADMIN_AREAS:
        visitor = await opened(scene.a, area)
        for path, needed in PAGES.items():
            answer = await visitor.open(path)
            assert (area, path, answer.status_code) == (area, path, 200 if needed == area else 403)


async def test_the_list_of_peers_has_state_last_contact_limit_and_last_refusal_in_words(scene, browser):
    peer = await scene.a.peer(scene.b)
    count = scene.a.registry.database.transaction
    await count(lambda tx: federation.count_refusal(tx, peer.id, "wrong_identity"))
    text = (await browser.open(PEERS)).text
    assert f'href="{PEERS}/{peer.id}"' in text
    assert "b.example" in text
    assert '<span class="chip active">Active</span>' in text
    assert re.search(r"<meter [^>]*aria-label=\"Brought in by registry-b\"[^>]*max=\"1000000000000\"", text)
    assert "0 of 10\u202f000 ARA" in text
    assert "Another identity of its trust domain called this registry" in text
    assert "wrong_identity" not in text


async def test_a_peer_is_paused_resumed_put_under_quarantine_and_released_once_each(scene, browser):
    peer = await scene.a.peer(scene.b)
    base = f"{PEERS}/{peer.id}"
    await browser.open(base)
    for act, fields, said, state in (
        ("pause", {}, "The peer is paused.", "Paused"),
        ("resume", {}, "The peer is approved and read again.", "Active"),
        ("quarantine", {"reason": "It forges"}, "The peer is under quarantine.", "Quarantined"),
        ("release", {"reason": "It is mended"}, "The quarantine has ended.", "Active"),
    ):
        before = await acts(scene.a.registry, f"peer.{act}")
        text = await twice(browser, f"{base}/{act}", **fields)
        assert said in text
        assert re.search(rf'<span class="chip \w+">{state}</span>', text), act
        assert await acts(scene.a.registry, f"peer.{act}") == before + 1


async def test_a_quarantine_needs_a_reason_and_a_removal_the_name_of_the_peer(scene, browser):
    base = f"{PEERS}/{(await scene.a.peer(scene.b)).id}"
    await browser.open(base)
    await browser.send(f"{base}/quarantine", reason=" ")
    await refused(browser, 422, "reason")
    await browser.send(f"{base}/remove", typed_name="registry-a")
    await refused(browser, 422, "typed_name")
    assert (await scene.a.peer(scene.b)).is_open


async def test_the_limit_of_a_peer_is_changed_and_none_is_a_choice_of_its_own(scene, browser):
    base = f"{PEERS}/{(await scene.a.peer(scene.b)).id}"
    await browser.open(base)
    text = await twice(browser, f"{base}/limit", net_in_limit="250,5")
    assert "The limit is changed." in text
    assert "0 of 250.5 ARA" in text
    assert await acts(scene.a.registry, "peer.net_in_limit") == 1
    for wrong in ("", "-1", "many"):
        await browser.send(f"{base}/limit", net_in_limit=wrong)
        await refused(browser, 422, "net_in_limit")
    await browser.open(base)
    await browser.send(f"{base}/limit", net_in_limit="", unlimited="true")
    assert "0 ARA, no limit" in browser.text
    administrator = await scene.a.registry.administrator("admin_federation")
    path = "/api/v1/admin/federation/peers/registry-b/net-in-limit"
    answer = await scene.a.registry.http.put(
        path, json={"net_in_limit": "10000"}, headers=administrator.headers
    )
    assert (answer.status_code, answer.json()["net_in_limit"]) == (200, "10000")


async def test_a_pool_is_opened_funded_drained_priced_and_closed_with_each_amount_on_its_button(
    scene, browser
):
    peer, of_b = await scene.a.peer(scene.b), await opened(scene.b)
    base, there = f"{POOLS}/{peer.id}", f"{POOLS}/{(await scene.b.peer(scene.a)).id}"
    await browser.open(POOLS)
    await browser.send(f"{POOLS}/check", peer=str(peer.id), reserve_own="1000", reserve_foreign="2000")
    assert "Nothing is changed yet." in browser.text
    assert "Open the pool with 1\u202f000 ARA" in browser.text
    assert await acts(scene.a.registry, "pool.open") == 0
    assert "The pool is proposed to the peer." in await twice(browser, POOLS)
    await scene.follow()
    await of_b.open(POOLS)
    assert "Fund with 2\u202f000 BOB" in of_b.text
    assert "The reserve is funded." in await twice(of_b, f"{there}/fund")
    await scene.follow()
    for act, fields, button, said, reserve in (
        ("fund", {"amount": "100"}, "Fund with 100 ARA", "The reserve is funded.", "1\u202f100 ARA"),
        ("drain", {"amount": "50"}, "Drain 50 ARA", "The units are in the treasury.", "1\u202f050 ARA"),
        ("rate", {"rate": "2.5"}, "Set 1 ARA = 2.5 BOB", "The rate is set.", "1 ARA = 2.5 BOB"),
    ):
        await browser.open(POOLS)
        await browser.send(f"{base}/{act}/check", **fields)
        assert f">{button}</button>" in browser.text
        text = await twice(browser, f"{base}/{act}")
        assert said in text
        assert reserve in text
        assert await acts(scene.a.registry, f"pool.{act}") == 1
    await scene.follow()
    await scene.prove()
    assert "Close and return 1\u202f050 ARA" in browser.text
    assert "The pool is closed." in await twice(browser, f"{base}/close")
    assert "This registry has no pools." in browser.text
    await scene.follow()


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"peer": "", "reserve_own": "1", "reserve_foreign": "1"}, 422, "peer"),
        ({"peer": "999", "reserve_own": "1", "reserve_foreign": "1"}, 404, None),
        ({"peer": "1", "reserve_own": "x", "reserve_foreign": "7"}, 422, "reserve_own"),
        ({"peer": "1", "reserve_own": "0.00000001", "reserve_foreign": "7"}, 409, None),
    ],
)
async def test_a_pool_without_what_it_needs_is_refused_with_the_form_kept(browser, fields, status, field):
    await browser.open(POOLS)
    await browser.send(f"{POOLS}/check", **fields)
    await refused(browser, status, field)
    assert f'value="{fields["reserve_foreign"]}"' in browser.text


async def test_a_slash_request_is_decided_once_and_the_limits_of_a_peer_are_set(scene, browser):
    registry = scene.a.registry
    stage = type("Stage", (), {"registry": registry, "spare": await registry.agent(name="Slashed")})
    ids = {}
    for act, said, fields in (
        ("approve", "The slash is approved", {}),
        ("reject", "The slash is rejected.", {"reason": "No proof"}),
        ("write-off", "The units are written off.", {"reason": "It is gone"}),
    ):
        ids[act] = (await settlement_that_can(act)(stage)).partition("/")[0]
        await browser.open(REQUESTS)
        assert "Slashed" in browser.text
        assert said in await twice(browser, f"{REQUESTS}/{ids[act]}/{act}", **fields)
        again = await browser.post(
            f"{REQUESTS}/{ids[act]}/{act}", [("form_key", key_of(browser)), *fields.items()]
        )
        assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    peer = await scene.a.peer(scene.b)
    await browser.open(f"{REQUESTS}?direction=incoming&status=PENDING_SLASH")
    assert "No slash requests." in browser.text
    path = f"{REQUESTS}/limits/{peer.id}"
    assert "Up to 12 ARA" in await twice(browser, path, auto_slash_enabled="true", auto_slash_max_avt="12")
    await browser.send(path, auto_slash_max_avt="-1")
    await refused(browser, 422, "auto_slash_max_avt")
    assert (await scene.a.peer(scene.b)).auto_slash_max_avt == 12


async def test_both_signing_keys_are_rotated_once_by_the_form_sent_twice(scene, browser):
    for kind, act in (("registry", "registry_key.rotate"), ("auditor", "attestation_key.rotate")):
        await browser.open(KEYS)
        assert "hansa keys rotate-licensing" in browser.text
        await browser.send(f"{KEYS}/{kind}/rotate", **{f"{kind}_reason": "x" * 2001})
        await refused(browser, 422, f"{kind}_reason")
        text = await twice(browser, f"{KEYS}/{kind}/rotate", **{f"{kind}_reason": "Yearly"})
        assert "with a new key." in text
        assert await acts(scene.a.registry, act) == 1


async def test_no_page_reads_more_than_six_statements_after_the_session(scene, browser):
    peer = await scene.a.peer(scene.b)
    for path in (*PAGES, f"{PEERS}/{peer.id}"):
        # The driver asks for the types of a statement when it is prepared first.
        await browser.open(path)
        statements = await counted(scene.a.registry, browser, path)
        assert len(statements) <= 6, (path, statements)


async def counted(registry: TestRegistry, browser: BrowserOf, path: str) -> list[str]:
    """The statements of the batch that a page reads."""
    found: list[str] = []
    database = registry.database
    read = database.read

    async def watched(use_case):
        async def within(tx):
            with tx.query_logger(lambda one: found.append(one.query)):
                return await use_case(tx)

        return await read(within)

    vars(database)["read"] = watched
    try:
        assert (await browser.open(path)).status_code == 200
    finally:
        del vars(database)["read"]
    return found


def key_of(browser: BrowserOf) -> str:
    """A fresh key of a form of the open page."""
    found = re.search(r'name="form_key" value="([^"]+)"', browser.text)
    assert found is not None
    return found[1]


@pytest.fixture
async def strangers(database_farm: DatabaseFarm, tmp_path) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path, joined=False) as pair:
        yield pair


async def test_two_registries_become_peers_and_part_in_two_browsers_without_an_identifier_typed(strangers):
    of_a, of_b = [await opened(one, "admin_federation") for one in (strangers.a, strangers.b)]
    await of_a.open(f"{PEERS}/invite")
    await of_a.send(f"{PEERS}/invite", address="ftp://b.example")
    await refused(of_a, 422, "address")
    text = await twice(of_a, f"{PEERS}/invite", address=f"{strangers.b.public_url}/x", expires_in="3600")
    link = re.search(r"<code>(http[^<]+)</code>", text)
    assert link is not None
    address, _, invitation = link[1].partition("#invitation=")
    assert address == f"{strangers.b.public_url}{PEERS}/accept"
    assert re.search(r'<svg viewBox="0 0 \d+ \d+" xmlns=', text)
    assert await acts(strangers.a.registry, "peer.invite") == 1
    assert invitation not in (await of_a.open(f"{PEERS}/invite")).text
    assert of_a.text.count("Another registry</td>") == 1
    (revocation,) = re.findall(rf'action="({PEERS}/invitations/[^"]+/revoke)"', of_a.text)

    await of_b.open(f"{PEERS}/accept")
    await of_b.send(f"{PEERS}/accept/check", invitation="no invitation")
    assert of_b.text.count("Not reached") == NINE
    assert "The invitation is refused" in of_b.text
    assert f'action="{PEERS}/accept"' not in of_b.text
    await of_b.open(f"{PEERS}/accept")
    await of_b.send(f"{PEERS}/accept/check", invitation=invitation)
    assert of_b.text.count("✓ Holds") == NINE
    assert "registry-a" in of_b.text
    await of_b.send(f"{PEERS}/accept", net_in_limit="-5")
    await refused(of_b, 422, "net_in_limit")
    assert of_b.text.count("✓ Holds") == NINE
    await with_trust_followed(strangers, of_b.send(f"{PEERS}/accept", net_in_limit="700"))
    assert "The invitation is accepted: both registries are peers." in of_b.text
    assert "0 of 700 AVT" in of_b.text
    for one, other in ((strangers.a, strangers.b), (strangers.b, strangers.a)):
        assert (await one.peer(other)).status == "active"
    assert "No open invitations." in (await of_a.open(f"{PEERS}/invite")).text
    late = await of_a.post(revocation, [("form_key", key_of(of_a))])
    assert (late.status_code, await acts(strangers.a.registry, "peer.revoke_invitation")) == (404, 0)

    base = f"{PEERS}/{(await strangers.a.peer(strangers.b)).id}"
    await of_a.open(base)
    assert "The peer is removed." in await twice(of_a, f"{base}/remove", typed_name="registry-b")
    assert "This registry has no peers." in of_a.text


async def test_a_revoked_invitation_is_refused_and_its_reason_is_shown_before_anything_is_accepted(strangers):
    of_a, of_b = [await opened(one, "admin_federation") for one in (strangers.a, strangers.b)]
    await of_a.open(f"{PEERS}/invite")
    text = (await of_a.send(f"{PEERS}/invite", address="")).text
    invitation = re.findall(r"<code>([\w.-]{200,})</code>", text)[0]
    await of_a.open(f"{PEERS}/invite")
    (action,) = re.findall(rf'action="({PEERS}/invitations/[^"]+/revoke)"', of_a.text)
    assert "The invitation is revoked." in await twice(of_a, action)
    again = await of_a.post(action, [("form_key", key_of(of_a))])
    assert again.status_code == 404
    await of_b.open(f"{PEERS}/accept")
    await of_b.send(f"{PEERS}/accept/check", invitation=invitation)
    await of_b.send(f"{PEERS}/accept", net_in_limit="1")
    await refused(of_b, 409)
    assert f">\n{invitation}</textarea>" in of_b.text
    assert "No open invitation of this registry has this id" in of_b.text
    assert "This registry has no peers." in (await of_b.open(PEERS)).text
