"""An operation of the API runs on its page in the browser: as an own agent or the person, under the rules of the API."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest

from hansa.doors.console.api_reference import operation_details, operations_by_tag
from tests.browsing import BrowserOf, browser_of
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry

ANSWER = re.compile(r'aria-label="Answer"><code><bdi>(.*?)</bdi></code>', re.DOTALL)
STATUS = re.compile(r'<h2 id="ran-title">Answer <span class="chip \w+">(\d{3}) ')
SECRETS = {"password", "current_password", "new_password", "code", "recovery_key", "client_secret"}


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


class Runner:
    """A person at the pages of operations, with two own agents."""

    def __init__(
        self, developer: TestDeveloper, browser: BrowserOf, agent: TestAgent, payee: TestAgent
    ) -> None:
        self.developer, self.browser, self.agent, self.payee = developer, browser, agent, payee

    async def send(self, name: str, **fields: str) -> str:
        """Open the page of an operation and send its form; returns the page that answers."""
        path = f"/docs/operations/{name}/run"
        await self.browser.open(path)
        return (await self.browser.send(path, **fields)).text

    async def confirm(self, name: str) -> str:
        """Send the form that the statement of a run has."""
        return (await self.browser.send(f"/docs/operations/{name}/run")).text

    async def run(self, name: str, **fields: str) -> tuple[int, Any]:
        """Status and JSON of the answer of an operation that changes something."""
        await self.send(name, **fields)
        return answer_on(await self.confirm(name))

    def transfer(self, amount: str = "2") -> dict[str, str]:
        body = {"receiver_agent_id": self.payee.did, "amount": amount}
        return {"as": self.agent.did, "body": json.dumps(body)}


def answer_on(page: str) -> tuple[int, Any]:
    """Status and JSON of the answer on a page."""
    (status,) = STATUS.findall(page)
    found = ANSWER.findall(page)
    return int(status), json.loads(unescape(found[0])) if found else None


@pytest.fixture
async def runner(registry: TestRegistry) -> Runner:
    developer = await registry.developer()
    agent, payee = await developer.agent(name="Payer"), await developer.agent(name="Payee")
    return Runner(developer, await browser_of(registry, developer), agent, payee)


async def test_the_form_has_the_example_of_each_field_and_the_own_agents(runner: Runner):
    await runner.browser.open("/docs/operations/transfer_units/run")
    fields = dict(runner.browser.form("/docs/operations/transfer_units/run").fields)
    assert json.loads(fields["body"])["amount"] == "12.5"
    assert f'<option value="{runner.agent.did}">Payer</option>' in runner.browser.text
    await runner.browser.open("/docs/operations/discover_agents/run")
    fields = dict(runner.browser.form("/docs/operations/discover_agents/run").fields)
    assert fields["query:query"] == "translate a contract"


async def test_a_read_is_answered_at_once_as_the_chosen_agent_or_person(
    runner: Runner, registry: TestRegistry
):
    balance = answer_on(await runner.send("read_balance", **{"as": runner.payee.did}))
    assert (balance[0], balance[1]["balance"]) == (200, "0")
    profile = answer_on(await runner.send("own_profile", **{"as": "person"}))
    assert (profile[0], profile[1]["email"]) == (200, runner.developer.email)
    await registry.indexed()
    found = answer_on(await runner.send("discover_agents", **{"query:query": "nobody at all"}))
    assert found[0] == 200


async def test_a_run_that_moves_units_states_it_first_and_counts_once(runner: Runner, registry: TestRegistry):
    page = await runner.send("transfer_units", **runner.transfer())
    assert "This may move units" in page
    assert "as Payer" in re.sub(r"</?bdi>", "", page)
    assert await runner.payee.balance() == "0"
    form = runner.browser.form("/docs/operations/transfer_units/run")
    status, answer = answer_on(await runner.confirm("transfer_units"))
    assert (status, answer["amount"]) == (200, "2")
    again = await runner.browser.post("/docs/operations/transfer_units/run", form.fields)
    assert answer_on(again.text) == (status, answer)
    assert "idempotent-replayed" in again.text
    assert await runner.payee.balance() == "2"
    assert (await registry.supply())["delta"] == "0"


async def test_a_run_as_an_agent_is_refused_where_the_api_refuses_it(runner: Runner, registry: TestRegistry):
    status, refusal = await runner.run("transfer_units", **runner.transfer("1000"))
    assert (status, refusal["error"]["code"]) == (402, "INSUFFICIENT_BALANCE")
    policy = {"per_tx_max": "1"}
    changed = await registry.http.put(
        f"/api/v1/agents/{runner.agent.did}/authz",
        json={"spend_policy": policy},
        headers=runner.developer.headers,
    )
    assert changed.status_code == 200, changed.text
    direct = await runner.agent.transfer(runner.payee, "5")
    status, refusal = await runner.run("transfer_units", **runner.transfer("5"))
    assert (status, refusal["error"]["code"]) == (direct.status_code, direct.json()["error"]["code"])
    assert await runner.payee.balance() == "0"


async def test_a_run_without_a_key_of_the_operation_is_made_once_and_its_secret_is_shown_once(
    runner: Runner, registry: TestRegistry
):
    given = {"as": "person", "path:did": runner.agent.did}
    page = await runner.send("replace_secret", **given)
    assert "This ends or replaces something" in page
    form = runner.browser.form("/docs/operations/replace_secret/run")
    status, answer = answer_on(await runner.confirm("replace_secret"))
    assert status == 200
    assert "no-store" in runner.browser.page.headers["cache-control"]
    again = await runner.browser.post("/docs/operations/replace_secret/run", form.fields)
    assert (again.status_code, "RUN_REPEATED" in again.text) == (409, True)
    assert answer["client_secret"] not in again.text
    credentials = {"username": answer["client_id"], "password": answer["client_secret"]}
    logged_in = await registry.post("/auth/agent/token", data=credentials, headers=registry.elsewhere())
    assert logged_in.status_code == 200, logged_in.text


async def test_a_run_that_changes_something_needs_the_password_of_the_last_ten_minutes(runner: Runner):
    await runner.browser.idle(11)
    answered = answer_on(await runner.send("read_balance", **{"as": runner.agent.did}))
    assert answered[0] == 200
    await runner.send("transfer_units", **runner.transfer())
    asked = await runner.confirm("transfer_units")
    assert "Confirm your password" in asked
    assert await runner.payee.balance() == "0"
    await runner.browser.send("/confirm", password=PASSWORD)
    status, _ = answer_on(await runner.confirm("transfer_units"))
    assert (status, await runner.payee.balance()) == (200, "2")


async def test_no_operation_of_the_administration_and_none_with_a_password_runs(registry: TestRegistry):
    document = registry.app.openapi()
    named = [operation.name for _, _, group in operations_by_tag(document) for operation in group]
    found = [operation_details(document, name, "") for name in named]
    offered = [one for one in found if one is not None and one.is_runnable]
    assert len(offered) > 150
    assert [one.operation.path for one in offered if "/admin/" in one.operation.path] == []
    assert [one.operation.name for one in offered if one.tag == "administrators"] == []
    with_secrets = [
        one.operation.name
        for one in offered
        if one.request and SECRETS & {member.name for member in one.request.members}
    ]
    assert with_secrets == []
    administrator = await registry.administrator("admin_enforcement")
    browser = await browser_of(registry, administrator)
    for name in (
        "suspend_some_agents",
        "read_policies",
        "log_in",
        "change_password",
        "transfer_messages",
        "nothing",
    ):
        shown = await browser.open(f"/docs/operations/{name}/run")
        assert (name, shown.status_code) == (name, 404)
        sent = await browser.post(f"/docs/operations/{name}/run", [("form_key", "x")])
        assert (name, sent.status_code) == (name, 409)


async def test_a_stranger_is_led_to_the_login_and_runs_no_agent_of_another(
    runner: Runner, registry: TestRegistry
):
    path = "/docs/operations/read_balance/run"
    anonymous = BrowserOf(registry)
    answer = await anonymous.http.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={quote(path, safe='/')}")
    stranger = await browser_of(registry)
    await stranger.open("/docs/operations/own_profile/run")
    key = dict(stranger.form("/docs/operations/own_profile/run").fields)["form_key"]
    refused = await stranger.post(path, [("form_key", key), ("as", runner.agent.did)])
    assert (refused.status_code, "ran-title" in refused.text) == (404, False)
    stolen = await stranger.post(
        path, runner.browser.form(path).fields if await runner.browser.open(path) else []
    )
    assert (stolen.status_code, "FORM_EXPIRED" in stolen.text) == (409, True)


async def test_a_value_stays_in_its_place_of_the_request(runner: Runner):
    for value, status in (
        ("../admin/audit-log", 422),
        ("a/b", 422),
        ("..", 422),
        ("a\tb", 422),
        ("", 422),
        ("x?y=1#z", 404),
    ):
        page = await runner.send("read_card", **{"path:card_id": value})
        if status == 422:
            assert (value, runner.browser.page.status_code) == (value, status)
            assert "Check the marked fields." in page
        else:
            assert (value, answer_on(page)[0]) == (value, status)
    header = await runner.send(
        "replace_secret", **{"as": "person", "path:did": runner.agent.did, "header:If-Match": "ä"}
    )
    assert "A header takes ASCII characters." in header


async def test_hostile_input_and_hostile_answers_are_text(runner: Runner):
    markup = '</textarea><script>alert(1)</script>"><img src=x>'
    page = await runner.send("transfer_units", **{"as": runner.agent.did, "body": markup})
    assert "<script>alert" not in page
    assert "<img" not in page.partition("<main")[2]
    status, refusal = answer_on(await runner.confirm("transfer_units"))
    assert (status, refusal["status"]) == (422, 422)
    body = {"receiver_agent_id": runner.payee.did, "amount": "1", "message": markup}
    status, answer = await runner.run("transfer_units", **{"as": runner.agent.did, "body": json.dumps(body)})
    assert (status, answer["message"]) == (200, markup)
    assert "<script>alert" not in runner.browser.text


async def test_a_run_stands_in_the_requests_of_the_person_and_in_no_log(
    runner: Runner, capfd: pytest.CaptureFixture[str]
):
    await runner.run("transfer_units", **runner.transfer("3.25"))
    assert "3.25" not in "".join(capfd.readouterr())
    listed = (await runner.browser.open("/account/requests")).text
    assert "POST /api/v1/teg/transfer" in listed
    assert runner.agent.did in listed
