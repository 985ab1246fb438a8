"""Making, changing and ending webhooks.

Reads of webhooks for their owner.

Secrets and signatures of deliveries, by the Standard Webhooks specification.
"""

import base64
import hmac
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.keys.seal import Seal, SealedColumn
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.job_health import Waiting
from hansa.foundation.plumbing.web.entity_tags import require_version, version_of
from hansa.foundation.values.errors import ReplacedMeanwhile
from hansa.foundation.values.secrets import new_name
from hansa.foundation.values.web_address import require_callable
from hansa.rooms import people

from . import rules, store
from .errors import TooManyWebhooks, WebhookUnknown
from .queue import schedule, unschedule
from .records import Delivery, Webhook

ID_CHARACTERS = 24
PREFIX = "whsec_"
SECRET_BYTES = 32


class Subscription(msgspec.Struct, frozen=True):
    """Events that an owner wants to receive, and their address; `allowed` are the `host:port` pairs of the operator."""

    url: str
    event_types: Sequence[str]
    description: str | None
    allowed: Collection[str]


async def subscribe(tx: Tx, seal: Seal, developer_id: int, subscription: Subscription) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown this once.

    Raises: HostRefused, TooManyWebhooks.
    """
    address = require_callable(subscription.url, subscription.allowed, field="url")
    webhook_id, secret = new_name("whk_", ID_CHARACTERS), new_secret()
    await people.lock_developer(tx, developer_id)
    made = await store.add(
        tx,
        webhook_id,
        developer_id,
        url=address.url,
        place=address.place,
        event_types=subscription.event_types,
        description=subscription.description,
        sealed_secret=seal.close(secret.encode(), purpose_of(webhook_id)),
    )
    if made is None:
        raise TooManyWebhooks
    return made, secret


async def find(tx: Tx, developer_id: int, webhook_id: str) -> Webhook:
    """Raises: WebhookUnknown."""
    webhook = await store.find(tx, developer_id, webhook_id)
    if webhook is None:
        raise WebhookUnknown
    return webhook


async def change(tx: Tx, developer_id: int, webhook: Webhook, *, allowed: Collection[str]) -> Webhook:
    """Write a webhook that `lock` gave and the owner changed. An active one begins afresh, with its waiting deliveries.

    Raises: HostRefused.
    """
    address = require_callable(webhook.url, allowed, field="url")
    if webhook.is_active and webhook.stopped_by:
        await store.hasten(tx, webhook.id)
    changed = await store.change(tx, developer_id, replace(webhook, url=address.url), address.place)
    await schedule(tx, [webhook.id])
    return changed


async def lock(tx: Tx, developer_id: int, webhook_id: str) -> Webhook:
    """Raises: WebhookUnknown."""
    webhook = await store.lock(tx, developer_id, webhook_id)
    if webhook is None:
        raise WebhookUnknown
    return webhook


async def rotate_secret(
    tx: Tx, seal: Seal, developer_id: int, webhook_id: str, if_match: str | None = None
) -> tuple[str, datetime]:
    """A new secret, shown this once, and until when the former one signs too.

    Of two at once one is refused: the former secret of the other would be one that no receiver has. With `if_match` the
    secret must be the one whose version the caller has read.

    Raises: WebhookUnknown, ReplacedMeanwhile, PreconditionFailed.
    """
    former = await store.sealed_secret_of(tx, developer_id, webhook_id)
    if former is None:
        raise WebhookUnknown
    require_version(if_match, version_of(former))
    secret = new_secret()
    sealed = seal.close(secret.encode(), purpose_of(webhook_id))
    until = await store.rotate(tx, developer_id, webhook_id, former, sealed, hours=rules.FORMER_SECRET_HOURS)
    if until is None:
        raise ReplacedMeanwhile
    return secret, until


async def unsubscribe(tx: Tx, developer_id: int, webhook_id: str) -> None:
    """Delete the webhook with all its deliveries; `resubscribe` undoes that for a few seconds. Raises: WebhookUnknown."""
    if not await store.delete(tx, developer_id, webhook_id):
        raise WebhookUnknown
    await unschedule(tx, [webhook_id])


async def resubscribe(tx: Tx, developer_id: int, webhook_id: str) -> bool:
    """Undo the deletion of a webhook, with its waiting deliveries; False when it is too late. Raises: TooManyWebhooks."""
    await people.lock_developer(tx, developer_id)
    if await store.restore(tx, developer_id, webhook_id):
        await schedule(tx, [webhook_id])
        return True
    if any(one.id == webhook_id for one in await store.deleted_lately(tx, developer_id)):
        raise TooManyWebhooks
    return False


async def deleted_lately(tx: Tx, developer_id: int) -> list[Webhook]:
    """The developer's webhooks whose deletion may still be undone."""
    return await store.deleted_lately(tx, developer_id)


def purpose_of(webhook_id: str) -> str:
    """Return the purpose that the secrets of a webhook are sealed for."""
    return f"webhook {webhook_id}"


SEALED_SECRETS = tuple(
    SealedColumn("notifications_webhook", "id", column, purpose_of)
    for column in ("sealed_secret", "sealed_former_secret")
)


async def erase_webhooks(tx: Tx, developer_id: int) -> None:
    """Delete the webhooks of a developer whose account has ended, with their deliveries."""
    await unschedule(tx, await store.delete_all(tx, developer_id))


async def webhooks_of(tx: Tx, developer_id: int) -> list[Webhook]:
    """The developer's webhooks, oldest first."""
    return await store.webhooks_of(tx, developer_id)


async def waiting_deliveries(tx: Tx) -> Waiting:
    """The deliveries that still have a try before them."""
    return await store.waiting_deliveries(tx)


async def deliveries_of(
    tx: Tx, developer_id: int, webhook_id: str, *, status: str | None, limit: int, offset: int
) -> tuple[list[Delivery], int]:
    """A page of a webhook's deliveries, newest first, and how many there are. Raises: WebhookUnknown."""
    webhook = await find(tx, developer_id, webhook_id)
    return await store.deliveries_of(tx, webhook.id, status, limit=limit, offset=offset)


def new_secret() -> str:
    """A secret for one webhook, as its owner is shown it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(message_id: str, instant: int, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    """The headers of one try: signed at `instant`, in epoch seconds, with each of the secrets."""
    signed = f"{message_id}.{instant}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(instant),
        "webhook-signature": " ".join(_signature(key, signed) for key in keys),
    }


def _signature(key: str, signed: bytes) -> str:
    raw = base64.b64decode(key.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.digest(raw, signed, sha256)).decode()
