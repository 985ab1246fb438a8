"""Pages of an organization over HTTP: rights of members, forms, and forms that are sent twice."""

import json
import re

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.organizations import Organization, found, id_of, token_mailed_to
from tests.registry import PASSWORD, TestDeveloper, TestRegistry, card_of, text_of

LIST = "/account/organizations"


@pytest.fixture(scope="module")
async def registry(shared_registry: TestRegistry) -> TestRegistry:
    return shared_registry


@pytest.fixture
async def guild(registry: TestRegistry) -> Organization:
    return await found(registry)


@pytest.fixture
async def owner(registry: TestRegistry, guild: Organization) -> BrowserOf:
    return await browser_of(registry, guild.owner)


def base_of(guild: Organization) -> str:
    return f"{LIST}/{guild.slug}"


async def test_a_person_founds_an_organization_and_is_led_to_its_home(registry: TestRegistry):
    browser = await browser_of(registry)
    await browser.open(LIST)
    assert "You are a member of no organization" in browser.text
    await browser.send(LIST, name="Harbour guild", slug="harbour-guild", visibility="public")
    assert str(browser.page.url).endswith(f"{LIST}/harbour-guild?done=founded")
    assert "The organization is founded" in browser.text
    await browser.open(LIST)
    assert "Harbour guild" in browser.text


async def test_a_slug_that_is_taken_is_refused_beside_its_field(owner: BrowserOf, guild: Organization):
    await owner.open(LIST)
    answer = await owner.send(LIST, name="Again", slug=guild.slug, visibility="private")
    assert answer.status_code == 409
    assert 'id="slug-trouble"' in answer.text
    assert 'value="Again"' in answer.text


async def test_the_switcher_names_the_own_account_and_every_organization(
    registry: TestRegistry, guild: Organization, owner: BrowserOf
):
    other = await found(registry, guild.owner, name="Second guild")
    for page in ("/account", base_of(guild)):
        text = (await owner.open(page)).text
        switcher = text[text.index('<details class="switcher">') : text.index("</details>")]
        assert re.findall(r'href="([^"]+)"', switcher) == [
            "/account",
            base_of(guild),
            base_of(other),
            LIST,
        ]
    menu = (await owner.http.get("/session/menu")).text
    assert base_of(other) in menu
    assert '<details class="switcher">' not in (await (await browser_of(registry)).open("/account")).text


@pytest.mark.parametrize(
    "page",
    ["", "/members", "/teams", "/agents", "/treasury", "/audit", "/settings"],
    ids=lambda page: page or "home",
)
async def test_a_page_is_unknown_to_everybody_but_members(
    registry: TestRegistry, guild: Organization, owner: BrowserOf, page: str
):
    assert (await owner.open(base_of(guild) + page)).status_code == 200
    assert (await owner.open(f"{LIST}/{guild.created['id']}{page}")).status_code == 200
    stranger = await browser_of(registry)
    assert (await stranger.open(base_of(guild) + page)).status_code == 404
    anybody = BrowserOf(registry)
    assert "Log in" in (await anybody.open(base_of(guild) + page)).text


@pytest.mark.parametrize("role", ["viewer", "member"])
async def test_a_member_below_admin_reads_and_sees_no_button_that_the_role_does_not_allow(
    registry: TestRegistry, guild: Organization, role: str
):
    await guild.agent()
    reader = await browser_of(registry, await guild.member(role))
    for page in ("", "/members", "/teams", "/agents", "/treasury"):
        text = (await reader.open(base_of(guild) + page)).text
        assert reader.page.status_code == 200, page
        actions = re.findall(r'<form method="post" action="([^"]+)"', text)
        own_role = rf"{base_of(guild)}/members/{await id_of_reader(reader)}/role"
        assert [one for one in actions if one not in {"/logout", own_role}] == [], page
        assert f"{base_of(guild)}/settings" not in text
    for page in ("/audit", "/settings"):
        assert (await reader.open(base_of(guild) + page)).status_code == 403


async def id_of_reader(browser: BrowserOf) -> int:
    """The id of the person who is logged in there, from the link to leave."""
    found_id = re.search(r"/members/(\d+)/remove\">Leave", browser.text)
    return int(found_id[1]) if found_id else 0


