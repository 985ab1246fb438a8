"""Making, changing and ending webhooks."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.sealed_columns import SealedColumn
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.entity_tags import require_version, version_of
from hansa.foundation.values.errors import ReplacedMeanwhile
from hansa.foundation.values.secrets import new_name
from hansa.foundation.values.web_address import require_callable
from hansa.rooms import people

from . import rules, store
from .errors import TooManyWebhooks, WebhookUnknown
from .queue import schedule, unschedule
from .records import Webhook
from .signature import new_secret

ID_CHARACTERS = 24


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
    """Delete the webhook with all its deliveries. Raises: WebhookUnknown."""
    if not await store.delete(tx, developer_id, webhook_id):
        raise WebhookUnknown
    await unschedule(tx, [webhook_id])


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
