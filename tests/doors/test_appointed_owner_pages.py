"""Appointment of an owner as pages: an administrator of support announces it, members read it, an owner vetoes it."""

import re
from html import unescape

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.organizations import Organization, found, id_of
from tests.registry import TestDeveloper, TestRegistry

PAGE = "/administration/organizations"


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


@pytest.fixture
async def support(registry: TestRegistry) -> BrowserOf:
    return await browser_of(registry, await registry.administrator("admin_support"))


@pytest.fixture
async def guild(registry: TestRegistry) -> Organization:
    """An organization of two owners, of whom one is suspended."""
    guild = await found(registry)
    await suspend(registry, await guild.member("owner"))
    return guild


async def suspend(registry: TestRegistry, who: TestDeveloper) -> None:
    enforcer = await registry.administrator("admin_enforcement")
    path = f"/admin/developers/{await id_of(who)}/suspend"
    answer = await registry.post(
        path, json={"reason": "Spam."}, headers={**enforcer.headers, **registry.elsewhere()}
    )
    assert answer.status_code == 200, answer.text


def words_of(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


async def announce(support: BrowserOf, guild: Organization, who: TestDeveloper) -> None:
    await support.open(f"{PAGE}?organization={guild.slug}")
    action = f"{PAGE}/{guild.created['id']}/owners"
    form = [pair for pair in support.form(action).fields if pair[0] not in {"developer_id", "reason"}]
    for _ in range(2):
        await support.post(
            action, form, developer_id=str(await id_of(who)), reason="The second owner is lost."
        )
        assert "The appointment is announced to every member." in support.text, support.text


async def test_an_appointment_is_announced_once_and_stands_on_the_page_of_the_members(
    registry: TestRegistry, guild: Organization, support: BrowserOf
):
    member = await guild.member()
    await announce(support, guild, member)
    words = words_of(support)
    assert "2, of which 1 can act; a change of owners needs 2" in words
    assert "One appointment can be pending." in words
    viewer = await browser_of(registry, await guild.member("viewer"))
    await viewer.open(f"/account/organizations/{guild.slug}/members")
    words = words_of(viewer)
    assert "An owner is appointed" in words
    assert "The second owner is lost." in words
    assert "Veto" not in words


async def test_an_owner_vetoes_the_appointment_once(
    registry: TestRegistry, guild: Organization, support: BrowserOf
):
    await announce(support, guild, await registry.developer())
    owner = await browser_of(registry, guild.owner)
    base = f"/account/organizations/{guild.slug}"
    await owner.open(f"{base}/members")
    kept = owner.form(f"{base}/owners/veto").fields
    for _ in range(2):
        await owner.post(f"{base}/owners/veto", kept)
        assert "The appointment is vetoed" in owner.text
        assert "An owner is appointed" not in owner.text
    await owner.open(f"{base}/members")
    answer = await owner.post(
        f"{base}/owners/veto", [("form_key", owner.form(f"{base}/invitations").fields[0][1])]
    )
    assert answer.status_code == 404
    assert 'role="alert"' in owner.text


async def test_an_organization_whose_owners_can_act_gets_no_form(registry: TestRegistry, support: BrowserOf):
    guild = await found(registry)
    await support.open(f"{PAGE}/{guild.slug}")
    assert "Enough owners can act" in words_of(support)
    assert "developer_id" not in support.text


async def test_an_appointment_without_a_reason_or_a_number_is_refused_beside_the_field(
    guild: Organization, support: BrowserOf
):
    await support.open(f"{PAGE}/{guild.slug}")
    action = f"{PAGE}/{guild.created['id']}/owners"
    answer = await support.send(action, developer_id="seven", reason="Lost.")
    assert answer.status_code == 422
    assert 'id="developer_id-trouble"' in support.text
    answer = await support.send(action, developer_id="7", reason=" ")
    assert 'id="reason-trouble"' in support.text
    answer = await support.send(action, developer_id="987654321", reason="Lost.")
    assert answer.status_code == 404
    assert 'id="developer_id-trouble"' in support.text


async def test_an_unknown_organization_is_refused_with_a_sentence(support: BrowserOf):
    answer = await support.open(f"{PAGE}?organization=nobody")
    assert answer.status_code == 404
    assert "There is no organization with this short name or id." in support.text
