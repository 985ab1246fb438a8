"""`hansa service`: certificates of the operator's own services."""

from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands.execution import fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, Reason, examples

app = typer.Typer(help="Manage client certificates of the operator's services.", no_args_is_help=True)


@app.command("enrol", epilog=examples("hansa service enrol auditor --out /etc/auditor --days 30"))
def enrol_service(
    name: Annotated[str, typer.Argument(help="1 to 63 lower-case letters, digits and hyphens.")],
    out: Annotated[Path, typer.Option(help="Directory for NAME.pem, NAME-key.pem and bundle.pem.")],
    days: Annotated[int, typer.Option(help="Validity of the certificate in days.", min=1, max=365)] = 90,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue a mutual TLS certificate to a service; also works while the registry runs. Older ones stay valid."""
    from datetime import timedelta

    from hansa.doors import offline_commands
    from hansa.doors.credential_output import require_writable, write_credentials

    settings = settings_from(data_dir=data_dir)
    try:
        require_writable(out)
        enrolled = run_act(offline_commands.enrol_service(settings, name, timedelta(days=days)))
        files = write_credentials(enrolled.name, enrolled.svid, out)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}")
    shown = {
        "spiffe_id": enrolled.svid.spiffe_id,
        "expires_at": enrolled.svid.expires_at.isoformat(),
        **{member: str(file) for member, file in files.items()},
    }
    sentence = "{spiffe_id} until {expires_at}: {certificate}, {key}, {bundle}".format(**shown)
    print_outcome(sentence, shown, as_json=as_json)


@app.command("list", epilog=examples("hansa service list --json"))
def list_services(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List all certificates of services, including expired and revoked ones."""
    from hansa.doors import offline_commands

    found = run_act(offline_commands.list_services(settings_from(data_dir=data_dir)))
    shown = [
        {
            "name": one.name,
            "spiffe_id": one.spiffe_id,
            "status": one.status,
            "issued_at": one.issued_at.isoformat(),
            "expires_at": one.expires_at.isoformat(),
            "revoked_at": one.revoked_at.isoformat() if one.revoked_at else None,
        }
        for one in found
    ]
    lines = ["{name}: {status}, issued {issued_at}, until {expires_at}".format(**one) for one in shown]
    print_outcome("\n".join(lines) or "no certificates", {"certificates": shown}, as_json=as_json)


@app.command("revoke", epilog=examples('hansa service revoke auditor --reason "machine retired"'))
def revoke_service(
    name: Annotated[str, typer.Argument(help="Name of the service.")],
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Revoke all certificates of a service; the next request with one of them is refused."""
    from hansa.doors import offline_commands

    settings = settings_from(data_dir=data_dir)
    revoked = run_act(offline_commands.revoke_service(settings, name, reason or None))
    print_outcome(f"{name}: {revoked} revoked", {"name": name, "revoked": revoked}, as_json=as_json)
