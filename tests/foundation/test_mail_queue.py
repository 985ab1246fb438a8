"""Mails: written with the act, handed over in the background, neither lost nor sent for nothing."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.jobs import drop_job
from hansa.foundation.plumbing.jobs.mail_queue import (
    MAIL,
    OutgoingMail,
    enqueue_mail,
    enqueue_mails_without_job,
)
from hansa.foundation.plumbing.telemetry.metrics import mails_total
from tests.mail_server import MailServer
from tests.operation.registry_process import until
from tests.registry import StartRegistry, TestRegistry, at_once, text_of
from tests.running_jobs import jobs_of, run_due, time_passes, working

LINK = "https://registry.example.org/api/v1/auth/verify-email?token=evt_0&x=1"


class NeverDone:
    """A mail server that says nothing."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def send(self, *, to: str, subject: str, text: str) -> None:
        self.begun.set()
        await asyncio.Event().wait()


@pytest.fixture
def mail_server(unused_tcp_port: int):
    server = MailServer(unused_tcp_port)
    server.controller.start()
    yield server
    server.controller.stop()


@pytest.fixture
async def registry(start_registry: StartRegistry, mail_server: MailServer) -> TestRegistry:
    return await start_registry(smtp_url=mail_server.url, mail_from="Registry <post@registry.example.org>")


async def write(
    registry: TestRegistry, text: str = "Hello", good_for: timedelta = timedelta(hours=1)
) -> None:
    message = OutgoingMail("ada@example.org", "A subject", text, good_for)
    await registry.database.transaction(lambda tx: enqueue_mail(tx, registry.runtime.seal, message))


async def waiting(registry: TestRegistry) -> list[int]:
    """How often each mail that waits was tried."""
    return [row["attempts"] for row in await jobs_of(registry.runtime, "mail") if row["state"] == "waiting"]


async def mails_kept(registry: TestRegistry) -> int:
    return await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM plumbing_letter"))


async def later(registry: TestRegistry, minutes: float) -> None:
    """So much time passes for the mails that wait, and a tenth more."""
    seconds = 60 * minutes * 1.1
    await time_passes(registry.runtime, seconds)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE plumbing_letter SET good_until = good_until - $1 * interval '1 second'", seconds
        )
    )


async def test_a_mail_goes_to_the_mail_server_as_plain_text_and_as_html(registry, mail_server):
    await write(registry, f"Hello Ada <b>,\n\nopen this link:\n\n{LINK}\n\nBye.")
    await run_due(registry.runtime, MAIL)
    (envelope,), (message,) = mail_server.taken, mail_server.messages()
    assert (envelope.mail_from, envelope.rcpt_tos) == ("post@registry.example.org", ["ada@example.org"])
    assert (message["From"], message["To"]) == ("Registry <post@registry.example.org>", "ada@example.org")
    assert message["Subject"] == "A subject"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@registry.example.org>")
    assert message["Date"]
    assert text_of(message).splitlines()[:3] == ["Hello Ada <b>,", "", "open this link:"]
    html = message.get_body(("html",)).get_content()
    escaped = LINK.replace("&", "&amp;")
    assert f'<a href="{escaped}">{escaped}</a>' in html
    assert "<p>Hello Ada &lt;b&gt;,</p>" in html
    assert await waiting(registry) == []


async def test_a_mail_of_an_act_that_is_undone_is_not_sent(registry, mail_server):
    async def fail(tx):
        message = OutgoingMail("ada@example.org", "A subject", "Hello", timedelta(hours=1))
        await enqueue_mail(tx, registry.runtime.seal, message)
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        await registry.database.transaction(fail)
    await run_due(registry.runtime, MAIL)
    assert mail_server.taken == []


@pytest.mark.parametrize("answer", ["451 Come back later", "550 No such mailbox"])
async def test_a_mail_that_is_not_taken_is_tried_again_at_growing_intervals(registry, mail_server, answer):
    mail_server.answer = answer
    await write(registry)
    for tries, minutes in enumerate((1, 2, 4), start=1):
        await run_due(registry.runtime, MAIL)
        await run_due(registry.runtime, MAIL)
        assert await waiting(registry) == [tries]
        await later(registry, minutes)
    mail_server.answer = "250 OK"
    await run_due(registry.runtime, MAIL)
    assert len(mail_server.taken) == 1
    assert await waiting(registry) == []


