"""The pages as a person meets them."""

import re

from playwright.async_api import expect

from tests.browser.accessibility import objections
from tests.conversations.person import person
from tests.registry import PASSWORD, text_of

REFRESHED = 6000
TELEPHONE = {"width": 320, "height": 740}
DESK = {"width": 1280, "height": 720}


async def settled(visit, path, **settings):
    """A page that has read all it reads."""
    opened = await visit(path, **settings)
    await opened.page.wait_for_load_state("networkidle")
    return opened


async def test_a_browser_applies_no_style_that_the_registry_did_not_write(visit):
    opened = await visit("/terms")
    page = opened.page

    async def seen(before: str, after: str) -> tuple[str, bool]:
        """The margin of the page, which its own style removes, and whether its heading is shown, after a text of it was changed."""

        async def change(route):
            answer = await route.fetch()
            text = await answer.text()
            assert text.count(before) == 1
            await route.fulfill(response=answer, body=text.replace(before, after))

        await page.route("**/terms", change)
        await page.reload()
        await page.unroute("**/terms")
        margin = await page.evaluate("getComputedStyle(document.body).marginTop")
        return margin, await page.get_by_role("heading", level=1).is_visible()

    assert await seen("</style>", "</style>") == ("0px", True)
    assert opened.complaints == []
    assert await seen("</style>", "h1{display:none}</style>") == ("8px", True)
    assert await seen("</head>", "<style>h1{display:none}</style></head>") == ("0px", True)
    assert await seen("<h1>", "<h1 style='display:none'>") == ("0px", True)
    assert len(opened.complaints) == 3
    assert all("style-src" in complaint for complaint in opened.complaints)


async def test_the_first_stop_of_the_keyboard_leads_to_the_content(visit):
    page = (await visit("/")).page
    await page.keyboard.press("Tab")
    await expect(page.locator(":focus")).to_have_text("Skip to content")
    await page.keyboard.press("Enter")
    assert page.url.endswith("#main")


async def front_page(visit):
    """The front page after its first reading, with a clock that only the test moves."""
    opened = await visit("/", clock=True)
    await expect(opened.page.locator("[data-events] tr").first).to_contain_text("were issued to Treasury")
    return opened


async def test_the_front_page_follows_what_happens_and_shows_a_breach_and_a_registry_that_does_not_answer(
    registry, visit
):
    opened = await front_page(visit)
    page = opened.page
    agent = await registry.agent()
    await page.clock.run_for(REFRESHED)
    await expect(page.locator("[data-events] tr").filter(has_text="was registered")).to_have_count(1)
    await expect(page.locator("[data-agents]")).to_have_text("1")
    verdict = page.get_by_role("status")
    await expect(verdict).to_have_text("In balance")
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE ledger_account SET liquid = liquid + 100000000 WHERE did = $1", agent.did
        )
    )
    await page.clock.run_for(REFRESHED)
    await expect(verdict).to_have_text("Breach")
    await expect(page.locator("[data-figure=delta]")).to_have_text("-1")
    assert opened.complaints == []
    error = page.get_by_text("the registry does not respond")
    await expect(error).to_have_count(0)
    await page.context.set_offline(offline=True)
    await page.clock.run_for(REFRESHED)
    await expect(error).to_be_visible()
    await page.context.set_offline(offline=False)
    await page.clock.run_for(REFRESHED)
    await expect(error).to_have_count(0)


async def test_the_front_page_adds_new_events_above_the_others_and_none_that_is_older(registry, visit):
    payer, payee = await registry.agent(), await registry.agent()
    for _ in range(12):
        await payer.transfer(payee, "1")
    opened = await visit("/", clock=True)
    rows = opened.page.locator("[data-events] tr")
    await expect(rows).to_have_count(12)
    await payer.transfer(payee, "7")
    await opened.page.clock.run_for(REFRESHED)
    await expect(rows.first).to_contain_text("7 AVT")
    numbers = [int(await row.get_attribute("data-sequence")) for row in await rows.all()]
    assert (len(numbers), numbers) == (12, sorted(numbers, reverse=True))


async def test_a_command_is_copied_whole(visit):
    page = (await visit("/first-steps", permissions=["clipboard-read", "clipboard-write"])).page
    command = page.locator(".command").nth(1)
    await command.get_by_role("button", name="Copy").click()
    await expect(command.get_by_role("button")).to_have_text("Copied")
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await command.locator("code").text_content() + "\n"


async def test_a_command_is_selected_where_the_clipboard_is_closed(visit):
    page = (await visit("/first-steps", permissions=[])).page
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    command = page.locator(".command").first
    await command.get_by_role("button", name="Copy").click()
    await expect(command.get_by_role("button")).to_have_text("Selected")
    assert await page.evaluate("getSelection().toString()") == await command.locator("code").text_content()


