"""The guides and the changelog as pages."""

import re
from pathlib import Path

import pytest

from hansa.doors.console import guide_text
from tests.doors.pages_read import ReadPage
from tests.registry import StartRegistry, TestRegistry

DOCUMENTS = Path(guide_text.__file__).parents[4] / "docs"
GUIDES_AND_README = [DOCUMENTS.parent / "README.md", *sorted((DOCUMENTS / "guides").glob("*.md"))]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"<<'END'.*?^END$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(?:^|\s)#")


def test_every_guide_is_listed_once():
    listed = [name for _, names in guide_text.GROUPS for name in names]
    written = sorted(file.stem for file in (DOCUMENTS / "guides").glob("*.md"))
    assert sorted(listed) == sorted([*written, "registry-card"])


async def test_every_link_of_a_guide_leads_to_a_page_and_a_heading(registry: TestRegistry):
    pages = {"/changelog": guide_text.changelog()}
    pages |= {guide.address: guide for _, guides in guide_text.guides() for guide in guides}
    for own, guide in pages.items():
        read = ReadPage(str(guide.body))
        for address in read.addresses:
            path, _, fragment = address.partition("#")
            if not path.startswith(("https://", "/static/")):
                assert (own, address, (path or own) in pages) == (own, address, True)
                target = str(pages[path or own].body)
                assert (own, address, not fragment or f'id="{fragment}"' in target) == (own, address, True)
        answer = await registry.http.get(own)
        assert (own, answer.status_code) == (own, 200)
        assert str(guide.body).replace("127.0.0.1:8000", "") in answer.text.replace("127.0.0.1:8000", "")


async def test_every_picture_of_a_guide_is_a_file_of_the_console_and_has_a_text(registry: TestRegistry):
    guides = ("connect-ai-clients", "organizations")
    pages = [(await registry.http.get(f"/guides/{guide}")).text for guide in guides]
    pictures = dict(re.findall(r'<img src="([^"]*)" alt="([^"]*)" loading="lazy"', "".join(pages)))
    names = ("connect", "consent", "treasury", "work")
    assert {*pictures} == {f"/static/guides/{name}.png" for name in names}
    for address, text in pictures.items():
        answer = await registry.http.get(address)
        assert (answer.status_code, answer.headers["content-type"], bool(text)) == (200, "image/png", True)


async def test_commands_of_a_guide_are_shown_as_they_stand_in_the_file(registry: TestRegistry):
    page = ReadPage((await registry.http.get("/guides/webhooks")).text)
    source = (DOCUMENTS / "guides" / "webhooks.md").read_text()
    assert page.commands
    assert [command for command in page.commands if command.strip() not in source] == []


async def test_the_commands_of_a_guide_name_the_address_of_the_registry_that_serves_it(
    start_registry: StartRegistry,
):
    address = "https://registry.example.org"
    registry = await start_registry(public_base_url=address)
    page = ReadPage((await registry.http.get("/guides/payments")).text)
    assert f"${{REGISTRY:-{address}}}/guides/start.sh" in page.commands[0]
    started = await registry.http.get("/guides/start.sh")
    assert (started.status_code, started.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert f"REGISTRY=${{REGISTRY:-{address}}}\n" in started.text


@pytest.mark.parametrize("document", GUIDES_AND_README, ids=lambda document: document.name)
def test_a_block_of_commands_needs_nothing_that_its_reader_does_not_see(document: Path):
    blocks = BLOCK.findall(document.read_text())
    named = [info for info, _ in blocks if " " in info]
    assert named == [], "no renderer shows a name behind the language: write the file with cat"
    commented = [
        line
        for info, text in blocks
        if info == "sh"
        for line in HERE_DOCUMENT.sub("", text).splitlines()
        if COMMENT.search(line)
    ]
    assert commented == [], "an interactive zsh takes # for a word: put the comment into the text"


async def test_a_guide_has_its_sections_beside_the_text_and_leads_to_the_guides_before_and_after(
    registry: TestRegistry,
):
    listed = [name for _, names in guide_text.GROUPS for name in names]
    for name in (listed[0], "production", listed[-1]):
        text = (await registry.http.get(f"/guides/{name}")).text
        headings = re.findall(r'<h2 id="([^"]+)">', text)
        contents = re.findall(r'<li><a href="#([^"]+)">', text)
        assert contents == (headings if len(headings) > 1 else [])
        place = listed.index(name)
        before = re.findall(r'<a rel="prev" href="/guides/([^"]+)">', text)
        after = re.findall(r'<a rel="next" href="/guides/([^"]+)">', text)
        assert (before, after) == (listed[:place][-1:], listed[place + 1 :][:1])


async def test_the_address_on_which_a_process_listens_stays_in_a_guide(start_registry: StartRegistry):
    registry = await start_registry(public_base_url="https://registry.example.org")
    page = ReadPage((await registry.http.get("/guides/production")).text)
    assert [one for one in page.commands if "proxy_pass http://127.0.0.1:8000;" in one]


async def test_an_unknown_guide_is_404_with_the_navigation(registry: TestRegistry):
    for name in ("nothing", "README", "CHANGELOG"):
        answer = await registry.http.get(f"/guides/{name}", headers={"Accept": "text/html"})
        assert (name, answer.status_code) == (name, 404)
        assert "/catalogue" in answer.text


async def test_the_list_of_guides_states_the_contacts_that_the_operator_published(
    start_registry: StartRegistry,
):
    registry = await start_registry()
    before = await registry.http.get("/guides")
    assert "has not published a contact" in before.text
    changed = await registry.http.put(
        "/api/v1/admin/registry-card",
        headers=(await registry.administrator("admin_platform")).headers,
        json={"operator": {"display_name": "Ada", "support_contact": {"email": "help+1@example.org"}}},
    )
    assert changed.status_code == 200, changed.text
    after = await registry.http.get("/guides")
    assert "help+1@example.org" in after.text
    assert 'href="mailto:help%2B1%40example.org"' in after.text


async def test_every_page_has_a_description_of_its_own_or_of_the_registry(registry: TestRegistry):
    front = (await registry.http.get("/")).text
    guide = (await registry.http.get("/guides/webhooks")).text
    assert f'<meta name="description" content="{registry.settings.registry_name}, a registry' in front
    assert '<meta name="description" content="' in guide
    assert "a registry and ledger" not in guide.split('name="description"')[1].split(">")[0]
