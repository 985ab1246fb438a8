"""A delivery is sent at least once, with the same id and bytes, by whichever process lives; receivers that fail are spared."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from hansa.foundation.plumbing.periodic_tasks import PeriodicTask, run_periodic_tasks
from hansa.rooms.notifications.webhooks import (
    WebhookEvent,
    enqueue_webhook,
    forget_old_deliveries,
    rules,
    send_due,
    store,
)
from hansa.rooms.notifications.webhooks.rules import Outcome
from hansa.rooms.notifications.webhooks.sending import claim, record, send
from tests.operation.registry_process import until
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry, at_once, open_registry, text_of
from tests.rooms.notifications.webhooks.receiver import (
    Hook,
    Receiver,
    Stage,
    hook,
    move_clock,
    open_stage,
)

DAY = 24 * 3600
PERIODIC_TASKS = [PeriodicTask("webhooks", 0.05, send_due)]


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
    await opened.registry.database.act(lambda tx: tx.execute("DELETE FROM notifications_webhook"))


async def letters_to(owner: TestDeveloper) -> list[str]:
    """What was mailed to the owner."""
    return [text_of(letter) for letter in await owner.registry.outbox() if letter["To"] == owner.email]


async def tell(hooked: Hook, **data) -> int:
    """Something happens to the owner's agents."""
    registry = hooked.owner.registry
    profile = await registry.get("/auth/profile", headers=hooked.owner.headers)
    return await registry.database.act(
        lambda tx: enqueue_webhook(tx, profile.json()["id"], WebhookEvent.AGENT_SUSPENDED, data)
    )


async def started(stage: Stage, receiver: Receiver) -> tuple[TestRegistry, Hook]:
    registry = stage.registry
    return registry, await hook(await registry.developer(), receiver.url)


