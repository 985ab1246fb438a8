"""POST /agent-builder/generate: a project of an agent, whose code no request changes."""

import io
import json
import zipfile

import pytest

from hansa.rooms import catalogue
from tests.browsing import browser_of
from tests.built_agents import DOCUMENTS, ROUTE, TYPES, asked, files_of, generated
from tests.registry import TestDeveloper

PAGE = "/account/agents/new/project"
SIZE_MAX = 200 * 1000
SECRET = "hsk_" + "0123456789abcdef" * 4
HOSTILE = (
    '"; import os; os.system("id"); "',
    "'''\"\"\"\\",
    "{{ 7 * 7 }} {% include '/etc/passwd' %} ${HOME} $(id) `id` %(name)s",
    "first line\nRUN id\n```\n# Heading\n\tindented",
    "../../../etc/passwd/..\\..\\agent.py",
    "</script><script>alert(1)</script>",
    "שלום עולם مرحبا",
    "https://registry.invalid",
    "😀" * 30,
)


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


async def refused(owner: TestDeveloper, body: object, field: str | None, status: int = 422) -> dict:
    answer = await owner.registry.post(ROUTE, json=body, headers=owner.headers)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["field"] == field, answer.text
    return error


@pytest.mark.parametrize("builder_type", TYPES)
async def test_a_project_has_code_a_card_a_dockerfile_tests_and_a_readme(owner, builder_type):
    files = files_of(await generated(owner, builder_type, human_readable_id="workshop/counter", price="0.05"))
    assert {"README.md", "Dockerfile", "requirements.txt", "agent/__main__.py", *DOCUMENTS} <= files.keys()
    assert [name for name in files if name.startswith("tests/test_")]
    card = json.loads(files["agent-card.json"])
    assert (card["name"], card["description"]) == ("Word counter", "Counts the words of a text.")
    assert card["humanReadableId"] == "workshop/counter"
    assert (card["pricing"]["base_rate"], card["pricing"]["payment_required"]) == ("0.05", True)
    stated = json.loads(files["agent.json"])
    expected = asked(builder_type, human_readable_id="workshop/counter", price="0.05")
    assert {name: stated.get(name) for name in expected} == expected
    assert stated["registry_url"] == owner.registry.settings.base_url
    # Credentials come from the environment: the file that lists them is empty of them.
    values = [line.partition("=")[2] for line in files[".env.example"].decode().splitlines()[1:]]
    assert set(values) == {""}


@pytest.mark.parametrize("builder_type", TYPES)
async def test_the_card_of_a_project_is_accepted_by_the_registry(owner, builder_type):
    card = json.loads(files_of(await generated(owner, builder_type))["agent-card.json"])
    agent = await owner.agent(**card)
    assert agent.created["agent_card_name"] == "Word counter"


async def test_the_same_request_gives_the_same_bytes(owner, registry):
    other = await registry.developer()
    for builder_type in TYPES:
        first = await generated(owner, builder_type)
        assert first == await generated(other, builder_type)
        with zipfile.ZipFile(io.BytesIO(first)) as opened:
            entries = opened.infolist()
        assert [one.filename for one in entries] == sorted(one.filename for one in entries)
        assert {(one.date_time, one.external_attr >> 16) for one in entries} == {
            ((1980, 1, 1, 0, 0, 0), 0o100644)
        }


@pytest.mark.parametrize("builder_type", TYPES)
async def test_no_text_of_a_request_reaches_code_or_names_of_files(owner, builder_type):
    plain = files_of(await generated(owner, builder_type))
    for text in HOSTILE:
        members = {"agent_name": text[:100], "agent_description": text}
        if builder_type == "adk_agent":
            members["adk_instruction"] = text
        files = files_of(await generated(owner, builder_type, **members))
        assert files.keys() == plain.keys()
        assert {name for name in files if files[name] != plain[name]} == DOCUMENTS
        stated, card = (json.loads(files[name]) for name in ("agent.json", "agent-card.json"))
        for name, value in members.items():
            assert stated[name] == value.strip()
        assert (card["name"], card["description"]) == (text[:100].strip(), text.strip())
        assert all(files[name].isascii() for name in DOCUMENTS)
        assert not [name for name in DOCUMENTS if set(b"<>&") & set(files[name])]
        assert not catalogue.check_card(card).troubles


@pytest.mark.parametrize("character", ["\x1b", "\x85", "\u202e", "\u2066", "\u200f", "\u2028", "\u2029"])
async def test_characters_that_act_or_turn_a_text_are_refused(owner, character):
    for field in ("agent_name", "agent_description"):
        await refused(owner, asked("mcp_server", **{field: f"Word{character}counter"}), field)
    body = asked("adk_agent", adk_instruction=f"Answer{character}.")
    await refused(owner, body, "adk_instruction")


@pytest.mark.parametrize(
    ("builder_type", "field", "value"),
    [
        ("mcp_server", "agent_name", "ab"),
        ("mcp_server", "agent_name", "   a   "),
        ("mcp_server", "agent_name", "a" * 101),
        ("mcp_server", "agent_description", ""),
        ("mcp_server", "agent_description", "a" * 501),
        ("mcp_server", "agent_builder_type", "shell"),
        ("mcp_server", "human_readable_id", "../painter"),
        ("mcp_server", "human_readable_id", "registry/painter"),
        ("mcp_server", "human_readable_id", "Workshop/painter"),
        ("mcp_server", "price", "0"),
        ("mcp_server", "price", "-1"),
        ("mcp_server", "price", 1),
        ("mcp_server", "agent_did", "a" * 600),
        ("simple_wrapper", "wrapper_url", "ftp://service.example"),
        ("simple_wrapper", "wrapper_url", "https://user:pass@service.example"),
        ("simple_wrapper", "wrapper_url", "https://service.example/\n"),
        ("simple_wrapper", "wrapper_url", f"https://service.example/?key={SECRET}"),
        ("simple_wrapper", "wrapper_url", "https://service.example/" + "a" * 2048),
        ("simple_wrapper", "wrapper_timeout_seconds", 0),
        ("simple_wrapper", "wrapper_timeout_seconds", 61),
        ("simple_wrapper", "wrapper_timeout_seconds", "5"),
        ("adk_agent", "adk_model", 'gemini"; import os'),
        ("adk_agent", "adk_model", "a" * 129),
        ("adk_agent", "adk_model", SECRET),
        ("adk_agent", "adk_instruction", "a" * 4001),
    ],
)
async def test_a_member_beyond_its_limits_is_refused(owner, builder_type, field, value):
    await refused(owner, asked(builder_type, **{field: value}), field)


