"""Webhooks of the account: listed, made with a secret shown once."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from msgspec.structs import asdict

from hansa.doors.console.access import (
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
)
from hansa.foundation.plumbing.process.runtime import Config, Db, Sealing
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import Refused
from hansa.rooms import notifications

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

EVENT_TYPES = ("*", *(event.value for event in notifications.WebhookEvent))


@router.get("/account/webhooks")
async def show_webhooks(person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """The webhooks of the account, and the form of a new one."""
    return await webhooks_page(request, person, db)


@router.post("/account/webhooks")
async def create_webhook(
    sender: ProvedAct, request: Request, *, db: Db, settings: Config, seal: Sealing
) -> Response:
    """Make a webhook and show its secret."""
    person = sender.person
    try:
        asked = sender.form.read_as(notifications.WebhookIn, event_types=sender.form.values("event_types"))
        subscription = notifications.Subscription(
            asked.url, asked.event_types, asked.description, settings.outgoing_allow_user_hosts
        )

        async def made(tx: Tx) -> notifications.NewWebhookOut:
            webhook, secret = await notifications.subscribe(tx, seal, person.developer.id, subscription)
            return notifications.NewWebhookOut(**asdict(webhook), secret=secret)

        new = await act_once(request, sender, notifications.NewWebhookOut, made)
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await webhooks_page(request, person, db, refused, status=refusal.status)
    return account_page(
        request,
        "account/webhook-secret.html",
        person,
        webhook_id=new.id,
        secret=new.secret,
        former_until=None,
    )


async def webhooks_page(
    request: Request, person: SignedIn, db: Db, form: SentForm | None = None, *, status: int = 200
) -> HTMLResponse:
    """The webhooks of the account, those whose deletion may be undone, and the form of a new one."""
    developer_id = person.developer.id

    async def reading(tx: Tx) -> tuple[list[notifications.Webhook], list[notifications.Webhook]]:
        return await notifications.webhooks_of(tx, developer_id), await notifications.deleted_lately(
            tx, developer_id
        )

    webhooks, deleted = await db.read(reading)
    return account_page(
        request,
        "account/webhooks.html",
        person,
        form,
        status=status,
        webhooks=webhooks,
        deleted=deleted,
        event_types=EVENT_TYPES,
        done=request.query_params.get("done", ""),
    )