async def test_a_delivery_is_sent_once_signed_and_shown_as_delivered(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        assert await tell(hooked, did="did:hansa:x", soft=False) == 1
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


async def test_what_is_rolled_back_is_not_told(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)

        async def fail(tx) -> None:
            owner = await tx.fetchval("SELECT developer_id FROM notifications_webhook")
            await enqueue_webhook(tx, owner, WebhookEvent.AGENT_SUSPENDED, {})
            raise ValueError

        with pytest.raises(ValueError):
            await registry.database.act(fail)
        assert await send_due(registry.runtime) == 0
        assert await hooked.deliveries() == []


async def test_only_those_who_asked_for_it_are_told(stage):
    async with stage.receiving() as receiver:
        registry = stage.registry
        owner, other = await registry.developer(), await registry.developer()
        everything = await hook(owner, receiver.url)
        asked = await hook(owner, receiver.url, "agent.suspended", "agent.revoked")
        elsewhere = await hook(owner, receiver.url, "agent.onboarded")
        stranger = await hook(other, receiver.url)
        assert await tell(everything) == 2
        assert [len(await hooked.deliveries()) for hooked in (everything, asked, elsewhere, stranger)] == [
            *(1, 1, 0, 0)
        ]


async def test_a_failed_delivery_is_tried_eight_times_over_about_a_day_with_the_same_id_and_bytes(
    stage,
):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await tell(hooked, did="x")
        waited = 0.0
        for tries in range(1, 9):
            assert await send_due(registry.runtime) == 1
            assert len(receiver.received) == tries
            (shown,) = await hooked.deliveries()
            assert (shown["tries"], shown["answered_status"]) == (tries, 500)
            assert await send_due(registry.runtime) == 0
            if tries < 8:
                assert shown["status"] == "pending"
                pause = await registry.database.look(
                    lambda tx: tx.fetchval(
                        "SELECT extract(epoch FROM due_at - clock_timestamp())::float FROM notifications_webhook"
                    )
                )
                waited += pause
                await move_clock(registry, pause)
        assert shown["status"] == "failed"
        assert 0.8 * DAY < waited < 1.2 * DAY
        assert len({(got.id, got.body) for got in receiver.received}) == 1
        assert all(got.is_signed_with(hooked.secret) for got in receiver.received)
        assert (await hooked.read())["consecutive_failures"] == 8


async def test_a_receiver_that_fails_is_left_alone_for_everything_else_there_is_to_tell(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 503
        for number in range(5):
            await tell(hooked, number=number)
        assert await send_due(registry.runtime) == 1
        await tell(hooked, number=5)
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
        await tell(hooked, number=1)
        for _ in range(4):
            await send_due(registry.runtime)
            await move_clock(registry, 2000)
        receiver.status = 200
        await tell(hooked, number=2)
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
        await tell(hooked)
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
        await tell(hooked)
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        assert (shown["status"], shown["trouble"], shown["answered_status"]) == ("pending", "timeout", None)


async def test_an_address_that_turned_private_is_not_connected_to(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.act(
            lambda tx: tx.execute(
                "UPDATE notifications_webhook SET url = $1", f"https://127.0.0.2:{receiver.listening.port}/"
            )
        )
        await tell(hooked)
        await send_due(registry.runtime)
        (shown,) = await hooked.deliveries()
        assert (shown["status"], shown["trouble"]) == ("pending", "internal_host")
        assert receiver.listening.connections == 0


async def test_after_twenty_failures_in_a_row_the_webhook_stops_and_its_owner_is_told(stage):
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
        assert await tell(failing) == 0

        (text,) = await letters_to(owner)
        assert failing.id in text
        # The rest of an address may be a secret of the receiver.
        assert broken.place in text
        assert broken.url not in text
        assert sound.types == ["webhook.retry_exhausted"]
        told = sound.received[0].message["data"]
        assert told == {"webhook_id": failing.id, "stopped_by": "failures", "consecutive_failures": 20}

        broken.status = 200
        again = await failing.change()
        assert (again["is_active"], again["stopped_by"], again["consecutive_failures"]) == (True, None, 0)
        assert await tell(failing) == 1
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
        await tell(hooked, number=1)
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
        await tell(hooked)
        await send_due(registry.runtime)
        stopped = await hooked.read()
        assert (stopped["is_active"], stopped["stopped_by"]) == (False, "gone")
        assert len(await letters_to(hooked.owner)) == 1


async def test_a_test_is_sent_before_what_waits_and_is_tried_once(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.status = 500
        await tell(hooked)
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
        await tell(hooked, did="x")
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
        await tell(hooked)
        await send_due(registry.runtime)
        await move_clock(registry, DAY + 1)
        await tell(hooked)
        await send_due(registry.runtime)
        during, after = receiver.received
        assert secret != hooked.secret
        assert (during.is_signed_with(secret), during.is_signed_with(hooked.secret)) == (True, True)
        assert (after.is_signed_with(secret), after.is_signed_with(hooked.secret)) == (True, False)


async def test_a_process_that_dies_while_sending_leaves_the_delivery_to_another(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await tell(hooked)
        lost = await registry.database.act(lambda tx: claim(tx, []))
        assert lost is not None
        assert await send_due(registry.runtime) == 0
        await move_clock(registry, store.LEASE_SECONDS)
        assert await send_due(registry.runtime) == 1
        assert receiver.received[0].id == lost.delivery_id
        assert (await hooked.deliveries())[0]["tries"] == 1


async def lease_of(hooked: Hook) -> UUID | None:
    return await hooked.owner.registry.database.look(
        lambda tx: tx.fetchval("SELECT lease FROM notifications_webhook WHERE id = $1", hooked.id)
    )


async def test_who_has_lost_the_lease_counts_no_failure_but_a_success(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await tell(hooked)
        slow = await registry.database.act(lambda tx: claim(tx, []))
        await move_clock(registry, store.LEASE_SECONDS)
        quick = await registry.database.act(lambda tx: claim(tx, []))
        assert slow.delivery_id == quick.delivery_id
        await registry.database.act(lambda tx: record(tx, registry.runtime.seal, slow, Outcome(500)))
        assert (await hooked.deliveries())[0]["tries"] == 0
        await registry.database.act(lambda tx: record(tx, registry.runtime.seal, slow, Outcome(200)))
        assert (await hooked.deliveries())[0]["status"] == "delivered"
        assert await lease_of(hooked) == quick.lease
        await registry.database.act(lambda tx: record(tx, registry.runtime.seal, quick, Outcome(500)))
        (shown,) = await hooked.deliveries()
        assert (shown["status"], shown["tries"]) == ("delivered", 1)


async def test_the_end_of_a_try_to_a_deleted_webhook_is_nobodys_business(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await tell(hooked)
        errand = await registry.database.act(lambda tx: claim(tx, []))
        path = f"/api/v1/developers/webhooks/{hooked.id}"
        assert (await registry.http.delete(path, headers=hooked.owner.headers)).status_code == 200
        await send(registry.runtime, errand)
        assert len(receiver.received) == 1
        assert await send_due(registry.runtime) == 0


async def test_several_processes_on_one_database_send_each_delivery_once(stage):
    async with stage.receiving() as one, stage.receiving() as other:
        registry = stage.registry
        owner = await registry.developer()
        hooks = [await hook(owner, receiver.url) for receiver in (one, other, one)]
        for number in range(10):
            assert await tell(hooks[0], number=number) == 3
        settings = registry.settings
        async with open_registry(
            settings.database_url,
            settings.data_dir,
            outgoing_allow_hosts=",".join(settings.outgoing_allow_hosts),
        ) as second:
            counts = await at_once(*(send_due(each.runtime) for each in (registry, second, registry, second)))
        assert sum(counts) == 30
        received = [got.id for receiver in (one, other) for got in receiver.received]
        assert len(received) == len(set(received)) == 30


async def test_a_host_that_is_being_called_is_passed_over(stage):
    async with stage.receiving() as busy, stage.receiving() as free:
        registry = stage.registry
        owner = await registry.developer()
        first, second = [await hook(owner, receiver.url) for receiver in (busy, free)]
        await tell(first)
        errand = await registry.database.act(lambda tx: claim(tx, [busy.place]))
        assert errand.webhook_id == second.id
        assert await registry.database.act(lambda tx: claim(tx, [busy.place])) is None


async def test_a_slow_receiver_holds_up_nobody_else(stage):
    async with stage.receiving() as slow, stage.receiving() as quick:
        registry = stage.registry
        owner = await registry.developer()
        held_up = await hook(owner, slow.url)
        await hook(owner, quick.url)
        slow.pause = 1
        for number in range(8):
            await tell(held_up, number=number)
        sending = asyncio.create_task(run_periodic_tasks(registry.runtime, PERIODIC_TASKS))
        await until(lambda: len(quick.received) == 8)
        assert len(slow.received) < 8
        assert slow.listening.most_open == 1
        sending.cancel()
        await asyncio.wait([sending])


async def test_what_is_queued_while_the_sender_runs_is_sent_without_being_asked(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        running = asyncio.create_task(run_periodic_tasks(registry.runtime, PERIODIC_TASKS))
        await tell(hooked)
        await until(lambda: receiver.received)
        running.cancel()
        await asyncio.wait([running])


async def test_who_is_told_to_stop_lets_what_is_under_way_end(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        receiver.pause = 0.3
        for number in range(2):
            await tell(hooked, number=number)
        running = asyncio.create_task(run_periodic_tasks(registry.runtime, PERIODIC_TASKS))
        await until(lambda: receiver.received)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert sorted(shown["status"] for shown in await hooked.deliveries()) == ["delivered", "pending"]
        assert len(receiver.received) == 1


async def test_the_sender_outlives_trouble_with_the_database(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        rename = "ALTER TABLE {} RENAME TO {}".format
        await registry.database.act(lambda tx: tx.execute(rename("notifications_webhook_delivery", "away")))
        running = asyncio.create_task(run_periodic_tasks(registry.runtime, PERIODIC_TASKS))
        await registry.database.act(lambda tx: tx.execute("UPDATE notifications_webhook SET due_at = now()"))
        await asyncio.sleep(0.2)
        await registry.database.act(lambda tx: tx.execute(rename("away", "notifications_webhook_delivery")))
        await tell(hooked)
        await until(lambda: receiver.received)
        running.cancel()
        await asyncio.wait([running])


async def test_a_secret_that_does_not_open_is_a_failure_like_others(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.act(
            lambda tx: tx.execute(
                "UPDATE notifications_webhook SET sealed_secret = $1", b"of another key" * 3
            )
        )
        await tell(hooked)
        assert await send_due(registry.runtime) == 1
        assert receiver.received == []
        assert (await hooked.deliveries())[0]["trouble"] == "secret_unreadable"


async def test_deliveries_of_more_than_thirty_days_ago_are_deleted(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        for number in range(3):
            await tell(hooked, number=number)
        await send_due(registry.runtime)
        await move_clock(registry, rules.DELIVERIES_KEPT_DAYS * DAY + 60)
        await tell(hooked, number=3)
        await registry.database.act(forget_old_deliveries)
        assert [shown["payload"]["data"] for shown in await hooked.deliveries()] == [{"number": 3}]


async def test_a_claim_of_an_empty_queue_gives_the_lease_back(stage):
    async with stage.receiving() as receiver:
        registry, hooked = await started(stage, receiver)
        await registry.database.act(lambda tx: tx.execute("UPDATE notifications_webhook SET due_at = now()"))
        assert await registry.database.act(lambda tx: claim(tx, [])) is None
        lease, due_at = await registry.database.look(
            lambda tx: tx.fetchrow("SELECT lease, due_at FROM notifications_webhook WHERE id = $1", hooked.id)
        )
        assert (lease, due_at) == (None, None)
        assert isinstance((await _claimed(registry, hooked)).lease, UUID)


async def _claimed(registry: TestRegistry, hooked: Hook) -> store.Errand:
    await tell(hooked)
    errand = await registry.database.act(lambda tx: claim(tx, []))
    assert errand is not None
    return errand