async def test_a_mail_server_out_of_reach_loses_no_mail(start_registry, unused_tcp_port):
    registry = await start_registry(smtp_url=f"smtp://127.0.0.1:{unused_tcp_port}")
    await write(registry)
    await run_due(registry.runtime, MAIL)
    assert await waiting(registry) == [1]


async def test_whatever_the_mail_client_raises_is_a_try_that_failed_and_is_counted(start_registry):
    """A port that is a TLS server's, say: the client raises an error that is neither of the network nor of SMTP."""
    registry = await start_registry()

    class BrokenMailbox:
        async def send(self, *, to: str, subject: str, text: str) -> None:
            raise ValueError("unencodable")

    broken = replace(registry.runtime, mail=BrokenMailbox())
    put_off = mails_total.labels("put off")._value
    before = put_off.get()
    await write(registry)
    await run_due(broken, MAIL)
    assert await waiting(registry) == [1]
    assert put_off.get() == before + 1
    await later(registry, 1)
    await run_due(registry.runtime, MAIL)
    assert await waiting(registry) == []


async def test_a_mail_that_has_become_useless_is_given_up(registry, mail_server):
    await write(registry, good_for=timedelta(hours=1))
    await later(registry, 60)
    await run_due(registry.runtime, MAIL)
    assert mail_server.taken == []
    assert await waiting(registry) == []


async def test_one_mail_that_is_refused_holds_up_no_other(registry, mail_server):
    await write(registry)
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE plumbing_letter SET sealed_content = '\\x00112233445566778899aabbcc'")
    )
    await write(registry, "Another")
    await run_due(registry.runtime, MAIL)
    assert [text_of(message).strip() for message in mail_server.messages()] == ["Another"]
    assert await waiting(registry) == []


async def test_processes_that_hand_over_at_once_send_each_mail_once(registry, mail_server):
    for number in range(12):
        await write(registry, f"Mail {number}")
    await at_once(*(run_due(registry.runtime, MAIL) for _ in range(4)))
    sent = [text_of(message).strip() for message in mail_server.messages()]
    assert sorted(sent) == sorted(f"Mail {number}" for number in range(12))


async def test_a_mail_that_an_ending_process_was_sending_is_sent_by_another(registry, mail_server):
    await write(registry)
    stuck = NeverDone()
    ending = asyncio.create_task(run_due(replace(registry.runtime, mail=stuck), MAIL))
    await stuck.begun.wait()
    await run_due(registry.runtime, MAIL)
    assert mail_server.taken == []
    ending.cancel()
    await asyncio.wait([ending])
    await run_due(registry.runtime, MAIL)
    assert len(mail_server.taken) == 1
    assert (await waiting(registry), await mails_kept(registry)) == ([], 0)


async def test_a_mail_that_an_older_version_wrote_is_taken_over(registry, mail_server):
    await write(registry)
    await registry.database.transaction(
        lambda tx: tx.execute(
            "WITH gone AS (UPDATE plumbing_letter SET job_id = NULL, next_try_at = now() RETURNING 1)"
            " DELETE FROM plumbing_job WHERE kind = 'mail'"
        )
    )
    assert (await waiting(registry), await mails_kept(registry)) == ([], 1)
    await registry.database.transaction(enqueue_mails_without_job)
    await run_due(registry.runtime, MAIL)
    assert len(mail_server.taken) == 1


async def test_a_mail_whose_job_is_dropped_is_deleted(registry, mail_server):
    await write(registry)
    (job,) = await jobs_of(registry.runtime, "mail")
    await registry.database.transaction(lambda tx: drop_job(tx, job["id"], None, droppable={"mail"}))
    await run_due(registry.runtime, MAIL)
    assert (mail_server.taken, await mails_kept(registry)) == ([], 0)


async def test_a_mail_is_sent_when_it_is_written(registry, mail_server):
    async with working(registry.runtime, MAIL):
        await write(registry)
        await until(lambda: mail_server.taken)


async def test_what_a_waiting_mail_says_is_sealed(registry):
    await write(registry, LINK)
    row = await registry.database.read(lambda tx: tx.fetchval("SELECT p::text FROM plumbing_letter p"))
    assert "evt_0" not in row
    assert b"evt_0".hex() not in row
