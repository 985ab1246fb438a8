"""`treasury`: requests of an organization."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, Key, Limit, OrganizationName, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.organizations import OrganizationRequest

app = typer.Typer(help="Read and decide the requests of an organization.", no_args_is_help=True)

RequestId = Annotated[str, typer.Argument(help="Id of the request, as `treasury requests` shows it.")]


@app.command("requests", epilog=examples("hansa-client treasury requests guild"))
def list_requests(
    organization: OrganizationName,
    *,
    limit: Limit = 50,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the requests, newest first."""
    from .opening import as_developer, show

    with as_developer(profile) as (registry, _):
        page = registry.treasury(organization).requests(limit=limit)
        show("\n".join(map(_line, page.items)) or "No requests.", page, as_json=as_json)


@app.command(
    "request",
    epilog=examples("hansa-client treasury request guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
def show_one_request(
    organization: OrganizationName,
    request: RequestId,
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show a request with its approvals."""
    from .opening import as_developer

    with as_developer(profile) as (registry, _):
        show_request(registry.treasury(organization).request(request), as_json=as_json)


@app.command(
    "approve",
    epilog=examples("hansa-client treasury approve guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
def approve(
    organization: OrganizationName,
    request: RequestId,
    *,
    code: Annotated[
        bool, typer.Option("--code", help="Ask for a code of the two-factor app, not for the password.")
    ] = False,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Approve a request of another one, by a login and the password; the last approval that it needs carries it out.

    The password is read from HANSA_CLIENT_PASSWORD or the terminal.
    """
    from .login import typed_password
    from .opening import as_developer

    with as_developer(profile) as (registry, _):
        approved = registry.treasury(organization).approve(
            request,
            password=None if code else typed_password(),
            totp_code=str(typer.prompt("Two-factor code", err=True)) if code else None,
            key=key,
        )
        show_request(approved, as_json=as_json)


@app.command(
    "reject",
    epilog=examples(
        'hansa-client treasury reject guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455 --reason "Not now."'
    ),
)
def reject(
    organization: OrganizationName,
    request: RequestId,
    *,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Reject a request, which ends it."""
    from .opening import as_developer

    with as_developer(profile) as (registry, _):
        rejected = registry.treasury(organization).reject(request, reason=reason, key=key)
        show_request(rejected, as_json=as_json)


@app.command(
    "cancel",
    epilog=examples("hansa-client treasury cancel guild 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"),
)
def cancel(
    organization: OrganizationName,
    request: RequestId,
    *,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a request, as its initiator or an owner."""
    from .opening import as_developer

    with as_developer(profile) as (registry, _):
        show_request(registry.treasury(organization).cancel(request, key=key), as_json=as_json)


def show_request(request: "OrganizationRequest", *, as_json: bool) -> None:
    """Print a request with its approvals, or as JSON."""
    from .opening import show

    lines = [
        _line(request),
        *(f"approved by developer:{one.developer_id}" for one in request.approvals),
        *filter(None, [request.reason]),
    ]
    show("\n".join(lines), request, as_json=as_json)


def _line(request: "OrganizationRequest") -> str:
    waits = f"  needs {request.approvals_needed} approvals" if request.status == "PENDING" else ""
    return f"{request.request_id}  {request.kind}  {request.status}{waits}"