async def test_a_member_of_another_type_is_refused(owner):
    of_types = {
        "simple_wrapper": {"wrapper_url": "https://service.example", "wrapper_timeout_seconds": 5},
        "adk_agent": {"adk_model": "gemini", "adk_instruction": "Answer."},
    }
    for builder_type in TYPES:
        for other, members in of_types.items():
            for field, value in members.items():
                if other != builder_type:
                    await refused(owner, asked(builder_type, **{field: value}), field)
                # Null is the same as leaving a member out.
                assert other == builder_type or await generated(owner, builder_type, **{field: None})
    await refused(owner, asked("mcp_server", agent_icon="star"), "agent_icon")


@pytest.mark.parametrize(
    ("builder_type", "field"),
    [
        ("simple_wrapper", "wrapper_url"),
        ("adk_agent", "adk_model"),
        ("adk_agent", "adk_instruction"),
        ("paid_function", "price"),
    ],
)
async def test_a_member_that_the_type_requires_is_missed(owner, builder_type, field):
    await refused(owner, asked(builder_type, **{field: None}), field)


async def test_secrets_in_texts_are_redacted(owner):
    members = {
        "agent_name": f"Counter {SECRET}",
        "agent_description": f"Key: {SECRET}",
        "adk_instruction": SECRET,
    }
    files = files_of(await generated(owner, "adk_agent", **members))
    assert not [name for name, content in files.items() if SECRET.encode() in content]
    stated = json.loads(files["agent.json"])
    assert stated["agent_name"] == "Counter [redacted:client_secret]"
    assert stated["agent_description"] == "Key: [redacted:client_secret]"
    assert stated["adk_instruction"] == "[redacted:client_secret]"


@pytest.mark.parametrize("builder_type", TYPES)
async def test_the_largest_project_has_at_most_200_kilobytes(owner, builder_type):
    # Each is two escapes of JSON in ASCII.
    character = "😀"
    members = {"agent_name": character * 100, "agent_description": character * 500}
    if builder_type == "adk_agent":
        members["adk_instruction"] = character * 4000
    archive = await generated(owner, builder_type, **members)
    assert len(archive) <= SIZE_MAX


async def test_a_project_is_for_an_agent_that_the_developer_operates(owner, registry):
    agent, stranger = await owner.agent(), await registry.developer()
    files = files_of(await generated(owner, "mcp_server", agent_did=agent.did))
    assert json.loads(files["agent.json"])["agent_did"] == agent.did
    error = await refused(stranger, asked("mcp_server", agent_did=agent.did), None, 404)
    unknown = await refused(stranger, asked("mcp_server", agent_did=f"{agent.did}0"), None, 404)
    assert error["code"] == unknown["code"] == "RESOURCE_NOT_FOUND"


async def test_the_wizard_has_a_form_whose_project_is_that_of_the_api(owner, registry):
    browser = await browser_of(registry, owner)
    assert f'href="{PAGE}"' in (await browser.open("/account/agents/new")).text
    await browser.open(PAGE)
    sent = {**asked("simple_wrapper"), "wrapper_timeout_seconds": "5", "price": "1,5"}
    answer = await browser.send(PAGE, **sent)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == 'attachment; filename="hansa-agent.zip"'
    assert answer.headers["cache-control"] == "no-store"
    assert answer.content == await generated(owner, "simple_wrapper", price="1.5", wrapper_timeout_seconds=5)


async def test_a_refused_form_keeps_its_values_and_names_the_field(owner, registry):
    browser = await browser_of(registry, owner)
    await browser.open(PAGE)
    hostile = '"><script>alert(1)</script>'
    for members, field in (
        ({"price": ""}, "price"),
        ({"wrapper_url": "https://service.example"}, "wrapper_url"),
        ({"wrapper_timeout_seconds": "soon"}, "wrapper_timeout_seconds"),
        ({"agent_name": "ab"}, "agent_name"),
    ):
        sent = {**asked("paid_function"), "agent_description": hostile, **members}
        await browser.open(PAGE)
        answer = await browser.send(PAGE, **sent)
        assert answer.status_code == 422, answer.text
        assert f'id="{field}-trouble"' in answer.text
        assert hostile not in answer.text
        assert "alert(1)" in answer.text


async def test_the_page_of_a_new_agent_leads_to_a_project_for_it(owner, registry):
    browser = await browser_of(registry, owner)
    agent, other = await owner.agent(), await registry.agent()
    await browser.open(f"{PAGE}?agent={agent.did}")
    answer = await browser.send(PAGE, **asked("mcp_server"))
    assert json.loads(files_of(answer.content)["agent.json"])["agent_did"] == agent.did
    await browser.open(f"{PAGE}?agent={other.did}")
    refused = await browser.send(PAGE, **asked("mcp_server"))
    assert refused.status_code == 404