async def test_an_admin_invites_and_revokes(owner: BrowserOf, guild: Organization):
    await owner.open(f"{base_of(guild)}/members")
    await owner.send(f"{base_of(guild)}/invitations", email="guest@example.org", role="viewer")
    assert "The invitation is mailed" in owner.text
    assert "guest@example.org" in owner.text
    (action,) = re.findall(r'action="([^"]+/revoke)"', owner.text)
    fields = owner.form(action).fields
    await owner.post(action, fields)
    assert "The invitation is revoked" in owner.text
    assert "guest@example.org" not in owner.text
    # The second of two clicks.
    await owner.post(action, fields)
    assert "The invitation is revoked" in owner.text


async def test_an_invitation_that_is_sent_twice_is_mailed_once(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    await owner.open(f"{base_of(guild)}/members")
    action = f"{base_of(guild)}/invitations"
    pairs = [pair for pair in owner.form(action).fields if pair[0] not in {"email", "role"}]
    for _ in range(2):
        await owner.post(action, pairs, email="twice@example.org", role="member")
        assert "The invitation is mailed" in owner.text
    assert len([mail for mail in await registry.outbox() if mail["to"] == "twice@example.org"]) == 1


async def test_an_address_that_is_none_is_refused_beside_its_field(owner: BrowserOf, guild: Organization):
    await owner.open(f"{base_of(guild)}/members")
    answer = await owner.send(f"{base_of(guild)}/invitations", email="nobody", role="viewer")
    assert answer.status_code == 422
    assert 'id="email-trouble"' in answer.text


async def test_the_mail_links_to_the_page_that_accepts(registry: TestRegistry, guild: Organization):
    guest = await registry.developer()
    token = await guild.invite(guest.email)
    (text,) = [
        text_of(mail)
        for mail in await registry.outbox()
        if mail["to"] == guest.email and token in text_of(mail)
    ]
    assert f"{registry.settings.base_url}{LIST}/invitations#invitation_token={token}" in text
    assert "/api/" not in text
    browser = await browser_of(registry, guest)
    await browser.open(f"{LIST}/invitations")
    assert "Guild of translators" in browser.text
    await browser.send(f"{LIST}/invitations/accept", invitation_token=token)
    assert str(browser.page.url).endswith(f"{base_of(guild)}?done=joined")


async def test_a_person_declines(registry: TestRegistry, guild: Organization):
    guest = await registry.developer()
    token = await guild.invite(guest.email)
    browser = await browser_of(registry, guest)
    await browser.open(f"{LIST}/invitations")
    fields = dict(browser.form(f"{LIST}/invitations/accept").fields)
    await browser.post(f"{LIST}/invitations/decline", **{**fields, "invitation_token": token})
    assert "The invitation is declined" in browser.text
    assert len(await guild.roles()) == 1


async def test_a_forwarded_token_is_refused_and_not_shown_again(registry: TestRegistry, guild: Organization):
    token = await guild.invite("somebody-else@example.org")
    browser = await browser_of(registry)
    await browser.open(f"{LIST}/invitations")
    answer = await browser.send(f"{LIST}/invitations/accept", invitation_token=token)
    assert answer.status_code == 403
    assert "another e-mail address" in answer.text
    assert token not in answer.text


async def test_an_owner_changes_a_role_and_reads_which_secrets_to_rotate(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    admin = await guild.member("admin")
    number, agent = await id_of(admin), await guild.agent(admin)
    rotated = await registry.post(f"/agents/{agent.did}/rotate-secret", headers=admin.headers)
    assert rotated.status_code == 200, rotated.text
    await owner.open(f"{base_of(guild)}/members")
    await owner.send(f"{base_of(guild)}/members/{number}/role", role="viewer")
    assert "Secrets to rotate" in owner.text
    assert agent.did in owner.text
    assert (await guild.roles())[number] == "viewer"


async def test_a_removal_states_its_effect_and_lists_the_secrets_afterwards_also_for_a_second_click(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    admin = await guild.member("admin")
    number, agent = await id_of(admin), await guild.agent(admin)
    await registry.post(f"/agents/{agent.did}/rotate-secret", headers=admin.headers)
    action = f"{base_of(guild)}/members/{number}/remove"
    await owner.open(action)
    assert "ends at once" in owner.text
    assert agent.did in owner.text
    fields = owner.form(action).fields
    for _ in range(2):
        await owner.post(action, fields)
        assert str(owner.page.url).endswith(f"/members/{number}/secrets?done=removed")
        assert f"/account/agents/{agent.did}/credentials" in owner.text
    assert number not in await guild.roles()


async def test_a_member_leaves(registry: TestRegistry, guild: Organization):
    member = await guild.member()
    number, browser = await id_of(member), await browser_of(registry, member)
    await browser.open(f"{base_of(guild)}/members/{number}/remove")
    await browser.send(f"{base_of(guild)}/members/{number}/remove")
    assert "You have left the organization" in browser.text
    assert number not in await guild.roles()


async def test_the_last_owner_stays(owner: BrowserOf, guild: Organization):
    number = await id_of(guild.owner)
    await owner.open(f"{base_of(guild)}/members/{number}/remove")
    answer = await owner.send(f"{base_of(guild)}/members/{number}/remove")
    assert answer.status_code == 409
    assert "at least one owner" in answer.text


async def test_removing_an_owner_asks_another_owner_whose_password_carries_it_out(
    registry: TestRegistry, guild: Organization
):
    second, third = await guild.member("owner"), await guild.member("admin")
    asked = await guild.change(guild.owner, third, "owner")
    await guild.approve(second, asked.json()["request_id"])
    first, number = await browser_of(registry, guild.owner), await id_of(third)
    await first.open(f"{base_of(guild)}/members/{number}/remove")
    await first.send(f"{base_of(guild)}/members/{number}/remove")
    assert "Others must approve first" in first.text
    page = str(first.page.url).partition("?")[0]
    assert "/approve" not in first.text
    approver = await browser_of(registry, second)
    await approver.open(page)
    assert "0 of 1 approval" in approver.text
    assert "Yours is the last approval that is needed" in approver.text
    action = page.removeprefix(registry.settings.base_url) + "/approve"
    answer = await approver.send(action, password="wrong")
    assert (answer.status_code, number in await guild.roles()) == (401, True)
    assert 'id="password-trouble"' in answer.text
    await approver.open(page)
    fields = dict(approver.form(action).fields)
    for _ in range(2):
        await approver.post(action, **{**fields, "password": PASSWORD})
        assert "Your approval is noted" in approver.text
        assert "1 of 1 approval" in approver.text
    assert number not in await guild.roles()


async def test_a_request_is_rejected_by_one_and_cancelled_by_its_initiator(
    registry: TestRegistry, guild: Organization
):
    second = await guild.member("owner")
    for act, who in (("reject", second), ("cancel", guild.owner)):
        admin = await guild.member("admin")
        asked = await guild.change(guild.owner, admin, "owner")
        page = f"{base_of(guild)}/treasury/requests/{asked.json()['request_id']}"
        browser = await browser_of(registry, who)
        await browser.open(page)
        await browser.send(f"{page}/{act}")
        assert ("The request is rejected" if act == "reject" else "The request is cancelled") in browser.text
        assert (await guild.roles())[await id_of(admin)] == "admin"


async def test_a_team_is_made_given_an_agent_and_members_and_deleted(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    agent, member = await guild.agent(), await guild.member()
    base, number = base_of(guild), await id_of(member)
    await owner.open(f"{base}/teams")
    await owner.send(f"{base}/teams", slug="translators", grant="operate")
    assert "The team is made" in owner.text
    await owner.send(f"{base}/places", team="translators", did=agent.did)
    assert "has its right at the agent" in owner.text
    await owner.open(f"{base}/teams/translators")
    await owner.send(f"{base}/teams/translators/members", developer_id=str(number))
    assert "has a place in the team" in owner.text
    reader = await browser_of(registry, member)
    assert (await reader.open(f"/account/agents/{agent.did}/card")).status_code == 200
    await owner.send(f"{base}/teams/translators/grant", grant="read")
    assert "The grant is changed" in owner.text
    assert (await reader.open(f"/account/agents/{agent.did}/card")).status_code == 403
    await owner.send(f"{base}/teams/translators/members/{number}/remove")
    assert "The place is taken away" in owner.text
    await owner.open(f"{base}/teams")
    action = f"{base}/teams/translators/agents/{agent.did}/remove"
    await owner.send(action)
    assert "The right is taken away" in owner.text
    await owner.open(f"{base}/teams/translators")
    action = f"{base}/teams/translators/delete"
    fields = owner.form(action).fields
    for _ in range(2):
        await owner.post(action, fields)
        assert "The team is deleted" in owner.text


async def test_a_team_that_exists_is_refused_beside_its_field(owner: BrowserOf, guild: Organization):
    await owner.open(f"{base_of(guild)}/teams")
    for status in (200, 409):
        answer = await owner.send(f"{base_of(guild)}/teams", slug="same", grant="read")
        assert answer.status_code == status
    assert 'id="slug-trouble"' in answer.text


async def test_an_agent_moves_in_and_is_released_to_the_owner_who_asks(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    # The first agent of a developer holds the genesis grant, and an agent with units is not released.
    rich, empty = await guild.owner.agent(), await guild.owner.agent()
    base = base_of(guild)
    for agent in (rich, empty):
        await owner.open(f"{base}/agents")
        fields = owner.form(f"{base}/agents").fields
        kept = [pair for pair in fields if pair[0] != "did"]
        for _ in range(2):
            await owner.post(f"{base}/agents", kept, did=agent.did)
            assert "The agent belongs to the organization" in owner.text
        assert f'of <a href="{base}/agents">' in (await owner.open(f"/account/agents/{agent.did}")).text
    await owner.open(f"{base}/agents")
    assert (await owner.send(f"{base}/agents/{rich.did}/release")).status_code == 409
    await owner.send(f"{base}/agents/{empty.did}/release")
    assert "The agent is yours" in owner.text
    own = await registry.get("/agents", headers=guild.owner.headers)
    assert [one["did"] for one in own.json()["items"]] == [empty.did]


async def test_an_agent_is_created_in_an_organization(owner: BrowserOf, guild: Organization):
    new, born = "/account/agents/new", f"Born in {guild.slug}"
    await owner.open(new)
    await owner.send(f"{new}/from-card", card=json.dumps(card_of(born)))
    assert f'<option value="{guild.slug}">' in owner.text
    await owner.send(new, organization=guild.slug)
    assert "Agent created" in owner.text
    await owner.open(f"{base_of(guild)}/agents")
    assert born in owner.text


async def test_a_person_without_an_organization_is_not_asked_for_an_owner(registry: TestRegistry):
    browser = await browser_of(registry)
    await browser.open("/account/agents/new")
    await browser.send("/account/agents/new/from-card", card=json.dumps(card_of("Scribe")))
    assert 'name="organization"' not in browser.text


async def test_every_act_stands_in_the_audit(owner: BrowserOf, guild: Organization):
    member = await guild.member()
    await guild.change(guild.owner, member, "viewer")
    text = (await owner.open(f"{base_of(guild)}/audit")).text
    for act in ("Organization create", "Invitation create", "Member join", "Member role"):
        assert act in text, act


async def test_settings_are_saved_and_a_public_organization_has_a_profile(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    anybody = BrowserOf(registry)
    assert (await anybody.open(f"/organizations/{guild.slug}")).status_code == 404
    agent = await guild.agent()
    await owner.open(f"{base_of(guild)}/settings")
    await owner.send(
        f"{base_of(guild)}/settings", name="Guild of readers", description="Reads.", visibility="public"
    )
    assert "The settings are changed" in owner.text
    text = (await anybody.open(f"/organizations/{guild.slug}")).text
    assert "Guild of readers" in text
    assert agent.did in text
    assert "Set-Cookie" not in anybody.page.headers


async def test_an_organization_is_deleted_by_its_typed_slug_once_nothing_is_left_in_it(
    registry: TestRegistry, owner: BrowserOf, guild: Organization
):
    base = base_of(guild)
    await owner.open(f"{base}/settings")
    answer = await owner.send(f"{base}/delete", typed_name="another")
    assert answer.status_code == 422
    assert "another one was typed" in answer.text
    fields = dict(owner.form(f"{base}/delete").fields)
    for _ in range(2):
        await owner.post(f"{base}/delete", **{**fields, "typed_name": guild.slug})
        assert "The organization is deleted" in owner.text
    assert (await owner.open(base)).status_code == 404


async def test_an_organization_with_agents_names_them_and_has_no_button_to_delete_it(
    owner: BrowserOf, guild: Organization
):
    agent = await guild.agent()
    text = (await owner.open(f"{base_of(guild)}/settings")).text
    assert "Release the agent or end it." in text
    assert agent.did in text
    assert f"{base_of(guild)}/delete" not in text


async def pages_of_agent(registry: TestRegistry, member: TestDeveloper, did: str) -> dict[str, int]:
    browser = await browser_of(registry, member)
    pages = (
        "",
        "/wallet",
        "/wallet/send",
        "/contracts",
        "/contracts/new",
        "/card",
        "/rights",
        "/credentials",
        "/end",
    )
    return {page: (await browser.open(f"/account/agents/{did}{page}")).status_code for page in pages}


async def test_pages_of_an_agent_of_the_organization_open_as_far_as_the_right_goes(
    registry: TestRegistry, guild: Organization
):
    agent, member = await guild.agent(), await guild.member()
    number = await id_of(member)
    reading = {"", "/wallet", "/contracts"}
    operating = reading | {"/wallet/send", "/contracts/new", "/card"}
    managing = operating | {"/rights", "/credentials"}
    await guild.send(guild.owner, "POST", "/teams", json={"slug": "crew", "grant": "read"})
    await guild.send(guild.owner, "PUT", f"/teams/crew/members/{number}")
    await guild.send(guild.owner, "PUT", f"/teams/crew/agents/{agent.did}")
    for grant, open_pages in (("read", reading), ("operate", operating), ("manage", managing)):
        await guild.send(guild.owner, "PATCH", "/teams/crew", json={"grant": grant})
        found_pages = await pages_of_agent(registry, member, agent.did)
        assert {page for page, status in found_pages.items() if status == 200} == open_pages, grant
        assert set(found_pages.values()) <= {200, 403}
    assert set((await pages_of_agent(registry, guild.owner, agent.did)).values()) == {200}


async def test_a_reader_of_an_agent_sees_no_tab_and_no_form_of_more_rights(
    registry: TestRegistry, guild: Organization
):
    agent, reader = await guild.agent(), await browser_of(registry, await guild.member("viewer"))
    for page in ("", "/wallet", "/contracts", "/disputes", "/versions"):
        text = (await reader.open(f"/account/agents/{agent.did}{page}")).text
        assert reader.page.status_code == 200, page
        assert re.findall(r'<form method="post" action="([^"]+)"', text) == ["/logout"], page
        for hidden in ("/wallet/send", "/credentials", "/rights", "/end", "/card", "/contracts/new"):
            assert f'href="/account/agents/{agent.did}{hidden}"' not in text, (page, hidden)


async def test_the_treasury_is_read_by_members_and_nobody_acts_as_it(
    registry: TestRegistry, guild: Organization, owner: BrowserOf
):
    did = guild.created["treasury_did"]
    assert (await owner.open(f"/account/agents/{did}/wallet/statement")).status_code == 200
    assert (await owner.open(f"/account/agents/{did}/wallet/send")).status_code == 403


async def test_a_suspended_organization_says_so_and_offers_no_act(
    registry: TestRegistry, guild: Organization, owner: BrowserOf
):
    administrator = await registry.administrator("admin_enforcement")
    suspended = await registry.post(
        f"/admin/organizations/{guild.slug}/suspend", json={"reason": "Spam."}, headers=administrator.headers
    )
    assert suspended.status_code == 200, suspended.text
    for page in ("", "/members", "/teams", "/agents", "/settings"):
        text = (await owner.open(base_of(guild) + page)).text
        assert "Suspended" in text
        assert re.findall(r'<form method="post" action="([^"]+)"', text) == ["/logout"], page


async def test_a_token_of_an_invitation_is_in_no_address_and_no_log(
    registry: TestRegistry, guild: Organization
):
    guest = await registry.developer()
    await guild.invite(guest.email)
    token = await token_mailed_to(registry, guest.email)
    browser = await browser_of(registry, guest)
    await browser.open(f"{LIST}/invitations")
    await browser.send(f"{LIST}/invitations/accept", invitation_token=token)
    assert token not in str(browser.page.url)
    assert token not in (await browser.open("/account/requests")).text
