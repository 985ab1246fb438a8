"""`webhook`: where the registry reports events to, by HTTP."""

from typing import TYPE_CHECKING, Annotated

import typer

from .callers import Caller, as_developer
from .options import examples

if TYPE_CHECKING:
    from hansa_client.records.webhooks import Webhook, WebhookDelivery

app = typer.Typer(help="Create, change and test webhooks of the developer.", no_args_is_help=True)

WebhookId = Annotated[str, typer.Argument(help="Id of the webhook, as `list` shows it.")]
SecretFile = Annotated[str, typer.Option(help="File to write the secret to; it must not exist.")]


@app.command(
    "create",
    epilog=examples(
        "hansa-client webhook create https://agents.example/hook --event payment.settled --secret-file secret"
    ),
)
@as_developer
def create_webhook(
    own: Caller,
    url: Annotated[str, typer.Argument(help="Public https address that receives the events.")],
    secret_file: SecretFile,
    *,
    event: Annotated[list[str] | None, typer.Option(help="Event type, once per type; none: all.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
) -> None:
    """Create a webhook. Its secret verifies what it receives and is written to a file."""
    from .opening import require_new, show, write_new

    require_new(secret_file)
    made = own.registry.webhooks.create(url, event or ["*"], description=description)
    write_new(secret_file, made.secret + "\n")
    shown = {"id": made.id, "url": made.url, "event_types": made.event_types, "secret_file": secret_file}
    show(_line(made), shown, as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client webhook list"))
@as_developer
def list_webhooks(
    own: Caller,
) -> None:
    """List the developer's webhooks."""
    from .opening import show

    page = own.registry.webhooks.list()
    show("\n".join(map(_line, page.items)) or "No webhooks.", page, as_json=own.as_json)


@app.command("show", epilog=examples("hansa-client webhook show whk_1"))
@as_developer
def show_webhook(own: Caller, webhook: WebhookId) -> None:
    """Show a webhook."""
    from .opening import show

    found = own.registry.webhooks.read(webhook)
    show(f"{_line(found)}  secret version {found.secret_version}", found, as_json=own.as_json)


@app.command("change", epilog=examples("hansa-client webhook change whk_1 --stop"))
@as_developer
def change_webhook(
    own: Caller,
    webhook: WebhookId,
    *,
    url: Annotated[str | None, typer.Option(help="The new address.")] = None,
    event: Annotated[list[str] | None, typer.Option(help="The new event types, once per type.")] = None,
    description: Annotated[str | None, typer.Option(help="The new description.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Send nothing until it is changed again.")] = False,
) -> None:
    """Change a webhook, and activate it unless it is stopped."""
    from .opening import show

    changed = own.registry.webhooks.change(
        webhook, url=url, event_types=event, description=description, is_active=not stop
    )
    show(_line(changed), changed, as_json=own.as_json)


@app.command("delete", epilog=examples("hansa-client webhook delete whk_1"))
@as_developer
def delete_webhook(own: Caller, webhook: WebhookId) -> None:
    """Delete a webhook with its deliveries."""
    from .opening import show

    deleted = own.registry.webhooks.delete(webhook)
    show(f"{deleted.id}  deleted", deleted, as_json=own.as_json)


@app.command(
    "rotate-secret",
    epilog=examples(
        "hansa-client webhook rotate-secret whk_1 --secret-version 5f0c1d --secret-file new-secret"
    ),
)
@as_developer
def rotate_webhook_secret(
    own: Caller,
    webhook: WebhookId,
    secret_file: SecretFile,
    *,
    secret_version: Annotated[
        str | None,
        typer.Option(help="Version of the secret, as `show` shows it; another secret is not replaced."),
    ] = None,
) -> None:
    """Replace the secret; for one day deliveries are also signed with the one before it."""
    from .opening import require_new, show, write_new

    require_new(secret_file)
    rotated = own.registry.webhooks.rotate_secret(webhook, secret_version=secret_version)
    write_new(secret_file, rotated.secret + "\n")
    until = rotated.former_secret_until
    shown = {"id": rotated.id, "secret_file": secret_file, "former_secret_until": until}
    show(f"{rotated.id}  the former secret signs until {until.isoformat()}", shown, as_json=own.as_json)


@app.command("test", epilog=examples("hansa-client webhook test whk_1"))
@as_developer
def send_test(own: Caller, webhook: WebhookId) -> None:
    """Send a test event now; `deliveries` shows its result."""
    from .opening import show

    sent = own.registry.webhooks.test(webhook)
    show(_delivery(sent), sent, as_json=own.as_json)


@app.command("deliveries", epilog=examples("hansa-client webhook deliveries whk_1 --status failed"))
@as_developer
def list_deliveries(
    own: Caller,
    webhook: WebhookId,
    *,
    status: Annotated[
        str | None, typer.Option(help="Only deliveries of this status: pending, delivered or failed.")
    ] = None,
) -> None:
    """List what was sent to a webhook, newest first."""
    from .opening import show

    page = own.registry.webhooks.deliveries(webhook, status=status)
    show("\n".join(map(_delivery, page.items)) or "No deliveries.", page, as_json=own.as_json)


@app.command("resend", epilog=examples("hansa-client webhook resend whk_1 msg_1"))
@as_developer
def resend_delivery(
    own: Caller,
    webhook: WebhookId,
    delivery: Annotated[str, typer.Argument(help="Id of the delivery.")],
) -> None:
    """Send a delivery again, with the same id."""
    from .opening import show

    again = own.registry.webhooks.resend(webhook, delivery)
    show(_delivery(again), again, as_json=own.as_json)


def _line(webhook: "Webhook") -> str:
    state = "active" if webhook.is_active else f"stopped by {webhook.stopped_by}"
    return f"{webhook.id}  {state}  {webhook.url}  {','.join(webhook.event_types)}"


def _delivery(delivery: "WebhookDelivery") -> str:
    answered = delivery.answered_status or delivery.trouble or ""
    return f"{delivery.id}  {delivery.status}  {delivery.event_type}  {answered}".rstrip()
