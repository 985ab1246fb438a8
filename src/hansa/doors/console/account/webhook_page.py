"""One webhook: its deliveries, a test, resending, a new secret, its end. That of another account is unknown."""

from dataclasses import replace

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

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
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.lazy_routes import LazyRoute
from hansa.foundation.plumbing.limits import admit, within_read_limit
from hansa.foundation.plumbing.runtime import Config, Db, Sealing
from hansa.foundation.values.errors import NotFound, Refused
from hansa.rooms import notifications

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

    async def rotated(tx: Tx) -> notifications.RotatedSecretOut:
        secret, until = await notifications.rotate_secret(tx, seal, sender.person.developer.id, webhook_id)
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


@router.post("/activate")
async def activate(webhook_id: str, sender: Act, request: Request, db: Db, settings: Config) -> Response:
    """Activate a webhook that was stopped, with what waits for it."""
    developer_id = sender.person.developer.id

    async def activated(tx: Tx) -> None:
        webhook = await notifications.lock_webhook(tx, developer_id, webhook_id)
        await notifications.change_webhook(
            tx, developer_id, replace(webhook, is_active=True), allowed=settings.outgoing_allow_hosts
        )

    try:
        await db.act(activated)
    except Refused as refusal:
        return await _refused(request, sender, db, webhook_id, refusal)
    return see_other(f"/account/webhooks/{webhook_id}?done=activated")


@router.post("/delete")
async def delete(webhook_id: str, sender: Act, db: Db) -> Response:
    """Delete a webhook with its deliveries; one that is gone already is no trouble."""
    try:
        await db.act(lambda tx: notifications.unsubscribe(tx, sender.person.developer.id, webhook_id))
    except NotFound:
        return see_other("/account/webhooks?done=gone")
    return see_other("/account/webhooks?done=deleted")


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
        done=request.query_params.get("done", ""),
    )
