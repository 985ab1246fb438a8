"""Areas of administrators in a browser: given and withdrawn by a colleague who administers them (decision 0235)."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.rooms.people.areas import change_of
from hansa.rooms.people.errors import AreaNotAdministered, AreasUnchanged
from tests.browsing import BrowserOf, browser_of
from tests.registry import TestDeveloper, TestRegistry, at_once

PAGE = "/administration/administrators"
AREAS = st.sets(st.sampled_from(ADMIN_AREAS))


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def number_of(developer: TestDeveloper) -> int:
    number: int = (await developer.registry.get("/auth/profile", headers=developer.headers)).json()["id"]
    return number


async def at_the_page(registry: TestRegistry, *areas: str) -> BrowserOf:
    browser = await browser_of(registry, await registry.administrator("admin_platform", *areas))
    await browser.open(PAGE)
    return browser


async def opens(developer: TestDeveloper, path: str) -> int:
    return (await developer.registry.get(path, headers=developer.headers)).status_code


async def acts_on(registry: TestRegistry, number: int) -> list[tuple[str, str]]:
    """The acts of the audit log on a developer, oldest first."""
    rows = await registry.database.read(
        lambda tx: tx.fetch(
            "SELECT act, reason FROM plumbing_admin_act WHERE subject = $1 AND act LIKE 'admin\\_%' ORDER BY id",
            f"developer:{number}",
        )
    )
    return [(row["act"], row["reason"]) for row in rows]


async def test_an_area_is_given_and_withdrawn_with_effect_from_the_next_request(registry):
    colleague = await registry.administrator("admin_support")
    number = await number_of(colleague)
    browser = await at_the_page(registry, "admin_treasury", "admin_support")
    assert await opens(colleague, "/admin/awards") == 403
    page = await browser.send(f"{PAGE}/{number}", areas=["admin_support", "admin_treasury"], reason="Holiday")
    assert "The areas are changed." in page.text
    assert await opens(colleague, "/admin/awards") == 200
    await browser.send(f"{PAGE}/{number}", areas=["admin_support"], reason="Back again")
    assert await opens(colleague, "/admin/awards") == 403
    assert await opens(colleague, "/admin/invite-codes") == 200
    assert await acts_on(registry, number) == [
        ("admin_treasury.give", "Holiday"),
        ("admin_treasury.withdraw", "Back again"),
    ]


async def test_areas_that_the_administrator_lacks_have_no_check_box_and_stay(registry):
    colleague = await registry.administrator("admin_enforcement", "admin_support")
    number = await number_of(colleague)
    browser = await at_the_page(registry, "admin_support")
    assert f'id="admin_support-{number}"' in browser.text
    assert f'id="admin_enforcement-{number}"' not in browser.text
    await browser.send(f"{PAGE}/{number}", areas=[], reason="Left the desk")
    assert await opens(colleague, "/admin/invite-codes") == 403
    assert await acts_on(registry, number) == [("admin_support.withdraw", "Left the desk")]
    form = browser.form(f"{PAGE}/{number}")
    assert dict(form.fields)["version"] == "admin_enforcement"
    forged = await browser.send(f"{PAGE}/{number}", areas=["admin_treasury"], reason="Mine")
    assert (forged.status_code, "areas that it administers itself" in forged.text) == (403, True)
    assert len(await acts_on(registry, number)) == 1


async def test_nobody_changes_own_areas_and_nobody_without_an_area_gets_one(registry):
    administrator = await registry.administrator("admin_platform", "admin_support")
    browser = await browser_of(registry, administrator)
    own, plain = await number_of(administrator), await number_of(await registry.developer())
    await browser.open(PAGE)
    assert f'action="{PAGE}/{own}"' not in browser.text
    assert f'action="{PAGE}/{plain}"' not in browser.text
    colleague = await number_of(await registry.administrator("admin_support"))
    await browser.open(PAGE)
    key = dict(browser.form(f"{PAGE}/{colleague}").fields)["form_key"]
    for number, status in ((own, 403), (plain, 404), (2**62, 404)):
        fields = {"form_key": key, "version": "", "areas": "admin_support", "reason": "More"}
        refused = await browser.post(f"{PAGE}/{number}", **fields)
        assert (number, refused.status_code) == (number, status)
        assert await acts_on(registry, number) == []


async def test_a_change_needs_a_reason_and_the_areas_that_were_shown(registry):
    colleague = await registry.administrator("admin_support", "admin_treasury")
    number = await number_of(colleague)
    one, other = [await at_the_page(registry, "admin_support", "admin_treasury") for _ in range(2)]
    without = await one.send(f"{PAGE}/{number}", areas=["admin_support"], reason=" ")
    assert (without.status_code, 'id="reason-trouble"' in without.text) == (422, True)
    same = await one.send(f"{PAGE}/{number}", areas=["admin_support", "admin_treasury"], reason="None")
    assert (same.status_code, "nothing was changed" in same.text) == (409, True)
    await one.send(f"{PAGE}/{number}", areas=["admin_support"], reason="First")
    late = await other.send(f"{PAGE}/{number}", areas=["admin_treasury"], reason="Second")
    assert (late.status_code, "changed after this page was opened" in late.text) == (409, True)
    assert await acts_on(registry, number) == [("admin_treasury.withdraw", "First")]


async def test_of_two_administrators_who_withdraw_an_area_from_each_other_one_keeps_it(registry):
    pair = [await registry.administrator("admin_platform", "admin_treasury") for _ in range(2)]
    numbers = [await number_of(one) for one in pair]
    browsers = [await browser_of(registry, one) for one in pair]
    acts: list[Any] = []
    for browser, target in zip(browsers, reversed(numbers), strict=True):
        await browser.open(PAGE)
        form = browser.form(f"{PAGE}/{target}")
        kept = [pair for pair in form.fields if pair[0] not in {"areas", "reason"}]
        acts.append(browser.post(form.action, kept, areas="admin_platform", reason="Mine"))
    await at_once(*acts)
    statuses = [await opens(one, "/admin/awards") for one in pair]
    assert sorted(statuses) == [200, 403]
    done, refused = sorted(browser.page.status_code for browser in browsers)
    # The one that comes later lacks the area: as the form is judged, or as the request began.
    assert (done, refused in {403, 409}) == (200, True)


async def test_the_form_sent_twice_is_one_act(registry):
    colleague = await registry.administrator("admin_support")
    number = await number_of(colleague)
    browser = await at_the_page(registry, "admin_support", "admin_treasury")
    form = browser.form(f"{PAGE}/{number}")
    kept = [pair for pair in form.fields if pair[0] not in {"areas", "reason"}]
    for _ in range(2):
        page = await browser.post(form.action, kept, areas=["admin_support", "admin_treasury"], reason="Once")
        assert "The areas are changed." in page.text
    assert len(await acts_on(registry, number)) == 1


async def test_the_page_needs_the_area_of_the_platform_and_names_every_administrator(registry):
    colleague = await registry.administrator("admin_enforcement")
    visitor = await browser_of(registry, colleague)
    assert (await visitor.open(PAGE)).status_code == 403
    browser = await at_the_page(registry)
    words = re.sub(r"<[^>]+>", "", browser.text)
    assert re.search(rf"Developer {await number_of(colleague)}, .?{colleague.email}", words)
    assert 'href="/administration/administrators"' in browser.text


@given(present=AREAS, wanted=AREAS, own=AREAS)
def test_a_change_leads_from_the_present_areas_to_the_wanted_ones_within_those_of_its_author(
    present, wanted, own
):
    if present == wanted:
        with pytest.raises(AreasUnchanged):
            change_of(present, wanted, own)
        return
    if out_of_reach := (present ^ wanted) - own:
        with pytest.raises(AreaNotAdministered) as refused:
            change_of(present, wanted, own)
        assert set(refused.value.context["areas"]) == out_of_reach
        return
    change = change_of(present, wanted, own)
    assert (present | set(change.given)) - set(change.withdrawn) == wanted
    assert {*change.given, *change.withdrawn} <= own
