"""Webhooks over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from msgspec.structs import asdict, replace

from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.bodies import BodyInvalid, GuardedRoute
from hansa.foundation.plumbing.web.caller import Developer, developer_acting, developer_holding
from hansa.foundation.plumbing.web.entity_tags import IfVersion, PreconditionFailed
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import (
    HostRefused,
    Invalid,
    ReplacedMeanwhile,
    TooManyRequests,
    Unauthorized,
)

from . import deliveries, subscribing
from .errors import DeliveryUnknown, TooManyWebhooks, WebhookStopped, WebhookUnknown
from .records import Webhook
from .schemas import (
    DeletedOut,
    DeliveriesQuery,
    DeliveryOut,
    DeliveryPage,
    NewWebhookOut,
    PageQuery,
    RotatedSecretOut,
    WebhookChangeIn,
    WebhookIn,
    WebhookOut,
    WebhookPage,
)

router = APIRouter(prefix="/developers/webhooks", tags=["webhooks"], route_class=GuardedRoute)

Owner = Annotated[Developer, developer_holding("webhooks:manage")]
ActingOwner = Annotated[Developer, developer_acting("webhooks:manage")]
Id = Annotated[str, Path(max_length=64)]

# What an owner asks to be sent at once, so that nobody is called by us more often than that at somebody's whim.
SENT_ON_REQUEST = Limit("webhook-sent-on-request", 30)


@router.post(
    "",
    status_code=201,
    responses=problems(Unauthorized, TooManyWebhooks, Invalid, BodyInvalid, HostRefused),
)
async def create_webhook(
    body: WebhookIn, developer: ActingOwner, db: Db, config: Config, seal: Sealing
) -> NewWebhookOut:
    """Create a webhook. The secret is shown only once."""
    subscription = subscribing.Subscription(
        body.url, body.event_types, body.description, config.outgoing_allow_user_hosts
    )
    webhook, secret = await db.transaction(
        lambda tx: subscribing.subscribe(tx, seal, developer.id, subscription)
    )
    return NewWebhookOut(**asdict(webhook), secret=secret)


@router.get("", responses=problems(Unauthorized, Invalid))
async def list_webhooks(developer: Owner, query: Annotated[PageQuery, Query()], db: Db) -> WebhookPage:
    """Own webhooks, oldest first."""
    webhooks = await db.read(lambda tx: subscribing.webhooks_of(tx, developer.id))
    return WebhookPage.of(webhooks, query)


@router.get("/{webhook_id}", responses=problems(Unauthorized, WebhookUnknown, Invalid))
async def read_webhook(webhook_id: Id, developer: Owner, db: Db) -> WebhookOut:
    """One own webhook."""
    return WebhookOut.of(await db.read(lambda tx: subscribing.find(tx, developer.id, webhook_id)))


@router.put(
    "/{webhook_id}",
    responses=problems(Unauthorized, WebhookUnknown, Invalid, BodyInvalid, HostRefused),
)
async def change_webhook(
    webhook_id: Id, body: WebhookChangeIn, developer: ActingOwner, db: Db, config: Config
) -> WebhookOut:
    """Change a webhook, and activate it unless `is_active` is false."""

    async def change(tx: Tx) -> Webhook:
        webhook = await subscribing.lock(tx, developer.id, webhook_id)
        changed = replace(webhook, **body.changes())
        return await subscribing.change(tx, developer.id, changed, allowed=config.outgoing_allow_user_hosts)

    return WebhookOut.of(await db.transaction(change))


@router.delete("/{webhook_id}", responses=problems(Unauthorized, WebhookUnknown, Invalid))
async def delete_webhook(webhook_id: Id, developer: ActingOwner, db: Db) -> DeletedOut:
    """Delete a webhook with its deliveries."""
    await db.transaction(lambda tx: subscribing.unsubscribe(tx, developer.id, webhook_id))
    return DeletedOut(id=webhook_id)


@router.post(
    "/{webhook_id}/rotate-secret",
    operation_id="rotate_webhook_secret",
    responses=problems(Unauthorized, WebhookUnknown, ReplacedMeanwhile, PreconditionFailed, Invalid),
)
async def rotate_secret(
    webhook_id: Id, developer: ActingOwner, db: Db, seal: Sealing, if_match: IfVersion
) -> RotatedSecretOut:
    """Create a new secret, shown only once. For one day deliveries are also signed with the former one.

    If-Match with the `secret_version` of the webhook refuses a request that was sent before another one replaced the secret.
    """
    secret, until = await db.transaction(
        lambda tx: subscribing.rotate_secret(tx, seal, developer.id, webhook_id, if_match)
    )
    return RotatedSecretOut(id=webhook_id, secret=secret, former_secret_until=until)


@router.post(
    "/{webhook_id}/test",
    responses=problems(Unauthorized, WebhookUnknown, WebhookStopped, Invalid, TooManyRequests),
)
async def test_webhook(webhook_id: Id, developer: ActingOwner, db: Db) -> DeliveryOut:
    """Send a `webhook.test` now, with one attempt; the result is among the deliveries."""
    await admit(db, SENT_ON_REQUEST, str(developer.id))
    return DeliveryOut.of(await db.transaction(lambda tx: deliveries.send_test(tx, developer.id, webhook_id)))


@router.get("/{webhook_id}/deliveries", responses=problems(Unauthorized, WebhookUnknown, Invalid))
async def list_deliveries(
    webhook_id: Id, developer: Owner, query: Annotated[DeliveriesQuery, Query()], db: Db
) -> DeliveryPage:
    """Deliveries, sent and pending, newest first; kept for 30 days."""
    deliveries, total = await db.read(
        lambda tx: subscribing.deliveries_of(tx, developer.id, webhook_id, **query.model_dump())
    )
    return DeliveryPage.of(deliveries, total, query)


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/resend",
    responses=problems(
        Unauthorized,
        WebhookUnknown,
        DeliveryUnknown,
        WebhookStopped,
        Invalid,
        TooManyRequests,
    ),
)
async def resend_delivery(webhook_id: Id, delivery_id: Id, developer: ActingOwner, db: Db) -> DeliveryOut:
    """Send a delivery again with the same id and content, and a new series of attempts."""
    await admit(db, SENT_ON_REQUEST, str(developer.id))
    delivery = await db.transaction(lambda tx: deliveries.resend(tx, developer.id, webhook_id, delivery_id))
    return DeliveryOut.of(delivery)
