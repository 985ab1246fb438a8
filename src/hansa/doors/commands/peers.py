"""`hansa peer`: other registries as peers."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer
from msgspec.structs import asdict

from hansa.doors.commands.execution import (
    USAGE_ERROR,
    fail,
    failures_in_one_line,
    print_outcome,
    run_act,
    settings_from,
)
from hansa.doors.commands.options import AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.rooms.federation import AcceptedOut, PeerOut

UNLIMITED = "none"
FILE_MAX_BYTES = 256 * 1024

app = typer.Typer(help="Manage peers: other registries of the federation.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="Registry name, trust domain or ledger id of the peer (`hansa peer list`).")
]
NetInLimit = Annotated[
    str | None,
    typer.Option(
        help="Units that the peer may bring in more than it takes out, or `none`; by default 10000.",
        show_default=False,
    ),
]


@app.command(
    "invite", epilog=examples("hansa peer invite", "hansa peer invite --operator north --expires-in 3600")
)
def invite_peer(
    expires_in: Annotated[
        int, typer.Option(min=60, max=604_800, help="Lifetime of the invitation in seconds.")
    ] = 604_800,
    operator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For the operator registry of this name, which receives its certificates when it accepts.",
            show_default=False,
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print an invitation, by which one other registry becomes a peer."""
    from hansa.doors import peer_acts

    settings, lifetime = settings_from(data_dir=data_dir), timedelta(seconds=expires_in)
    signed = run_act(peer_acts.invite_peer(settings, lifetime, operator))
    shown = {"invitation": signed.text, "expires_at": signed.expires_at.isoformat()}
    print_outcome(signed.text, shown, as_json=as_json)


