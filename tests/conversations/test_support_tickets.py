"""Tickets of developers and reports about agents (specification 8, section 7)."""

import httpx2
import pytest

from hansa.rooms.support import close_resolved
from tests.all_events import require_schemas_kept
from tests.connections import connect
from tests.conversations.mcp_client import McpClient
from tests.notified import notified_of, subscribe
from tests.organizations import found
from tests.registry import TestAgent, TestDeveloper, TestRegistry, at_once, text_of
from tests.support import ADMIN, TICKET, TICKETS, answered, ask, changed, done, let_days_pass, opened, report

SECRET = "avreg_" + "ab" * 20


@pytest.fixture
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


@pytest.fixture
async def author(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def agent(author: TestDeveloper) -> TestAgent:
    return await author.agent()


@pytest.fixture
async def staff(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_support")


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def read(who: TestDeveloper, ticket: dict) -> dict:
    answer = await ask(who, "GET", f"{TICKETS}/{ticket['id']}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def id_of(who: TestDeveloper) -> int:
    return (await ask(who, "GET", "/auth/profile")).json()["id"]


async def mails_to(who: TestDeveloper) -> list:
    return [mail for mail in await who.registry.outbox() if mail["to"] == who.email]


async def test_a_ticket_has_a_number_and_is_open_until_the_support_has_answered(author, agent):
    ticket = await opened(author, agent_did=agent.did)
    assert ticket["number"].startswith("T-")
    assert {name: ticket[name] for name in ("status", "first_answered_at", "agent_did", "related")} == {
        "status": "open",
        "first_answered_at": None,
        "agent_did": agent.did,
        "related": None,
    }
    assert [(one["status"], one["by"]) for one in ticket["history"]] == [("open", "author")]
    assert await read(author, ticket) == ticket


async def test_numbers_rise_and_a_repeated_request_opens_one_ticket(author):
    first = await ask(author, "POST", TICKETS, TICKET, key="once")
    again = await ask(author, "POST", TICKETS, TICKET, key="once")
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    other = await opened(author)
    assert int(other["number"][2:]) > int(first.json()["number"][2:])


async def test_answers_kept_for_a_repetition_hold_no_text_of_a_ticket_in_clear(registry, author, staff):
    texts = ("Subject-7316", "Body-7316", "Reply-7316", "Answer-7316", "Note-7316")
    subject, body, reply, response, note = texts
    ticket = (
        await ask(author, "POST", TICKETS, {**TICKET, "subject": subject, "body": body}, key="sealed")
    ).json()
    path, desk = f"{TICKETS}/{ticket['id']}", f"{ADMIN}/{ticket['id']}"
    sent = [
        (author, "POST", f"{path}/messages", {"body": reply}),
        (staff, "POST", f"{desk}/messages", {"body": response}),
        (staff, "POST", f"{desk}/messages", {"body": note, "internal": True}),
        (staff, "PUT", desk, {"priority": "high"}),
        (author, "POST", f"{path}/close", None),
        (author, "POST", f"{path}/reopen", None),
    ]
    for number, (who, *act) in enumerate(sent):
        first, again = [await ask(who, *act, key=f"sealed-{number}") for _ in range(2)]
        assert (first.is_success, again.headers["idempotent-replayed"]) == (True, "true"), first.text
        assert again.json() == first.json()
        assert subject in first.text
    stored = await registry.database.read(lambda tx: tx.fetch("SELECT answer FROM plumbing_idempotency"))
    assert len(stored) > len(sent)
    assert not [row["answer"] for row in stored if any(text in row["answer"] for text in texts)]


async def test_an_answer_that_an_earlier_version_stored_in_clear_is_refused_with_its_reason(registry, author):
    await ask(author, "POST", TICKETS, TICKET, key="in-clear")
    await registry.database.transaction(
        lambda tx: tx.execute('UPDATE plumbing_idempotency SET answer = \'{"number": "T-1"}\'')
    )
    again = await ask(author, "POST", TICKETS, TICKET, key="in-clear")
    assert code(again) == (422, "IDEMPOTENCY_ANSWER_UNREADABLE")


async def test_another_account_and_an_administrator_of_another_area_read_no_ticket(registry, author):
    ticket = await opened(author)
    stranger = await registry.developer()
    for method, path, body in (
        ("GET", "", None),
        ("POST", "/messages", {"body": "Hello"}),
        ("POST", "/close", None),
        ("POST", "/reopen", None),
    ):
        answer = await ask(stranger, method, f"{TICKETS}/{ticket['id']}{path}", body)
        assert code(answer) == (404, "TICKET_UNKNOWN")
    assert (await ask(stranger, "GET", TICKETS)).json() == {"tickets": [], "next": None}
    treasurer = await registry.administrator("admin_treasury")
    for method, path in (
        ("GET", ADMIN),
        ("GET", f"{ADMIN}/{ticket['id']}"),
        ("PUT", f"{ADMIN}/{ticket['id']}"),
    ):
        assert (await ask(treasurer, method, path, {})).status_code == 403
        assert (await ask(author, method, path, {})).status_code == 403


@pytest.mark.parametrize(
    "members",
    [
        {"subject": "ab"},
        {"subject": "x" * 151},
        {"subject": "  a  "},
        {"subject": "turned \u202e around"},
        {"body": ""},
        {"body": " \n "},
        {"body": "é" * 4097},
        {"body": "bell \u0007"},
        {"category": "abuse"},
        {"category": "money"},
        {"related": {"type": "agent", "id": "1"}},
        {"related": {"type": "contract", "id": True}},
    ],
)
async def test_a_ticket_that_does_not_keep_to_the_form_is_refused(author, members):
    assert (await ask(author, "POST", TICKETS, {**TICKET, **members})).status_code == 422


async def test_secrets_in_subject_and_text_are_stored_by_their_kind(author, staff):
    ticket = await opened(author, subject=f"Lost\n{SECRET}", body=f"My key is {SECRET}.")
    assert ticket["subject"] == "Lost [redacted:api_key]"
    assert ticket["body"] == "My key is [redacted:api_key]."
    after = await done(author, ticket, "messages", {"body": SECRET})
    assert after["messages"][0]["body"] == "[redacted:api_key]"
    whole = (await answered(staff, ticket, body=SECRET, internal=True)).json()
    assert whole["notes"][0]["body"] == "[redacted:api_key]"


async def test_the_agent_and_the_related_thing_are_the_authors_own(registry, author, agent):
    other = await registry.agent()
    foreign = await ask(author, "POST", TICKETS, {**TICKET, "agent_did": other.did})
    assert code(foreign) == (404, "RESOURCE_NOT_FOUND")
    paid = (await agent.transfer(other, "1")).json()["transaction_id"]
    organization = await found(registry, author)
    token = await registry.post(
        "/a2a-payment/authorize", json={"target_agent_did": other.did, "amount": "1"}, headers=agent.headers
    )
    terms = {
        "title": "Translate",
        "contract_type": "service",
        "terms": "All",
        "acceptance_criteria": "Read it",
        "amount": "1",
    }
    contract = await registry.post(
        "/contracts", json={**terms, "provider_did": other.did}, headers=agent.headers
    )
    dispute = await registry.post(
        "/disputes/",
        json={
            "defendant_did": other.did,
            "reason_code": "OTHER",
            "description": "Nothing came.",
            "transaction_id": paid,
        },
        headers=agent.headers,
    )
    own = (
        ({"type": "transaction", "id": paid}, paid),
        ({"type": "token", "id": token.json()["token_id"]}, token.json()["token_id"]),
        ({"type": "contract", "id": contract.json()["id"]}, str(contract.json()["id"])),
        ({"type": "dispute", "id": dispute.json()["id"]}, str(dispute.json()["id"])),
        ({"type": "organization", "id": organization.slug}, organization.created["id"]),
    )
    stranger = await registry.developer()
    for related, stored in own:
        ticket = await opened(author, related=related)
        assert ticket["related"] == {"type": related["type"], "id": stored}
        refused = await ask(stranger, "POST", TICKETS, {**TICKET, "related": related})
        assert code(refused) == (404, "RELATED_UNKNOWN")
    for related in (
        {"type": "contract", "id": 10**12},
        {"type": "contract", "id": "one"},
        {"type": "dispute", "id": 10**12},
        {"type": "token", "id": "no-uuid"},
        {"type": "token", "id": "00000000-0000-4000-8000-000000000000"},
        {"type": "transaction", "id": "tx-99999999999999999999999"},
    ):
        refused = await ask(author, "POST", TICKETS, {**TICKET, "related": related})
        assert code(refused) == (404, "RELATED_UNKNOWN"), related


async def test_an_author_has_ten_open_tickets_however_many_are_opened_together(author):
    answers = await at_once(*(ask(author, "POST", TICKETS, TICKET) for _ in range(14)))
    assert sorted(answer.status_code for answer in answers) == [201] * 10 + [429] * 4
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert code(refused) == (429, "QUOTA_REACHED")
    ticket = next(answer for answer in answers if answer.status_code == 201).json()
    await done(author, ticket, "close")
    await opened(author)
    reopened = await ask(author, "POST", f"{TICKETS}/{ticket['id']}/reopen")
    assert code(reopened) == (429, "QUOTA_REACHED")


async def test_an_author_writes_twenty_messages_an_hour_however_many_are_sent_together(author):
    ticket = await opened(author)
    path = f"{TICKETS}/{ticket['id']}/messages"
    answers = await at_once(*(ask(author, "POST", path, {"body": f"{n}"}) for n in range(24)))
    assert sorted(answer.status_code for answer in answers) == [201] * 20 + [429] * 4
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert code(refused) == (429, "QUOTA_REACHED")
    assert 3000 < int(refused.headers["retry-after"]) <= 3600
    assert len((await read(author, ticket))["messages"]) == 20


async def test_tickets_that_are_closed_at_once_count_in_the_hour(author):
    for _ in range(20):
        await done(author, await opened(author), "close")
    refused = await ask(author, "POST", TICKETS, TICKET)
    assert code(refused) == (429, "QUOTA_REACHED")
    assert int(refused.headers["retry-after"]) > 3000


async def test_an_answer_waits_for_the_author_and_a_message_opens_the_ticket_again(author, staff):
    ticket = await opened(author)
    answer = await answered(staff, ticket)
    assert answer.status_code == 201, answer.text
    read_by_author = await read(author, ticket)
    assert read_by_author["status"] == "waiting_for_user"
    first = read_by_author["first_answered_at"]
    assert first is not None
    after = await done(author, ticket, "messages", {"body": "Thank you"})
    assert [(one["by"], one["body"]) for one in after["messages"]] == [
        ("support", "We look at it."),
        ("author", "Thank you"),
    ]
    await answered(staff, ticket)
    after = await read(author, ticket)
    assert after["first_answered_at"] == first
    assert [(one["status"], one["by"]) for one in after["history"]] == [
        ("open", "author"),
        ("waiting_for_user", "support"),
        ("open", "author"),
        ("waiting_for_user", "support"),
    ]


async def test_an_author_reads_no_note_and_no_name_of_the_support(author, staff):
    ticket = await opened(author)
    noted = await answered(staff, ticket, body="Looks like a scam", internal=True)
    assert noted.status_code == 201
    await answered(staff, ticket)
    name = (await ask(staff, "GET", "/auth/profile")).json()["name"]
    for answer in (
        await ask(author, "GET", f"{TICKETS}/{ticket['id']}"),
        await ask(author, "GET", TICKETS),
        await ask(author, "POST", f"{TICKETS}/{ticket['id']}/close"),
    ):
        assert answer.is_success
        assert "scam" not in answer.text
        assert name not in answer.text
        assert "staff" not in answer.text
    case = (await ask(staff, "GET", f"{ADMIN}/{ticket['id']}")).json()
    assert [(one["body"], one["staff"]["name"]) for one in case["notes"]] == [("Looks like a scam", name)]
    assert case["first_answered_at"] is not None


async def test_a_note_changes_no_state_and_is_no_first_answer(author, staff):
    ticket = await opened(author)
    case = (await answered(staff, ticket, internal=True)).json()
    assert (case["status"], case["first_answered_at"]) == ("open", None)
    assert await mails_to(author) == []


@pytest.mark.parametrize(
    "text", ["A very private matter", '<a href="https://evil.example">Log in</a>', "Bcc: all@x.y"]
)
async def test_mail_to_the_author_has_the_number_and_the_link_alone(registry, staff, text):
    author = await registry.developer(name=text[:60])
    ticket = await opened(author, subject=text, body=f"{text}\n\nBcc: all@example.org")
    await answered(staff, ticket, body=f"{text} https://evil.example/")
    (mail,) = await mails_to(author)
    link = f"{registry.settings.base_url}/account/support/{ticket['id']}"
    assert mail["subject"] == f"Ticket {ticket['number']}"
    assert text_of(mail).strip() == f"{ticket['number']}: {link}"


async def test_the_support_sorts_tickets_by_priority_and_assignee(registry, author, staff):
    ticket = await opened(author)
    number = await id_of(staff)
    case = (await changed(staff, ticket, priority="high", assignee=number)).json()
    assert (case["priority"], case["assignee"]["developer_id"]) == ("high", number)
    case = (await changed(staff, ticket, priority="low")).json()
    assert (case["priority"], case["assignee"]["developer_id"]) == ("low", number)
    mine = (await ask(staff, "GET", f"{ADMIN}?assignee={number}")).json()["tickets"]
    assert [one["id"] for one in mine] == [ticket["id"]]
    case = (await changed(staff, ticket, assignee=None)).json()
    assert case["assignee"] is None
    unassigned = (await ask(staff, "GET", f"{ADMIN}?assignee=none")).json()["tickets"]
    assert ticket["id"] in [one["id"] for one in unassigned]
    treasurer = await registry.administrator("admin_treasury")
    for stranger in (author, treasurer):
        refused = await changed(staff, ticket, assignee=await id_of(stranger))
        assert code(refused) == (404, "ASSIGNEE_UNKNOWN")
    for wrong in ({"priority": "urgent"}, {"status": "deleted"}, {"assignee": 0}, {"assignee": True}):
        assert (await changed(staff, ticket, **wrong)).status_code == 422


async def test_lists_are_filtered_and_go_on_from_their_cursor(author, staff, registry):
    tickets = [await opened(author, subject=f"Riddle {n}", category="federation") for n in range(5)]
    await done(author, tickets[0], "close")
    path = f"{TICKETS}?limit=2&status=open&q=RIDDLE"
    seen = []
    cursor = None
    while True:
        page = (await ask(author, "GET", path + (f"&next={cursor}" if cursor else ""))).json()
        seen += [one["subject"] for one in page["tickets"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == ["Riddle 4", "Riddle 3", "Riddle 2", "Riddle 1"]
    by_number = (await ask(author, "GET", f"{TICKETS}?q={tickets[2]['number'].lower()}")).json()["tickets"]
    assert [one["id"] for one in by_number] == [tickets[2]["id"]]
    of_all = (await ask(staff, "GET", f"{ADMIN}?status=closed&category=federation&q=riddle")).json()
    assert [one["id"] for one in of_all["tickets"]] == [tickets[0]["id"]]
    assert of_all["tickets"][0]["author"]["developer_id"] == await id_of(author)
    for wrong in ("limit=0", "limit=201", "status=gone", "next=5", "q="):
        assert (await ask(author, "GET", f"{TICKETS}?{wrong}")).status_code == 422
    for wrong in ("assignee=me", "category=money"):
        assert (await ask(staff, "GET", f"{ADMIN}?{wrong}")).status_code == 422


async def test_the_support_moves_a_ticket_along_its_states_alone(author, staff):
    ticket = await opened(author)
    assert code(await changed(staff, ticket, status="closed")) == (409, "TICKET_STATE")
    for status in ("waiting_for_user", "open", "resolved"):
        case = await changed(staff, ticket, status=status)
        assert (case.status_code, case.json()["status"]) == (200, status)
    for refused in (
        await changed(staff, ticket, status="waiting_for_user"),
        await answered(staff, ticket),
        await ask(author, "POST", f"{TICKETS}/{ticket['id']}/messages", {"body": "And?"}),
    ):
        assert code(refused) == (409, "TICKET_STATE")
    closed = await changed(staff, ticket, status="closed")
    assert closed.json()["closed_at"] is not None
    assert code(await ask(author, "POST", f"{TICKETS}/{ticket['id']}/close")) == (409, "TICKET_STATE")


async def test_a_resolved_ticket_closes_after_seven_days_and_is_open_again_within_fourteen(
    registry, author, staff
):
    ticket = await opened(author)
    await changed(staff, ticket, status="resolved")

    async def after(days: int) -> str:
        await let_days_pass(registry, days)
        await registry.database.transaction(close_resolved)
        return (await read(author, ticket))["status"]

    assert await after(6) == "resolved"
    assert await after(1) == "closed"
    assert (await read(author, ticket))["history"][-1]["by"] == "registry"
    assert await after(13) == "closed"
    assert (await done(author, ticket, "reopen"))["status"] == "open"
    assert (await read(author, ticket))["closed_at"] is None
    assert code(await ask(author, "POST", f"{TICKETS}/{ticket['id']}/reopen")) == (409, "TICKET_STATE")
    await done(author, ticket, "close")
    assert await after(15) == "closed"
    for answer in (
        await ask(author, "POST", f"{TICKETS}/{ticket['id']}/reopen"),
        await changed(staff, ticket, status="open"),
    ):
        assert code(answer) == (409, "TICKET_STATE")
        assert "14 days" in answer.json()["detail"]


async def test_a_suspended_developer_appeals_and_reads_the_answer(registry, author, staff):
    enforcer = await registry.administrator("admin_enforcement")
    number = await id_of(author)
    suspended = await ask(enforcer, "POST", f"/admin/developers/{number}/suspend", {"reason": "Fraud"})
    assert suspended.status_code == 200, suspended.text
    ticket = await opened(author, category="account", subject="Appeal")
    await answered(staff, ticket)
    assert (await read(author, ticket))["messages"][0]["by"] == "support"
    await done(author, ticket, "messages", {"body": "I am innocent."})
    await done(author, ticket, "close")


async def test_anybody_reports_an_agent_and_the_support_reads_it(registry, agent, staff):
    answer = await report(registry, agent.did, email="witness@example.org")
    assert (answer.status_code, answer.json()) == (202, {"accepted": True})
    (row,) = (await ask(staff, "GET", f"{ADMIN}?category=abuse&q={agent.did}")).json()["tickets"]
    assert (row["author"], row["subject"], row["agent_did"]) == (None, "It takes money", agent.did)
    case = (await ask(staff, "GET", f"{ADMIN}/{row['id']}")).json()
    assert (case["body"], case["reporter_email"]) == ("It never answers.", "witness@example.org")
    for refused in (await answered(staff, row), await changed(staff, row, status="waiting_for_user")):
        assert code(refused) == (409, "TICKET_STATE")
    assert (await answered(staff, row, internal=True)).status_code == 201
    await changed(staff, row, status="resolved")
    closed = (await changed(staff, row, status="closed")).json()
    assert closed["reporter_email"] is None
    assert [mail for mail in await registry.outbox() if mail["to"] == "witness@example.org"] == []


async def test_one_address_reports_five_times_an_hour(registry, agent):
    answers = [await report(registry, agent.did, address="198.51.100.77") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [202] * 5 + [429]
    assert (await report(registry, agent.did)).status_code == 202


async def test_a_report_names_an_agent_with_a_card_here(registry):
    refused = await report(registry, "did:hansa:nowhere:00000000-0000-4000-8000-000000000000")
    assert refused.status_code == 404
    assert (await report(registry, "x", email="no address")).status_code == 422


async def test_each_act_of_the_support_is_in_the_audit_log(registry, author, staff):
    ticket = await opened(author)
    await changed(staff, ticket, priority="high")
    await answered(staff, ticket)
    await answered(staff, ticket, internal=True)
    platform = await registry.administrator("admin_platform")
    acts = (await ask(platform, "GET", f"/admin/audit-log?subject={ticket['number']}")).json()["items"]
    assert [one["act"] for one in acts] == ["ticket.note", "ticket.answer", "ticket.change"]


async def test_webhooks_of_the_author_follow_a_ticket_without_its_texts(registry, author, staff):
    await subscribe(author, "*")
    ticket = await opened(author)
    await answered(staff, ticket)
    did = await registry.database.query(
        lambda tx: tx.fetchval(
            "SELECT aggregate_id FROM journal_event WHERE event_type = 'SupportTicketOpened' LIMIT 1"
        )
    )
    sent = [
        (kind, data)
        for kind, data in await notified_of(registry, did)
        if data.get("ticket_id") == ticket["id"]
    ]
    assert sorted(kind for kind, _ in sent) == [
        "support_ticket.answered",
        "support_ticket.moved",
        "support_ticket.opened",
    ]
    for _, data in sent:
        assert ticket["subject"] not in str(data)
    await require_schemas_kept(
        registry.database, "SupportTicketOpened", "SupportTicketAnswered", "SupportTicketMoved"
    )


async def test_a_report_leaves_no_event_that_its_agent_could_read(registry, agent):
    async def written() -> int:
        return await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM journal_event"))

    before = await written()
    assert (await report(registry, agent.did)).status_code == 202
    assert await written() == before


async def test_a_narrow_api_key_reads_and_writes_tickets_by_its_scope(author):
    ticket = await opened(author)
    reader, writer, other = (
        await author.api_key("support:read"),
        await author.api_key("support:write"),
        await author.api_key("agents:write"),
    )
    assert (await ask(reader, "GET", f"{TICKETS}/{ticket['id']}")).status_code == 200
    assert (await ask(reader, "POST", TICKETS, TICKET)).status_code == 403
    assert (await ask(writer, "GET", f"{TICKETS}/{ticket['id']}")).status_code == 200
    assert (await ask(writer, "POST", TICKETS, TICKET)).status_code == 201
    assert (await ask(other, "GET", TICKETS)).status_code == 403


async def test_a_connected_client_opens_a_ticket_and_writes_in_it(registry, author, agent, staff):
    client = await connect(registry, "support:write", developer=author, agent=agent)
    tools = McpClient(registry, client.access_token)
    given = {**TICKET, "agent_did": agent.did, "request_id": "one"}
    ticket = await tools.done("open_ticket", **given)
    assert await tools.done("open_ticket", **given) == ticket
    await answered(staff, ticket)
    replied = await tools.content("reply_ticket", ticket_id=ticket["id"], body="More about it")
    assert replied["result"]["status"] == "open"
    assert replied["untrusted"] == ["/result/messages/0/body", "/result/messages/1/body"]
    assert [one["id"] for one in (await ask(author, "GET", TICKETS)).json()["tickets"]] == [ticket["id"]]
    stranger = await opened(await registry.developer())
    refused = await tools.refused("reply_ticket", ticket_id=stranger["id"], body="Mine")
    assert refused["code"] == "TICKET_UNKNOWN"


async def test_a_client_without_the_scope_opens_no_ticket(registry, author):
    client = await connect(registry, "mcp:read", developer=author)
    answer = await McpClient(registry, client.access_token).send(
        "tools/call", {"name": "open_ticket", "arguments": TICKET}
    )
    assert answer.status_code == 403
    assert "support:write" in answer.headers["www-authenticate"]
