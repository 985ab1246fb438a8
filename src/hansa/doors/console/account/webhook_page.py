"""One webhook: its deliveries, a test, resending, a new secret, its end. That of another account is unknown."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from msgspec.structs import replace

from hansa.doors.console.access import (
    Act,
    Acting,
    ProvedAct,
    SentForm,
    SignedIn,
    SignedInPerson,
    account_page,
    act_once,
    see_other,
)
from hansa.foundation.plumbing.process.runtime import Db, Sealing, runtime_of
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.entity_tags import tag_of
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import admit, within_read_limit
from hansa.foundation.values.errors import NotFound, Refused
from hansa.rooms import notifications

from .webhooks import EVENT_TYPES, webhooks_page

router = APIRouter(
    prefix="/account/webhooks/{webhook_id}",
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

DELIVERIES_SHOWN = 100


@router.get("")
async def show_webhook(webhook_id: str, person: SignedInPerson, request: Request, db: Db) -> HTMLResponse:
    """A webhook with its deliveries."""
    return await _webhook_page(request, person, db, webhook_id)


@router.post("/test")
async def send_test(webhook_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Send a test now."""
    developer_id = sender.person.developer.id

    async def sent(tx: Tx) -> notifications.DeliveryOut:
        return notifications.DeliveryOut.of(await notifications.send_test(tx, developer_id, webhook_id))

    try:
        await admit(db, notifications.SENT_ON_REQUEST, str(developer_id))
        await act_once(request, sender, notifications.DeliveryOut, sent)
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    return see_other(f"/account/webhooks/{webhook_id}?done=sent")


@router.post("/deliveries/{delivery_id}/resend")
async def resend(webhook_id: str, delivery_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Send a delivery again."""
    developer_id = sender.person.developer.id

    async def sent(tx: Tx) -> notifications.DeliveryOut:
        return notifications.DeliveryOut.of(
            await notifications.resend(tx, developer_id, webhook_id, delivery_id)
        )

    try:
        await admit(db, notifications.SENT_ON_REQUEST, str(developer_id))
        await act_once(request, sender, notifications.DeliveryOut, sent)
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    return see_other(f"/account/webhooks/{webhook_id}?done=sent")


@router.post("/rotate-secret")
async def rotate_secret(
    webhook_id: str, sender: ProvedAct, request: Request, db: Db, seal: Sealing
) -> Response:
    """Make a new secret and show it; for a day deliveries are signed with the former one too."""
    developer_id, seen = sender.person.developer.id, tag_of(sender.form.value("version"))

    async def rotated(tx: Tx) -> notifications.RotatedSecretOut:
        secret, until = await notifications.rotate_secret(tx, seal, developer_id, webhook_id, seen)
        return notifications.RotatedSecretOut(id=webhook_id, secret=secret, former_secret_until=until)

    try:
        new = await act_once(request, sender, notifications.RotatedSecretOut, rotated)
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    return account_page(
        request,
        "account/webhook-secret.html",
        sender.person,
        webhook_id=webhook_id,
        secret=new.secret,
        former_until=new.former_secret_until,
    )


@router.post("/change")
async def change(webhook_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Change the address, the events and the description; it stays active or stopped."""
    try:
        asked = sender.form.read_as(notifications.WebhookIn, event_types=sender.form.values("event_types"))
        await _change(
            request,
            sender,
            webhook_id,
            url=asked.url,
            event_types=asked.event_types,
            description=asked.description,
        )
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    return see_other(f"/account/webhooks/{webhook_id}?done=changed")


@router.post("/activate")
async def activate(webhook_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Activate a webhook that was stopped, with its waiting deliveries."""
    return await _switch(request, sender, db, webhook_id, is_active=True)


@router.post("/stop")
async def stop(webhook_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Stop a webhook; events in the meantime are not sent."""
    return await _switch(request, sender, db, webhook_id, is_active=False)


@router.post("/delete")
async def delete(webhook_id: str, sender: Act, db: Db) -> Response:
    """Delete a webhook with its deliveries; one that is gone already is no trouble."""
    try:
        await db.transaction(lambda tx: notifications.unsubscribe(tx, sender.person.developer.id, webhook_id))
    except NotFound:
        return see_other("/account/webhooks?done=gone")
    return see_other("/account/webhooks?done=deleted")


@router.post("/restore")
async def restore(webhook_id: str, sender: Act, request: Request, db: Db) -> Response:
    """Undo the deletion of a webhook, in the seconds after it."""
    developer_id = sender.person.developer.id
    try:
        is_restored = await db.transaction(lambda tx: notifications.resubscribe(tx, developer_id, webhook_id))
    except Refused as refusal:
        refused = sender.form.refused(refusal)
        return await webhooks_page(request, sender.person, db, refused, status=refusal.status)
    return see_other(f"/account/webhooks?done={'restored' if is_restored else 'late'}")


async def _switch(request: Request, sender: Acting, db: Db, webhook_id: str, *, is_active: bool) -> Response:
    try:
        await _change(request, sender, webhook_id, is_active=is_active)
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    done = "activated" if is_active else "stopped"
    return see_other(f"/account/webhooks/{webhook_id}?done={done}")


async def _change(request: Request, sender: Acting, webhook_id: str, **members: Any) -> None:
    """Raises: WebhookUnknown, HostRefused."""
    runtime, developer_id = runtime_of(request), sender.person.developer.id

    async def changed(tx: Tx) -> None:
        webhook = await notifications.lock_webhook(tx, developer_id, webhook_id)
        allowed = runtime.settings.outgoing_allow_user_hosts
        await notifications.change_webhook(tx, developer_id, replace(webhook, **members), allowed=allowed)

    await runtime.database.transaction(changed)


async def _refused(
    request: Request, sender: Acting, db: Db, webhook_id: str, refusal: Refused
) -> HTMLResponse:
    refused = sender.form.refused(refusal)
    return await _webhook_page(request, sender.person, db, webhook_id, refused, status=refusal.status)


async def _webhook_page(
    request: Request,
    person: SignedIn,
    db: Db,
    webhook_id: str,
    form: SentForm | None = None,
    *,
    status: int = 200,
) -> HTMLResponse:
    """Raises: WebhookUnknown."""
    developer_id = person.developer.id
    webhook = await db.read(lambda tx: notifications.find_webhook(tx, developer_id, webhook_id))
    deliveries, total = await db.read(
        lambda tx: notifications.deliveries_of(
            tx, developer_id, webhook_id, status=None, limit=DELIVERIES_SHOWN, offset=0
        )
    )
    return account_page(
        request,
        "account/webhook.html",
        person,
        form,
        status=status,
        webhook=webhook,
        deliveries=deliveries,
        total=total,
        event_types=EVENT_TYPES,
        done=request.query_params.get("done", ""),
    )