@app.command("invitations", epilog=examples("hansa peer invitations"))
def list_invitations(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the invitations that can be redeemed, newest first."""
    import json

    from hansa.doors import peer_acts

    found = run_act(peer_acts.open_invitations(settings_from(data_dir=data_dir)))
    if as_json:
        typer.echo(json.dumps([one.model_dump(mode="json") for one in found], indent=2))
        return
    lines = [
        f"{one.id} for {f'the operator {one.operator}' if one.operator else 'another registry'},"
        f" until {one.expires_at.isoformat(timespec='seconds')}"
        for one in found
    ]
    typer.echo("\n".join(lines) or "no open invitations")


@app.command(
    "revoke-invitation",
    epilog=examples("hansa peer revoke-invitation 0190f3a2-7c41-7f6e-8b9a-3d2c1b0a9f8e"),
)
def revoke_invitation(
    invitation_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id of `hansa peer invitations`.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation that nobody has redeemed."""
    from hansa.doors import peer_acts

    run_act(peer_acts.revoke_invitation(settings_from(data_dir=data_dir), invitation_id))
    shown = {"id": str(invitation_id), "status": "revoked"}
    print_outcome(f"{invitation_id}: revoked", shown, as_json=as_json)


@app.command("accept", epilog=examples("hansa peer accept INVITATION"))
def accept_invitation(
    invitation: Annotated[
        str, typer.Argument(help="What `hansa peer invite` printed at the other registry.")
    ],
    net_in_limit: NetInLimit = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Accept an invitation: both registries are peers afterwards. Repeat it after an interruption."""
    from hansa.doors import peer_acts

    settings = settings_from(data_dir=data_dir)
    peer = run_act(peer_acts.accept_invitation(settings, invitation, _limit(net_in_limit)))
    _print_peer(peer, *_reach_lines(peer, settings.federation_base_url), as_json=as_json)


@app.command("add", epilog=examples("hansa peer add --registry-url https://b.example --bundle b-bundle.json"))
def add_peer(
    registry_url: Annotated[str, typer.Option(help="Public address of the other registry.")],
    bundle: Annotated[
        Path, typer.Option(help="File with its trust bundle, in PEM or the SPIFFE form (its `hansa bundle`).")
    ],
    *,
    peer_type: Annotated[
        Literal["direct_peer", "discovered", "cloud_operator", "frame"],
        typer.Option("--type", help="What kind of peer it is."),
    ] = "direct_peer",
    name: Annotated[
        str | None, typer.Option(help="The registry name that it has to answer to.", show_default=False)
    ] = None,
    net_in_limit: NetInLimit = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Add a peer by its address and trust bundle; it is pending until the other side has added this registry."""
    from hansa.doors import peer_acts
    from hansa.rooms import federation

    settings = settings_from(data_dir=data_dir)
    with failures_in_one_line():
        new = federation.new_peer(
            settings,
            registry_url=registry_url,
            bundle=_text_of(bundle),
            peer_type=peer_type,
            name=name,
            net_in_limit=_limit(net_in_limit),
        )
    _print_peer(run_act(peer_acts.add_peer(settings, new)), as_json=as_json)


@app.command("list", epilog=examples("hansa peer list"))
def list_peers(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List every peer, by name."""
    import json

    from hansa.doors import peer_acts

    found = run_act(peer_acts.list_peers(settings_from(data_dir=data_dir)))
    if as_json:
        typer.echo(json.dumps([peer.model_dump(mode="json") for peer in found], indent=2))
    else:
        typer.echo("\n".join(map(_line_of, found)) or "no peers")


@app.command("show", epilog=examples("hansa peer show NAME"))
def show_peer(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show a peer with the steps in which its registry card was judged."""
    from hansa.doors import peer_acts

    peer = run_act(peer_acts.show_peer(settings_from(data_dir=data_dir), name))
    _print_peer(peer, as_json=as_json)


@app.command("sync", epilog=examples("hansa peer sync NAME"))
def sync_peer(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Read the documents and cards of a peer now."""
    from hansa.doors import peer_acts

    report = run_act(peer_acts.sync_peer(settings_from(data_dir=data_dir), name))
    refused = ", ".join(f"{count} {reason}" for reason, count in report.refused.items())
    print_outcome(
        f"pulled {report.pulled}, changed {report.changed}, hidden {report.hidden}, refused {refused or 0}",
        asdict(report),
        as_json=as_json,
    )


@app.command("pause", epilog=examples("hansa peer pause NAME"))
def pause_peer(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Exchange nothing new with a peer until it is resumed."""
    _change("pause", name, data_dir, as_json=as_json)


@app.command("resume", epilog=examples("hansa peer resume NAME"))
def resume_peer(name: Name, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """End a pause, or approve a pending peer."""
    _change("resume", name, data_dir, as_json=as_json)


@app.command("remove", epilog=examples("hansa peer remove NAME"))
def remove_peer(
    name: Name,
    *,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Delete it although something with it is under way.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Trust a peer no longer and delete what was taken in from it."""
    from hansa.doors import peer_acts

    settings = settings_from(data_dir=data_dir)
    removed, is_gone = run_act(peer_acts.remove_peer(settings, name, abandon=abandon))
    status = "removed" if is_gone else "removing"
    print_outcome(f"{removed}: {status}", {"name": removed, "status": status}, as_json=as_json)


@app.command("certificate", epilog=examples("hansa peer certificate --out /etc/nginx/hansa --days 30"))
def issue_proxy_certificate(
    out: Annotated[Path, typer.Option(help="Directory for registry.pem, registry-key.pem and bundle.pem.")],
    days: Annotated[int, typer.Option(help="Validity of the certificate in days.", min=1, max=365)] = 30,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write the certificate of this registry for a proxy that ends mutual TLS; renew it before its end."""
    from hansa.doors import peer_acts
    from hansa.doors.credential_output import require_writable, write_credentials

    settings = settings_from(data_dir=data_dir)
    try:
        require_writable(out)
        svid = run_act(peer_acts.proxy_certificate(settings, timedelta(days=days)))
        files = write_credentials("registry", svid, out)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}")
    shown = {"spiffe_id": svid.spiffe_id, "expires_at": svid.expires_at.isoformat()} | {
        member: str(file) for member, file in files.items()
    }
    sentence = "{spiffe_id} until {expires_at}: {certificate}, {key}, {bundle}".format(**shown)
    print_outcome(sentence, shown, as_json=as_json)


def _change(act: Literal["pause", "resume"], name: str, data_dir: Path | None, *, as_json: bool) -> None:
    from hansa.doors import peer_acts

    peer = run_act(peer_acts.change_peer(settings_from(data_dir=data_dir), act, name))
    _print_peer(peer, as_json=as_json)


def _reach_lines(accepted: "AcceptedOut", own_address: str | None) -> list[str]:
    """Return the lines on the peer's outcome when it read this registry."""
    if accepted.reaches_us is False:
        address = f"{accepted.name} cannot reach this registry at {own_address}"
        return [f"  {address}: {accepted.trouble_of_peer}. Open the port to it; it tries again by itself."]
    if accepted.trouble_of_peer:
        return [f"  {accepted.name} refuses a document of this registry: {accepted.trouble_of_peer}."]
    return [f"  {accepted.name} reaches this registry"] if accepted.reaches_us else []


def _print_peer(peer: "PeerOut", *more: str, as_json: bool) -> None:
    steps = [
        f"  {verdict.step}: {'ok' if verdict.ok else 'refused'}, {verdict.reason}"
        for verdict in peer.card_verdicts
    ]
    print_outcome("\n".join([_line_of(peer), *steps, *more]), peer.model_dump(mode="json"), as_json=as_json)


def _line_of(peer: "PeerOut") -> str:
    error = f", {peer.trouble}" if peer.trouble else ""
    status = "paused" if peer.paused_at else peer.status
    return f"{peer.name} {peer.trust_domain} {peer.registry_url}: {status}, {peer.approval}{error}"


def _limit(text: str | None) -> int | None:
    from hansa.foundation.values.money import NotAnAmount, parse_amount
    from hansa.rooms import federation

    if text == UNLIMITED:
        return None
    try:
        return federation.NET_IN_LIMIT_DEFAULT if text is None else parse_amount(text)
    except NotAnAmount as error:
        fail(f"--net-in-limit {text!r} is invalid: {error}, or `{UNLIMITED}`.", USAGE_ERROR)


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            raw = opened.read(FILE_MAX_BYTES + 1)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}", USAGE_ERROR)
    return raw.decode(errors="replace")
