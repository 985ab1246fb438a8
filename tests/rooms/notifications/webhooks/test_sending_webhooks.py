"""A delivery is sent at least once, with the same id and bytes, by whichever process lives; receivers that fail are spared."""

from collections.abc import AsyncIterator

import pytest

from hansa.foundation.plumbing.jobs import Job, enqueue, retry_job, withdraw
from hansa.foundation.plumbing.jobs.running import claim
from hansa.rooms.notifications.webhooks import (
    WEBHOOKS,
    WebhookEvent,
    enqueue_webhook,
    forget_old_deliveries,
    rules,
    store,
)
from hansa.rooms.notifications.webhooks.records import PendingDelivery
from hansa.rooms.notifications.webhooks.rules import Outcome
from hansa.rooms.notifications.webhooks.sending import record, send
from tests.logs_of_agents import entries_of_registry
from tests.operation.registry_process import until
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry, at_once, open_registry, text_of
from tests.rooms.notifications.webhooks.receiver import (
    Hook,
    Receiver,
    Stage,
    hook,
    move_clock,
    open_stage,
    send_due,
)
from tests.running_jobs import jobs_of, run_due, working

DAY = 24 * 3600


@pytest.fixture(scope="module")
async def opened(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with open_stage(database_farm, tmp_path_factory.mktemp("stage"), receivers=2) as stage:
        yield stage


@pytest.fixture
async def stage(opened: Stage) -> AsyncIterator[Stage]:
    """A registry without webhooks, and two receivers that it may call."""
    yield opened
    await opened.registry.database.transaction(lambda tx: tx.execute("DELETE FROM notifications_webhook"))
    await opened.registry.database.transaction(lambda tx: withdraw(tx, WEBHOOKS.name))


async def mails_to(owner: TestDeveloper) -> list[str]:
    """Return the mails to the owner."""
    return [text_of(mail) for mail in await owner.registry.outbox() if mail["To"] == owner.email]


async def publish(hooked: Hook, **data) -> int:
    """Something happens to the owner's agents."""
    registry = hooked.owner.registry
    profile = await registry.get("/auth/profile", headers=hooked.owner.headers)
    return await registry.database.transaction(
        lambda tx: enqueue_webhook(tx, profile.json()["id"], WebhookEvent.AGENT_SUSPENDED, data)
    )


async def started(stage: Stage, receiver: Receiver) -> tuple[TestRegistry, Hook]:
    registry = stage.registry
    return registry, await hook(await registry.developer(), receiver.url)


async def test_a_delivery_is_sent_once_signed_and_shown_as_delivered(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        assert await publish(hooked, did="did:hansa:x", soft=False) == 1
        assert await send_due(registry.runtime) == 1
        assert await send_due(registry.runtime) == 0
    (got,) = receiver.received
    assert got.line == "POST /hook HTTP/1.1"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["user-agent"].startswith("hansa/")
    assert got.is_signed_with(hooked.secret)
    assert not got.is_signed_with("whsec_" + "A" * 44)
    assert got.message["type"] == "agent.suspended"
    assert got.message["data"] == {"did": "did:hansa:x", "soft": False}
    (shown,) = await hooked.deliveries()
    assert shown["id"] == got.id
    assert (shown["status"], shown["tries"], shown["answered_status"]) == ("delivered", 1, 200)
    assert shown["payload"] == got.message
    assert shown["next_try_at"] is None


async def test_what_is_rolled_back_is_not_sent(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)

        async def fail(tx) -> None:
            owner = await tx.fetchval("SELECT developer_id FROM notifications_webhook")
            await enqueue_webhook(tx, owner, WebhookEvent.AGENT_SUSPENDED, {})
            raise ValueError

        with pytest.raises(ValueError):
            await registry.database.transaction(fail)
        assert await send_due(registry.runtime) == 0
        assert await hooked.deliveries() == []


async def test_only_those_who_asked_for_it_are_notified(stage):
    async with stage.receiving() as receiver:
        registry = stage.registry
        owner, other = await registry.developer(), await registry.developer()
        everything = await hook(owner, receiver.url)
        asked = await hook(owner, receiver.url, "agent.suspended", "agent.revoked")
        elsewhere = await hook(owner, receiver.url, "agent.onboarded")
        stranger = await hook(other, receiver.url)
        assert await publish(everything) == 2
        assert [len(await hooked.deliveries()) for hooked in (everything, asked, elsewhere, stranger)] == [
            *(1, 1, 0, 0)
        ]


async def test_a_failed_delivery_is_tried_eight_times_over_about_a_day_with_the_same_id_and_bytes(
    stage,
):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await publish(hooked, did="x")
        waited = 0.0
        for tries in range(1, 9):
            assert await send_due(registry.runtime) == 1
            assert len(receiver.received) == tries
            (shown,) = await hooked.deliveries()
            assert (shown["tries"], shown["answered_status"]) == (tries, 500)
            assert await send_due(registry.runtime) == 0
            if tries < 8:
                assert shown["status"] == "pending"
                pause = await registry.database.query(
                    lambda tx: tx.fetchval(
                        "SELECT extract(epoch FROM due_at - clock_timestamp())::float FROM plumbing_job"
                        " WHERE kind = 'webhook' AND key = $1",
                        hooked.id,
                    )
                )
                waited += pause
                await move_clock(registry, pause)
        assert shown["status"] == "failed"
        assert 0.8 * DAY < waited < 1.2 * DAY
        assert len({(got.id, got.body) for got in receiver.received}) == 1
        assert all(got.is_signed_with(hooked.secret) for got in receiver.received)
        assert (await hooked.read())["consecutive_failures"] == 8


async def test_a_receiver_that_fails_is_left_alone_for_everything_else_there_is_to_send(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 503
        for number in range(5):
            await publish(hooked, number=number)
        assert await send_due(registry.runtime) == 1
        await publish(hooked, number=5)
        assert await send_due(registry.runtime) == 0
        receiver.status = 200
        await move_clock(registry, 60)
        assert await send_due(registry.runtime) == 6
        assert (await hooked.read())["consecutive_failures"] == 0
        assert {shown["status"] for shown in await hooked.deliveries()} == {"delivered"}


async def test_what_is_new_does_not_wait_for_the_next_try_of_what_failed(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await publish(hooked, number=1)
        for _ in range(4):
            await send_due(registry.runtime)
            await move_clock(registry, 2000)
        receiver.status = 200
        await publish(hooked, number=2)
        assert await send_due(registry.runtime) == 1
        assert receiver.received[-1].message["data"] == {"number": 2}
        assert [shown["status"] for shown in await hooked.deliveries()] == ["delivered", "pending"]


@pytest.mark.parametrize(
    ("status", "taken"), [(200, True), (204, True), (299, True), (302, False), (400, False), (500, False)]
)
async def test_only_a_status_of_2xx_takes_a_delivery(stage, status: int, taken: bool):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = status
        await publish(hooked)
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        assert (shown["status"] == "delivered") is taken
        assert shown["answered_status"] == status


async def test_a_receiver_that_is_too_slow_has_not_taken_it(stage, monkeypatch: pytest.MonkeyPatch):
    from hansa.foundation.plumbing.outgoing import CallLimits
    from hansa.rooms.notifications.webhooks import sending

    assert sending.LIMITS.seconds == 5
    monkeypatch.setattr(sending, "LIMITS", CallLimits(seconds=0.2, body_bytes=0))
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.pause = 1
        await publish(hooked)
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        assert (shown["status"], shown["trouble"], shown["answered_status"]) == ("pending", "timeout", None)


async def test_an_address_that_turned_private_is_not_connected_to(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE notifications_webhook SET url = $1", f"https://127.0.0.2:{receiver.listening.port}/"
            )
        )
        await publish(hooked)
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        assert (shown["status"], shown["trouble"]) == ("pending", "internal_host")
        assert receiver.listening.connections == 0


async def test_after_twenty_failures_in_a_row_the_webhook_stops_and_its_owner_is_notified(stage):
    async with stage.receiving() as broken, stage.receiving() as sound:
        registry = stage.registry
        owner = await registry.developer()
        failing = await hook(owner, broken.url)
        informed = await hook(owner, sound.url, "webhook.retry_exhausted")
        broken.status = 500
        for _ in range(20):
            await failing.test()
            await send_due(registry.runtime)
        stopped = await failing.read()
        assert (stopped["is_active"], stopped["stopped_by"]) == (False, "failures")
        assert stopped["consecutive_failures"] == 20
        assert len(broken.received) == 20
        assert await publish(failing) == 0

        (text,) = await mails_to(owner)
        assert failing.id in text
        # The rest of an address may be a secret of the receiver.
        assert broken.place in text
        assert broken.url not in text
        assert sound.types == ["webhook.retry_exhausted"]
        returned = sound.received[0].message["data"]
        assert returned == {"webhook_id": failing.id, "stopped_by": "failures", "consecutive_failures": 20}

        broken.status = 200
        again = await failing.change()
        assert (again["is_active"], again["stopped_by"], again["consecutive_failures"]) == (True, None, 0)
        assert await publish(failing) == 1
        await send_due(registry.runtime)
        assert broken.types[-1] == "agent.suspended"
        assert (await informed.read())["is_active"]


async def test_a_success_in_between_begins_the_count_anew(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        for status in [500] * 15 + [200] + [500] * 12:
            receiver.status = status
            await hooked.test()
            await send_due(registry.runtime)
        assert (await hooked.read())["consecutive_failures"] == 12
        assert (await hooked.read())["is_active"]


async def test_what_waits_for_a_stopped_webhook_is_sent_when_it_is_set_going(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await publish(hooked, number=1)
        await send_due(registry.runtime)
        await hooked.change(is_active=False)
        await move_clock(registry, DAY)
        assert await send_due(registry.runtime) == 0
        receiver.status = 200
        await hooked.change(is_active=True)
        assert await send_due(registry.runtime) == 1
        assert [shown["status"] for shown in await hooked.deliveries()] == ["delivered"]


async def test_a_receiver_that_is_gone_for_good_stops_its_webhook_at_once(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 410
        await publish(hooked)
        await send_due(registry.runtime)
        stopped = await hooked.read()
        assert (stopped["is_active"], stopped["stopped_by"]) == (False, "gone")
        assert len(await mails_to(hooked.owner)) == 1


async def test_a_stopped_webhook_is_an_entry_in_the_logs_of_the_owners_agents(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        agents = [await hooked.owner.agent(), await hooked.owner.agent()]
        receiver.status = 410
        await publish(hooked)
        await send_due(registry.runtime)
        for agent in agents:
            (entry,) = await entries_of_registry(agent)
            assert (entry["level"], entry["message"]) == ("ERROR", "A webhook of the owner was stopped.")
            assert entry["log_metadata"]["webhook_id"] == hooked.id
            assert receiver.url not in str(entry)


async def test_a_test_is_sent_before_what_waits_and_is_tried_once(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await publish(hooked)
        await send_due(registry.runtime)
        queued = await hooked.test()
        assert (queued["event_type"], queued["status"]) == ("webhook.test", "pending")
        await send_due(registry.runtime)
        assert receiver.types == ["agent.suspended", "webhook.test"]
        (failed,) = await hooked.deliveries(status="failed")
        assert (failed["id"], failed["tries"]) == (queued["id"], 1)


async def test_a_delivery_is_sent_again_on_request_with_its_id_and_bytes(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await publish(hooked, did="x")
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        again = await hooked.resend(shown["id"])
        assert (again["id"], again["status"], again["tries"]) == (shown["id"], "pending", 0)
        await send_due(registry.runtime)
        first, second = receiver.received
        assert (first.id, first.body) == (second.id, second.body)
        assert [shown["status"] for shown in await hooked.deliveries()] == ["delivered"]


async def test_after_a_rotation_both_secrets_sign_for_a_day(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        answer = await registry.post(
            f"/developers/webhooks/{hooked.id}/rotate-secret", headers=hooked.owner.headers
        )
        secret = answer.json()["secret"]
        await publish(hooked)
        await send_due(registry.runtime)
        await move_clock(registry, DAY + 1)
        await publish(hooked)
        await send_due(registry.runtime)
        during, after = receiver.received
        assert secret != hooked.secret
        assert (during.is_signed_with(secret), during.is_signed_with(hooked.secret)) == (True, True)
        assert (after.is_signed_with(secret), after.is_signed_with(hooked.secret)) == (True, False)


async def begin(registry: TestRegistry) -> tuple[Job, PendingDelivery]:
    """Take the due webhooks as a process does that has not called yet."""
    (job,) = await claim(registry.runtime, WEBHOOKS, 1)
    delivery = await registry.database.query(lambda tx: store.pending_delivery_of(tx, job.key))
    assert delivery is not None
    return job, delivery


async def test_a_process_that_dies_while_sending_leaves_the_delivery_to_another(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await publish(hooked)
        _, lost = await begin(registry)
        assert await send_due(registry.runtime) == 0
        await move_clock(registry, WEBHOOKS.lease_seconds)
        assert await send_due(registry.runtime) == 1
        assert receiver.received[0].id == lost.delivery_id
        assert (await hooked.deliveries())[0]["tries"] == 1


async def test_who_has_lost_the_lease_counts_no_failure_but_a_success(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await publish(hooked)

        async def end(attempt: tuple[Job, PendingDelivery], status: int) -> dict[str, object]:
            seal, outcome = registry.runtime.seal, Outcome(status)
            await registry.database.transaction(lambda tx: record(tx, seal, *attempt, outcome))
            (shown,) = await hooked.deliveries()
            return shown

        slow = await begin(registry)
        await move_clock(registry, WEBHOOKS.lease_seconds)
        quick = await begin(registry)
        assert slow[1].delivery_id == quick[1].delivery_id
        assert (await end(slow, 500))["tries"] == 0
        assert (await end(slow, 200))["status"] == "delivered"
        (row,) = await jobs_of(registry.runtime, WEBHOOKS.name)
        assert (row["lease_until"] is None, row["fencing_token"]) == (False, quick[0].fencing_token)
        shown = await end(quick, 500)
        assert (shown["status"], shown["tries"]) == ("delivered", 1)
        assert await jobs_of(registry.runtime, WEBHOOKS.name) == []


async def test_the_end_of_a_try_to_a_deleted_webhook_is_nobodys_business(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await publish(hooked)
        attempt = await begin(registry)
        path = f"/api/v1/developers/webhooks/{hooked.id}"
        assert (await registry.http.delete(path, headers=hooked.owner.headers)).status_code == 200
        await send(registry.runtime, *attempt)
        assert len(receiver.received) == 1
        assert await send_due(registry.runtime) == 0
        assert await jobs_of(registry.runtime, WEBHOOKS.name) == []


async def test_several_processes_on_one_database_send_each_delivery_once(stage):
    async with stage.receiving() as one, stage.receiving() as other:
        registry = stage.registry
        owner = await registry.developer()
        hooks = [await hook(owner, receiver.url) for receiver in (one, other, one)]
        for number in range(10):
            assert await publish(hooks[0], number=number) == 3
        settings = registry.settings
        async with open_registry(
            settings.database_url,
            settings.data_dir,
            outgoing_allow_user_hosts=",".join(settings.outgoing_allow_user_hosts),
        ) as second:
            await at_once(*(run_due(each.runtime, WEBHOOKS) for each in (registry, second, registry, second)))
        received = [got.id for receiver in (one, other) for got in receiver.received]
        assert len(received) == len(set(received)) == 30


async def test_a_host_that_is_being_called_is_passed_over(stage):
    async with stage.receiving() as busy, stage.receiving() as free:
        registry = stage.registry
        owner = await registry.developer()
        first, _, second = [await hook(owner, receiver.url) for receiver in (busy, busy, free)]
        await publish(first)
        keys = {job.key for job in await claim(registry.runtime, WEBHOOKS, 3)}
        assert len(keys) == 2
        assert second.id in keys
        assert await claim(registry.runtime, WEBHOOKS, 3) == []


async def test_a_slow_receiver_holds_up_nobody_else(stage):
    async with stage.receiving() as slow, stage.receiving() as quick:
        registry = stage.registry
        owner = await registry.developer()
        held_up = await hook(owner, slow.url)
        await hook(owner, quick.url)
        slow.pause = 1
        for number in range(8):
            await publish(held_up, number=number)
        async with working(registry.runtime, WEBHOOKS):
            await until(lambda: len(quick.received) == 8)
            assert len(slow.received) < 8
            assert slow.listening.most_open == 1


async def test_the_deliveries_of_a_webhook_arrive_in_their_order(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await hook(hooked.owner, receiver.url)
        async with working(registry.runtime, WEBHOOKS), working(registry.runtime, WEBHOOKS):
            for number in range(12):
                await publish(hooked, number=number)
            await until(lambda: len(receiver.received) == 24)
        first = [
            got.message["data"]["number"] for got in receiver.received if got.is_signed_with(hooked.secret)
        ]
        assert first == list(range(12))
        assert receiver.listening.most_open == 1


async def test_a_webhook_that_cannot_be_sent_to_is_dead_with_the_reason_until_it_is_retried(
    stage, monkeypatch
):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await publish(hooked)
        with monkeypatch.context() as broken:
            broken.setattr(store, "_ERRAND", "SELECT missing FROM notifications_webhook WHERE id = $1")
            assert WEBHOOKS.retries.attempts_max == 10
            for _ in range(10):
                await send_due(registry.runtime)
                await move_clock(registry, DAY)
        (row,) = await jobs_of(registry.runtime, WEBHOOKS.name)
        assert (row["state"], row["attempts"], row["last_error"]) == ("dead", 10, "UndefinedColumnError")
        assert await send_due(registry.runtime) == 0
        await registry.database.transaction(lambda tx: retry_job(tx, row["id"], None))
        assert await send_due(registry.runtime) == 1
        assert [shown["status"] for shown in await hooked.deliveries()] == ["delivered"]


async def test_what_is_queued_while_the_sender_runs_is_sent_without_being_asked(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        async with working(registry.runtime, WEBHOOKS):
            await publish(hooked)
            await until(lambda: receiver.received)


async def test_a_sender_that_stops_lets_what_is_under_way_end(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.pause = 0.3
        for number in range(2):
            await publish(hooked, number=number)
        async with working(registry.runtime, WEBHOOKS):
            await until(lambda: receiver.received)
        assert sorted(shown["status"] for shown in await hooked.deliveries()) == ["delivered", "pending"]
        assert len(receiver.received) == 1


async def test_the_sender_outlives_trouble_with_the_database(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        rename = "ALTER TABLE {} RENAME TO {}".format
        await registry.database.transaction(
            lambda tx: tx.execute(rename("notifications_webhook_delivery", "away"))
        )
        async with working(registry.runtime, WEBHOOKS):
            await registry.database.transaction(lambda tx: enqueue(tx, WEBHOOKS.name, hooked.id))
            await until(registry.runtime.jobs.failing)
            await registry.database.transaction(
                lambda tx: tx.execute(rename("away", "notifications_webhook_delivery"))
            )
            await publish(hooked)
            await until(lambda: receiver.received)


async def test_a_secret_that_does_not_open_is_a_failure_like_others(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE notifications_webhook SET sealed_secret = $1", b"of another key" * 3
            )
        )
        await publish(hooked)
        assert await send_due(registry.runtime) == 1
        assert receiver.received == []
        assert (await hooked.deliveries())[0]["trouble"] == "secret_unreadable"


async def test_deliveries_of_more_than_thirty_days_ago_are_deleted(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        for number in range(3):
            await publish(hooked, number=number)
        await send_due(registry.runtime)
        await move_clock(registry, rules.DELIVERIES_KEPT_DAYS * DAY + 60)
        await publish(hooked, number=3)
        await registry.database.transaction(forget_old_deliveries)
        assert [shown["payload"]["data"] for shown in await hooked.deliveries()] == [{"number": 3}]


async def test_a_job_without_anything_to_send_ends(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.transaction(lambda tx: enqueue(tx, WEBHOOKS.name, hooked.id))
        assert await send_due(registry.runtime) == 0
        assert await jobs_of(registry.runtime, WEBHOOKS.name) == []