async def test_the_reference_filters_operations_switches_languages_without_a_script_and_runs_one(
    registry, visit
):
    owner = await registry.developer(name="Ada")
    agent = await owner.agent(name="Payer")
    opened = await visit("/docs", viewport=DESK)
    page = opened.page
    operations = page.get_by_role("navigation", name="Operations")
    for typed, found in (("teg/tran", "Transfer units"), ("file disp", "File dispute")):
        await page.get_by_label("Find an operation").fill(typed)
        await expect(operations.get_by_role("link", name=found)).to_be_visible()
        await expect(operations.get_by_role("link", name="Log in")).to_have_count(0)
    await page.get_by_label("Find an operation").press("Enter")
    await expect(page).to_have_url(re.compile("/docs/operations/file_dispute$"))
    bare = (await visit("/docs/operations/read_balance", viewport=DESK, java_script_enabled=False)).page
    await expect(bare.get_by_label("Find an operation")).to_be_hidden()
    await expect(bare.get_by_role("navigation", name="Operations")).to_be_visible()
    await expect(bare.locator("pre", has_text="curl -sS")).to_be_visible()
    await bare.get_by_text("Python", exact=True).click()
    await expect(bare.locator("pre", has_text="import requests")).to_be_visible()
    await expect(bare.locator("pre", has_text="curl -sS")).to_be_hidden()
    await page.goto("/docs/operations/read_balance")
    await page.get_by_role("link", name="Run as your agent").click()
    await page.get_by_label("E-mail address").fill(owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_label("Run as").select_option(agent.did)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_label("Answer", exact=True)).to_contain_text('"balance": "100"')
    for size in (DESK, TELEPHONE):
        await page.set_viewport_size(size)
        assert await objections(page) == []
    assert (opened.strangers, opened.complaints) == ([], [])


async def test_the_mailed_link_sets_a_new_password_and_leaves_no_token_behind(registry, visit):
    ada = await person(registry)
    await registry.post("/auth/forgot-password", json={"email": ada.email})
    (mail,) = await registry.outbox()
    (link,) = re.findall(r"http\S+", text_of(mail))
    page = (await settled(visit, link.removeprefix(registry.settings.base_url))).page
    assert await page.evaluate("location.hash") == ""
    for password, text in [
        ("My-PassWord-Is-1-Long", "The password contains a common word."),
        ("Another-Horse-9-Stable", "The new password is set. You can log in with it."),
    ]:
        await page.get_by_label("New password").fill(password)
        await page.get_by_role("button", name="Set password").click()
        await expect(page.locator("[data-status]")).to_have_text(text)
    assert (await ada.try_login("Another-Horse-9-Stable")).status_code == 200


async def test_a_link_that_was_used_says_so(registry, visit):
    page = (await settled(visit, "/set-password#token=used")).page
    await page.get_by_label("New password").fill("Another-Horse-9-Stable")
    await page.get_by_role("button", name="Set password").click()
    await expect(page.locator("[data-status]")).to_contain_text("has been used or has expired")
    await expect(page.get_by_label("New password")).to_be_hidden()


async def test_a_page_that_is_the_same_for_everybody_shows_a_person_the_menu_of_the_session(registry, visit):
    owner = await registry.developer(name="Ada")
    opened = await visit("/")
    page = opened.page
    session = page.locator("header .session")
    await expect(session.get_by_role("link", name="Account")).to_be_visible()
    await expect(session.get_by_role("link", name="Create")).to_have_count(0)
    await page.goto("/login?next=/catalogue")
    await page.get_by_label("E-mail address").fill(owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(re.compile("/catalogue$"))
    await expect(session.get_by_role("link", name="Create")).to_be_visible()
    await page.goto("/nothing/here")
    await expect(session.get_by_role("link", name="Create")).to_be_visible()


async def test_the_search_of_every_page_suggests_agents_and_leads_to_the_one_that_is_chosen(registry, visit):
    agent = await registry.agent(name="Lingua")
    await registry.indexed()
    opened = await visit("/guides")
    find = opened.page.get_by_role("combobox", name="Search", exact=True)
    # The module comes with the focus: what is typed before it has arrived is read with the next key.
    async with opened.page.expect_response("**/static/picker.js"):
        await find.focus()
    await find.press_sequentially("lingu", delay=20)
    suggested = opened.page.locator("#find-agents option")
    await expect(suggested).to_have_attribute("value", agent.did)
    await find.fill(agent.did)
    await find.press("Enter")
    await expect(opened.page).to_have_url(re.compile(f"/agents/{agent.did}$"))
    assert (opened.complaints, opened.strangers) == ([], [])


async def test_a_slash_leads_to_the_search_and_the_menu_of_a_telephone_opens_without_a_script(
    registry, visit
):
    opened = await visit("/")
    await opened.page.keyboard.press("/")
    await expect(opened.page.get_by_role("combobox", name="Search", exact=True)).to_be_focused()
    narrow = await visit("/", viewport=TELEPHONE, java_script_enabled=False)
    menu = narrow.page.get_by_role("navigation", name="Menu")
    await expect(menu).to_be_hidden()
    await narrow.page.get_by_role("link", name="Menu").click()
    await expect(menu.get_by_role("link", name="Federation")).to_be_visible()
    await menu.get_by_role("link", name="Close").click()
    await expect(menu).to_be_hidden()
