"""Management of webhooks by the client."""

import pytest

from hansa_client.errors import Conflict, Invalid, NotFound, PreconditionFailed
from tests.client.conftest import Open
from tests.client.test_client_accounts import registered

URL = "https://receiver.example.com/hook"


async def test_a_webhook_is_created_changed_tested_and_deleted(connect: Open):
    developer = await registered(connect)
    made = await developer.webhooks.create(URL, ["payment.settled"], description="Books")
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    assert [one.id for one in (await developer.webhooks.list()).items] == [made.id]
    changed = await developer.webhooks.change(made.id, event_types=["*"])
    assert (changed.event_types, changed.description, changed.is_active) == (["*"], "Books", True)
    rotated = await developer.webhooks.rotate_secret(made.id, secret_version=made.secret_version)
    assert rotated.secret != made.secret
    with pytest.raises(PreconditionFailed):
        await developer.webhooks.rotate_secret(made.id, secret_version=made.secret_version)
    sent = await developer.webhooks.test(made.id)
    (listed,) = (await developer.webhooks.deliveries(made.id)).items
    assert (listed.id, listed.event_type) == (sent.id, "webhook.test")
    again = await developer.webhooks.resend(made.id, sent.id)
    assert (again.id, again.payload) == (sent.id, sent.payload)
    stopped = await developer.webhooks.change(made.id, is_active=False)
    assert (stopped.is_active, stopped.stopped_by) == (False, "owner")
    with pytest.raises(Conflict):
        await developer.webhooks.test(made.id)
    assert (await developer.webhooks.delete(made.id)).is_deleted
    with pytest.raises(NotFound):
        await developer.webhooks.read(made.id)
    with pytest.raises(Invalid):
        await developer.webhooks.create("http://10.0.0.1/hook")
