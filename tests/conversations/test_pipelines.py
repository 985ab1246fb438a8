"""Pipelines: chains of paid calls with a budget (specification 8, section 6)."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.journal.store import COLUMNS, stored
from hansa.rooms.pipelines.following import RUNS_FOLLOW
from hansa.rooms.pipelines.run_store import DAYS_STORED, erase_old
from tests.all_events import require_schemas_kept
from tests.connections import connect, take_access_tokens
from tests.pipelines import Market, open_market, statuses, step, step_of, text_of
from tests.registry import StartRegistry, at_once


@pytest.fixture
async def market(start_registry: StartRegistry) -> AsyncIterator[Market]:
    async with open_market(start_registry) as opened:
        yield opened


async def test_steps_run_after_those_that_they_need_and_pass_their_answers_on(market: Market):
    loud, echo = await market.sells("loud"), await market.sells("echo", str)
    run = await market.ran(
        step("first", loud),
        step("second", echo, "I heard: {{/steps/first/output/text}}", needs=["first"]),
        given={"text": "good morning"},
    )
    assert (run["status"], statuses(run)) == ("succeeded", {"first": "succeeded", "second": "succeeded"})
    assert text_of(run, "second") == "I heard: GOOD MORNING"
    assert (run["budget"], run["spent"], run["open"]) == ("10", "2", "0")
    (attempt,) = step_of(run, "first")["attempts"]
    assert {name: attempt[name] for name in ("n", "payee", "amount", "status", "reason")} == {
        "n": 1,
        "payee": loud,
        "amount": "1",
        "status": "settled",
        "reason": None,
    }
    assert await market.buyer.balance() == "97.99"
    await market.books_are_exact()


async def test_a_reference_is_expanded_once(market: Market):
    echo = await market.sells("echo", str)
    run = await market.ran(
        step("only", echo, "{{/input/a}} {{/input/b}}"), given={"a": "{{/input/b}}", "b": 7}
    )
    assert text_of(run, "only") == "{{/input/b}} 7"


async def test_a_value_is_put_in_place_of_a_reference_in_a_message_of_a2a(market: Market):
    echo = await market.sells("echo", str)
    message = {"messageId": "1", "role": "ROLE_USER", "parts": {"$ref": "/input/parts"}}
    run = await market.ran(step("only", echo, message), given={"parts": [{"text": "a~b"}, {"text": "/c"}]})
    assert text_of(run, "only") == "a~b/c"


async def test_a_reference_to_nothing_fails_its_step_at_the_run(market: Market):
    echo = await market.sells("echo", str)
    run = await market.ran(step("only", echo, "{{/input/missing}}"), given={"text": "x"})
    assert (run["status"], step_of(run, "only")["reason"]) == ("failed", "reference_absent")
    assert (run["spent"], market.asked) == ("0", [])


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        ([{"id": "a", "needs": ["b"]}, {"id": "b", "needs": ["a"]}], "cycle"),
        ([{"id": "a", "needs": ["a"]}], "cycle"),
        ([{"id": "a", "needs": ["x"]}], "no step"),
        ([{"id": "a"}, {"id": "a"}], "id of its own"),
        ([{"id": "a", "message": "{{/steps/b/output}}"}, {"id": "b"}], "does not need"),
        ([{"id": "a", "message": "{{/elsewhere}}"}], "reference"),
        ([{"id": "a", "message": {"$ref": 7}}], "reference"),
        ([{"id": "a", "message": {"$ref": "/input", "more": 1}}], "reference"),
        ([{"id": "a", "when": {"ref": "/steps/a/output/text", "equals": 1}}], "does not need"),
        ([{"id": "a", "agent": "own"}], "itself"),
        ([{"id": "a", "on_failure": {"fallback": "own"}}], "itself"),
        ([{"id": "a", "message": None}], "request or message"),
        ([{"id": "a", "unknown": 1}], "unknown"),
        ([{"id": "A"}], "steps.0.id"),
        ([{"id": "a", "timeout_seconds": 61}], "timeout_seconds"),
        ([{"id": "a", "attempts": 6}], "attempts"),
        ([{"id": f"s{n}"} for n in range(21)], "steps"),
        ([], "steps"),
    ],
)
async def test_cycles_unknown_references_and_limits_are_refused_when_a_pipeline_is_saved(
    market: Market, steps: list[dict[str, Any]], word: str
):
    def whole(one: dict[str, Any]) -> dict[str, Any]:
        text = str(one).replace("'own'", f"'{market.buyer.did}'")
        members = {"agent": "did:web:x.example", "message": "hello", "max_amount": "1", **eval(text)}
        return {name: value for name, value in members.items() if value is not None}

    body = {"name": "Chain", "budget": "1", "steps": [whole(one) for one in steps]}
    answer = await market.send("POST", json=body)
    assert answer.status_code == 422, answer.text
    assert word in answer.text


@pytest.mark.parametrize("name", [" ", "a\u202eb", "a\u0007b", "\u2028"])
async def test_a_name_is_visible_text_without_characters_that_turn_a_line(market: Market, name: str):
    body = {"name": name, "budget": "1", "steps": [step("a", "did:web:x.example")]}
    assert (await market.send("POST", json=body)).status_code == 422


async def test_a_step_that_was_not_paid_is_tried_again_and_then_stops_the_run(market: Market):
    broken = await market.sells("broken", lambda _: None)
    run = await market.ran(step("a", broken, attempts=3), step("b", broken, needs=["a"]), given={"text": "x"})
    assert (run["status"], statuses(run)) == ("failed", {"a": "failed", "b": "pending"})
    assert [one["status"] for one in step_of(run, "a")["attempts"]] == ["released"] * 3
    assert (run["spent"], await market.buyer.balance()) == ("0", "100")
    await market.books_are_exact()


async def test_a_step_may_be_skipped_when_it_fails_or_its_condition_is_not_met(market: Market):
    broken, echo = await market.sells("broken", lambda _: None), await market.sells("echo", str)
    run = await market.ran(
        step("fails", broken, on_failure="skip"),
        step("one", echo, "1", when={"ref": "/input/n", "equals": True}),
        step("two", echo, "2", when={"ref": "/input/n", "equals": 1}),
        step("none", echo, "3", when={"ref": "/input/absent", "equals": None}),
        step("after", echo, "done", needs=["fails", "one"]),
        given={"n": 1},
    )
    assert run["status"] == "succeeded"
    assert statuses(run) == {
        "fails": "skipped",
        "one": "skipped",
        "two": "succeeded",
        "none": "skipped",
        "after": "succeeded",
    }


async def test_a_fallback_is_paid_where_the_agent_did_not_deliver(market: Market):
    broken, echo = await market.sells("broken", lambda _: None), await market.sells("echo", str)
    run = await market.ran(step("a", broken, attempts=2, on_failure={"fallback": echo}), given={"text": "x"})
    assert run["status"] == "succeeded"
    assert [one["payee"] for one in step_of(run, "a")["attempts"]] == [broken, broken, echo]
    assert (step_of(run, "a")["payee"], run["spent"]) == (echo, "1")


async def test_a_price_above_max_amount_is_refused_without_a_token(market: Market):
    dear = await market.sells("dear", price="3")
    run = await market.ran(step("a", dear), given={"text": "x"})
    (attempt,) = step_of(run, "a")["attempts"]
    assert (run["status"], attempt["status"], attempt["token_id"]) == ("failed", "refused", None)
    assert attempt["reason"] == "price_above_maximum"


async def test_a_run_that_has_spent_its_budget_goes_on_with_a_larger_one_and_done_steps_stay(market: Market):
    echo = await market.sells("echo", str)
    pipeline = await market.created(
        step("a", echo), step("b", echo, needs=["a"]), step("c", echo, needs=["b"]), budget="2"
    )
    run = await market.started(pipeline, {"text": "x"})
    stopped = await market.until(run)
    assert (stopped["status"], stopped["spent"], stopped["open"]) == ("budget_exceeded", "2", "0")
    assert statuses(stopped) == {"a": "succeeded", "b": "succeeded", "c": "pending"}
    lower = await market.send("POST", f"{run}/resume", json={"budget": "1"})
    assert (lower.status_code, lower.json()["error"]["code"]) == (409, "PIPELINE_BUDGET_TOO_LOW")
    resumed = await market.send("POST", f"{run}/resume", who=market.owner, json={"budget": "3"})
    assert resumed.status_code == 200, resumed.text
    ended = await market.until(run)
    assert (ended["status"], ended["spent"], len(market.asked)) == ("succeeded", "3", 3)
    again = await market.send("POST", f"{run}/resume", json={})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "PIPELINE_RUN_STATE")
    await market.books_are_exact()


async def test_steps_at_once_share_the_budget_and_never_pass_it(market: Market):
    echo = await market.sells("echo", str)
    run = await market.ran(*(step(f"s{n}", echo) for n in range(8)), given={"text": "x"}, budget="5")
    assert (run["status"], run["spent"]) == ("budget_exceeded", "5")
    assert list(statuses(run).values()).count("succeeded") == 5
    await market.books_are_exact()


async def test_a_run_without_units_waits_for_them_and_is_resumed(market: Market):
    dear, seller = await market.sells("dear", str, price="60"), await market.sells("echo", str)
    run = await market.started(
        await market.created(
            step("a", dear, max_amount="60"), step("b", dear, needs=["a"], max_amount="60"), budget="200"
        ),
        {"text": "x"},
    )
    assert (await market.until(run))["status"] == "waiting_funds"
    giver = await market.registry.agent()
    assert (await giver.transfer(market.buyer, "50")).status_code == 200
    assert (await market.send("POST", f"{run}/resume", json={})).status_code == 200
    ended = await market.until(run)
    assert (ended["status"], ended["spent"]) == ("succeeded", "120")
    assert seller
    await market.books_are_exact()


async def test_a_step_with_approval_begins_when_the_owner_lets_it(market: Market):
    echo = await market.sells("echo", str)
    pipeline = await market.created(step("a", echo, approval=True))
    run = await market.started(pipeline, {"text": "x"})
    assert (await market.until(run))["status"] == "waiting_approval"
    assert market.asked == []
    by_agent = await market.send("POST", f"{run}/steps/a/approve")
    assert by_agent.status_code == 401
    stranger = await market.registry.developer()
    assert (await market.send("POST", f"{run}/steps/a/approve", who=stranger)).status_code == 404
    assert (await market.send("POST", f"{run}/steps/x/approve", who=market.owner)).status_code == 404
    assert (await market.send("POST", f"{run}/steps/a/approve", who=market.owner)).status_code == 200
    assert (await market.until(run, "succeeded"))["spent"] == "1"
    late = await market.send("POST", f"{run}/steps/a/deny", who=market.owner)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "PIPELINE_RUN_STATE")


async def test_a_denied_step_fails(market: Market):
    echo = await market.sells("echo", str)
    run = await market.started(await market.created(step("a", echo, approval=True)), {"text": "x"})
    await market.until(run)
    assert (await market.send("POST", f"{run}/steps/a/deny", who=market.owner)).status_code == 200
    ended = await market.until(run)
    assert (ended["status"], step_of(ended, "a")["reason"], market.asked) == ("failed", "denied", [])


async def govern(market: Market, **policy: Any) -> None:
    path = f"/api/v1/agents/{market.buyer.did}/authz"
    answer = await market.registry.http.put(path, json={"spend_policy": policy}, headers=market.owner.headers)
    assert answer.status_code == 200, answer.text


async def test_the_spend_policy_of_the_agent_applies_and_its_approval_lets_the_step_go_on(market: Market):
    await govern(market, approval_over="0.5")
    echo = await market.sells("echo", str)
    run = await market.started(await market.created(step("a", echo)), {"text": "x"})
    waiting = await market.until(run)
    assert waiting["status"] == "waiting_approval"
    approval_id = step_of(waiting, "a")["approval_id"]
    inbox = await market.registry.get(
        f"/agents/{market.buyer.did}/spend-approvals", headers=market.owner.headers
    )
    assert [one["approval_id"] for one in inbox.json()["items"]] == [approval_id]
    approved = await market.send("POST", f"{run}/steps/a/approve", who=market.owner)
    assert approved.status_code == 200, approved.text
    ended = await market.until(run, "succeeded", "failed")
    assert (ended["status"], ended["spent"]) == ("succeeded", "1")
    assert len(market.asked) == 1


async def test_a_payment_that_the_spend_policy_refuses_fails_its_step(market: Market):
    await govern(market, allowlist=[])
    echo = await market.sells("echo", str)
    run = await market.ran(step("a", echo), given={"text": "x"})
    assert (run["status"], step_of(run, "a")["reason"]) == ("failed", "spend_payee_not_allowed")


async def test_a_cancelled_run_begins_nothing_and_ends_once_its_open_payment_has(market: Market):
    market.silent.add("slow")
    slow = await market.sells("slow")
    run = await market.started(
        await market.created(step("a", slow, timeout_seconds=1), step("b", slow, needs=["a"])), {"text": "x"}
    )
    await market.called.wait()
    cancelled = (await market.send("POST", f"{run}/cancel")).json()
    assert (cancelled["status"], cancelled["open"]) == ("running", "1")
    ended = await market.until(run)
    assert (ended["status"], ended["spent"], ended["open"]) == ("cancelled", "0", "0")
    assert len(market.asked) == 1
    assert (await market.send("POST", f"{run}/cancel")).status_code == 409
    assert (await market.send("POST", f"{run}/resume", json={})).status_code == 409
    await market.books_are_exact()


async def test_after_its_deadline_a_run_begins_nothing_and_expires(market: Market):
    market.silent.add("slow")
    slow = await market.sells("slow")
    run = await market.ran(
        step("a", slow, timeout_seconds=2, attempts=5), given={"text": "x"}, deadline_seconds=1
    )
    assert (run["status"], run["spent"]) == ("expired", "0")
    assert len(market.asked) == 1


async def test_a_step_paid_without_an_answer_is_unknown_and_paid_again_only_when_its_owner_says_so(
    market: Market,
):
    market.silent.add("slow")
    slow = await market.sells("slow", str)
    run = await market.started(
        await market.created(step("a", slow, timeout_seconds=2, attempts=3)), {"text": "x"}
    )
    await market.called.wait()
    await pay_by_hand(market, run)
    unknown = await market.until(run)
    assert (unknown["status"], statuses(unknown), unknown["spent"]) == (
        "waiting_approval",
        {"a": "unknown"},
        "1",
    )
    assert len(market.asked) == 1
    market.silent.clear()
    assert (await market.send("POST", f"{run}/steps/a/approve", who=market.owner)).status_code == 200
    ended = await market.until(run, "succeeded")
    assert (ended["spent"], [one["status"] for one in step_of(ended, "a")["attempts"]]) == (
        "2",
        ["settled"] * 2,
    )
    await market.books_are_exact()


async def pay_by_hand(market: Market, run: str) -> None:
    """Settle the open token of a run, as somebody does who has it."""
    (attempt,) = step_of(await market.read(run), "a")["attempts"]
    begin = "UPDATE commerce_payment_token SET status = 'settling', settling_at = now() - interval '5 s' WHERE id = $1"
    await market.registry.database.transaction(lambda tx: tx.execute(begin, attempt["token_id"]))


async def test_a_revision_keeps_the_runs_of_the_one_before_and_a_pipeline_with_a_living_run_stays(
    market: Market,
):
    echo = await market.sells("echo", str)
    pipeline = await market.created(step("a", echo, approval=True))
    run = await market.started(pipeline, {"text": "x"})
    new = {"name": "Other", "steps": [step("z", echo)], "budget": "3"}
    replaced = await market.send("PUT", f"/{pipeline}", who=market.owner, json=new)
    assert (replaced.status_code, replaced.json()["revision"], replaced.json()["name"]) == (200, 2, "Other")
    shown = await market.until(run)
    assert (shown["revision"], list(statuses(shown))) == (1, ["a"])
    refused = await market.send("DELETE", f"/{pipeline}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "PIPELINE_RUNNING")
    await market.send("POST", f"{run}/cancel")
    deleted = await market.send("DELETE", f"/{pipeline}")
    assert (deleted.status_code, deleted.json()) == (200, {"id": pipeline, "deleted": True})
    assert (await market.send("GET", f"/{pipeline}")).status_code == 404
    assert (await market.send("GET", run)).status_code == 404
    assert (await market.send("GET")).json()["items"] == []


async def test_a_pipeline_is_read_as_it_was_sent(market: Market):
    sent = step("a", "did:web:x.example", needs=[], on_failure={"fallback": "did:web:y.example"})
    created = await market.send(
        "POST", json={"name": "Chain", "steps": [sent], "budget": "2"}, who=market.owner
    )
    shown = (await market.send("GET", f"/{created.json()['id']}")).json()
    assert shown == created.json()
    assert shown["steps"][0] == {
        **sent,
        "request": None,
        "timeout_seconds": 30,
        "attempts": 1,
        "when": None,
        "approval": False,
    }
    listed = (await market.send("GET")).json()
    assert (listed["items"], listed["pagination"]["total_items"]) == ([shown], 1)


async def test_others_find_neither_pipelines_nor_runs(market: Market):
    echo = await market.sells("echo", str)
    pipeline = await market.created(step("a", echo, approval=True))
    run = await market.started(pipeline, {"text": "x"})
    stranger, other = await market.registry.developer(), await market.registry.agent()
    for who in (stranger, other):
        for path in ("", f"/{pipeline}", f"/{pipeline}/runs", run):
            assert (await market.send("GET", path, who=who)).status_code == 404
        for path in (f"{run}/cancel", f"{run}/resume"):
            assert (await market.send("POST", path, who=who, json={})).status_code == 404
        assert (await market.send("DELETE", f"/{pipeline}", who=who)).status_code == 404
    assert (await market.send("POST", f"/{pipeline}/runs", who=other, json={})).status_code == 404
    elsewhere = f"/{uuid4()}/runs/{run.rsplit('/', 1)[1]}"
    assert (await market.send("GET", elsewhere)).status_code == 404


async def test_twenty_pipelines_ten_runs_at_once_and_two_hundred_a_day(market: Market):
    body = {"name": "Chain", "steps": [step("a", "did:web:x.example", approval=True)], "budget": "1"}
    answers = await at_once(*(market.send("POST", json=body) for _ in range(22)))
    assert sorted(one.status_code for one in answers) == [201] * 20 + [429] * 2
    refused = next(one for one in answers if one.status_code == 429)
    assert refused.json()["error"]["code"] == "QUOTA_REACHED"
    pipeline = next(one.json()["id"] for one in answers if one.status_code == 201)
    runs = await at_once(*(market.send("POST", f"/{pipeline}/runs", json={}) for _ in range(12)))
    assert sorted(one.status_code for one in runs) == [202] * 10 + [429] * 2
    started = next(one.json()["run_id"] for one in runs if one.status_code == 202)
    await market.registry.database.transaction(lambda tx: tx.execute("UPDATE pipelines_agent SET runs = 200"))
    assert (await market.send("POST", f"/{pipeline}/runs/{started}/cancel")).status_code == 200
    late = await market.send("POST", f"/{pipeline}/runs", json={})
    assert (late.status_code, "a day" in late.text) == (429, True)


async def test_a_repeated_start_is_one_run(market: Market):
    pipeline = await market.created(step("a", "did:web:x.example", approval=True))
    first, second = [await market.send("POST", f"/{pipeline}/runs", key="once", json={}) for _ in range(2)]
    assert first.json() == second.json()
    assert (await market.send("GET", f"/{pipeline}/runs")).json()["pagination"]["total_items"] == 1


async def test_an_input_has_256_kib(market: Market):
    pipeline = await market.created(step("a", "did:web:x.example", approval=True))
    large = await market.send("POST", f"/{pipeline}/runs", json={"input": {"text": "x" * 256 * 1024}})
    assert large.status_code == 422


async def test_inputs_and_outputs_are_sealed_and_deleted_after_thirty_days(market: Market):
    echo = await market.sells("echo", lambda text: f"out of {text}")
    run = await market.ran(step("a", echo), given={"text": "a secret matter"})
    rows = "SELECT u.input || a.output AS sealed FROM pipelines_run u JOIN pipelines_attempt a ON a.run_id = u.id"
    (row,) = await market.registry.database.query(lambda tx: tx.fetch(rows))
    assert b"secret" not in row["sealed"]
    path = f"/{run['pipeline_id']}/runs/{run['run_id']}"
    await market.registry.database.transaction(erase_old)
    assert (await market.read(path))["input"] == {"text": "a secret matter"}
    later = "UPDATE pipelines_run SET ended_at = ended_at - make_interval(days => $1)"
    await market.registry.database.transaction(lambda tx: tx.execute(later, DAYS_STORED))
    await market.registry.database.transaction(erase_old)
    shown = await market.read(path)
    assert (shown["input"], step_of(shown, "a")["output"], shown["spent"]) == (None, None, "1")


async def test_the_start_and_the_end_of_a_run_are_private_events(market: Market):
    echo = await market.sells("echo", str)
    run = await market.ran(step("a", echo), given={"text": "x"})
    rows = "SELECT event_type, aggregate_id, data FROM journal_event WHERE event_type LIKE 'PipelineRun%' ORDER BY seq"
    events = await market.registry.database.query(lambda tx: tx.fetch(rows))
    assert [one["event_type"] for one in events] == ["PipelineRunStarted", "PipelineRunEnded"]
    assert {one["aggregate_id"] for one in events} == {market.buyer.did}
    ended = events[1]["data"]
    assert f'"{run["run_id"]}"' in str(ended)
    assert "succeeded" in str(ended)
    await require_schemas_kept(market.registry.database, "PipelineRunStarted", "PipelineRunEnded")


async def test_an_agent_that_used_the_key_of_an_attempt_itself_gets_no_answer_of_it(market: Market):
    echo = await market.sells("echo", str)
    pipeline = await market.created(step("a", echo, approval=True, attempts=2))
    run = await market.started(pipeline, {"text": "x"})
    await market.until(run)
    key = f"run-{run.rsplit('/', 1)[1]}-a-1"
    own = {"target_agent_did": echo, "message": "mine", "max_amount": "1"}
    bought = await market.registry.post(
        "/a2a-payment/buy", json=own, headers={**market.buyer.headers, "Idempotency-Key": key}
    )
    assert bought.status_code == 200, bought.text
    await market.send("POST", f"{run}/steps/a/approve", who=market.owner)
    ended = await market.until(run, "succeeded", "failed")
    assert [one["status"] for one in step_of(ended, "a")["attempts"]] == ["refused", "settled"]
    assert (ended["status"], ended["spent"], text_of(ended, "a")) == ("succeeded", "1", "x")


async def test_a_run_under_a_grant_bears_it_and_is_cancelled_with_it(market: Market):
    echo = await market.sells("echo", str)
    take_access_tokens(market.registry)
    client = await connect(
        market.registry,
        "pipelines:run",
        developer=market.owner,
        agent=market.buyer,
        per_call="1",
        ask_above="1",
    )
    pipeline = await market.created(step("a", echo), step("b", echo, needs=["a"], approval=True))
    run = await market.started(pipeline, {"text": "x"}, who=Bearer(client.access_token))
    waiting = await market.until(run)
    assert (waiting["status"], waiting["client"]) == ("waiting_approval", "Test client (unverified)")
    (connection,) = await client.connections()
    assert connection["spent_today"] == "1"
    in_api = await market.send("POST", f"{run}/steps/b/approve", who=market.owner)
    assert (in_api.status_code, in_api.json()["error"]["code"]) == (403, "SPEND_APPROVAL_IN_BROWSER")
    ended = await market.registry.http.delete(
        f"/api/v1/auth/connections/{connection['id']}", headers=market.owner.headers
    )
    assert ended.status_code == 200, ended.text
    await react(market)
    assert (await market.until(run, "cancelled"))["spent"] == "1"


class Bearer:
    """A bearer of some token."""

    def __init__(self, token: str) -> None:
        self.headers = {"Authorization": f"Bearer {token}"}


async def react(market: Market) -> None:
    """Let the reactor of the room see the ends of connections."""
    found = f"SELECT {COLUMNS} FROM journal_event WHERE event_type = 'ConnectionEnded' ORDER BY seq"

    async def reacted(tx: Tx) -> None:
        for event in stored(await tx.fetch(found)):
            await RUNS_FOLLOW.react(tx, event)

    await market.registry.database.transaction(reacted)
