"""`hansa licence`: licence certificates, by which registries of different trust domains form one network."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hansa.doors.commands.execution import (
    USAGE_ERROR,
    fail,
    failures_in_one_line,
    print_outcome,
    run_act,
    settings_from,
)
from hansa.doors.commands.options import AsJson, DataDir, Reason, examples

if TYPE_CHECKING:
    from hansa.rooms.federation import IssuedCertificate

FILE_MAX_BYTES = 100_000
PERPETUAL = "perpetual"

app = typer.Typer(help="Manage licence certificates of the federation.", no_args_is_help=True)

Lid = Annotated[str, typer.Argument(help="Id of the certificate (`hansa licence list`).")]


@app.command("genesis", epilog=examples("hansa licence genesis"))
def issue_genesis(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Issue the genesis certificate to this registry, once; only on an allow-listed sovereign mainframe."""
    from hansa.doors import offline_commands

    issued = run_act(offline_commands.issue_genesis(settings_from(data_dir=data_dir)))
    _print_issued(issued, as_json=as_json)


@app.command(
    "issue",
    epilog=examples(
        "hansa licence issue frame.example Frame --plan founding --key frame-key.json",
        "hansa licence issue frame.example north --plan operator-free --days 365",
    ),
)
def issue_certificate(
    trust_domain: Annotated[str, typer.Argument(help="Trust domain of the subject.")],
    name: Annotated[str, typer.Argument(help="Name of the subject.")],
    plan: Annotated[str, typer.Option(help="Plan of the licence.")],
    *,
    key: Annotated[
        Path | None,
        typer.Option(
            help="File with the licence-signing key of a frame (JWK, from its `hansa licence key --json`)."
        ),
    ] = None,
    days: Annotated[
        str | None, typer.Option(help="Term in days, or `perpetual`; by default that of the plan.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of the subject.")] = None,
    spiffe: Annotated[str | None, typer.Option(help="SPIFFE id of the subject.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue a certificate: the genesis to a frame, a frame to an operator of its trust domain."""
    from hansa.doors import offline_commands
    from hansa.rooms import federation

    subject = {"trust_domain": trust_domain, "name": name, "url": url, "spiffe": spiffe}
    members: dict[str, Any] = {"sub": subject, "plan": plan}
    if key is not None:
        members["key"] = _json_of(key)
    if days is not None:
        members["days"] = _term(days)
    with failures_in_one_line():
        request = federation.certificate_request(members)
    issued = run_act(offline_commands.issue_certificate(settings_from(data_dir=data_dir), request))
    _print_issued(issued, as_json=as_json)


@app.command("install", epilog=examples("hansa licence install licence.json"))
def install_certificate(
    file: Annotated[Path, typer.Argument(help='JSON file: {"certificate": …, "chain": […]}.')],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Install the frame certificate that the genesis issued to this registry."""
    from hansa.doors import offline_commands

    delivered = _json_of(file)
    certificate: Any = delivered.get("certificate")
    chain: Any = delivered.get("chain")
    texts = [str(one) for one in (certificate, *chain)] if isinstance(chain, list) else []
    if not texts or texts != [certificate, *chain]:
        fail(f"{file} is refused: expected the members certificate (text) and chain (texts).", USAGE_ERROR)
    settings = settings_from(data_dir=data_dir)
    own = run_act(offline_commands.install_certificate(settings, texts[0], texts[1:]))
    shown = {"hash": own.network.hash, "state": own.state}
    print_outcome("{hash}: {state}".format(**shown), shown, as_json=as_json)


@app.command("suspend", epilog=examples('hansa licence suspend LID --reason "unpaid"'))
def suspend_certificate(lid: Lid, reason: Reason, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Suspend every active certificate of the subject."""
    _change("suspend", lid, reason, data_dir, as_json=as_json)


@app.command("reinstate", epilog=examples('hansa licence reinstate LID --reason "paid"'))
def reinstate_certificate(
    lid: Lid, reason: Reason, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Reinstate what the same act suspended."""
    _change("reinstate", lid, reason, data_dir, as_json=as_json)


@app.command("revoke", epilog=examples('hansa licence revoke LID --reason "key stolen"'))
def revoke_certificate(lid: Lid, reason: Reason, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Revoke every certificate of the subject for good."""
    _change("revoke", lid, reason, data_dir, as_json=as_json)


@app.command("list", epilog=examples("hansa licence list --state active"))
def list_certificates(
    *,
    state: Annotated[
        Literal["active", "suspended", "revoked", "superseded", "expired"] | None,
        typer.Option(help="Only certificates in this state."),
    ] = None,
    sub: Annotated[str | None, typer.Option(help="Only this trust domain or name.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most certificates to list.")] = 100,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the certificates that this registry issued, newest first."""
    from hansa.doors import offline_commands
    from hansa.rooms import federation

    criteria = federation.CertificateFilter(state=state, sub=sub, limit=limit)
    settings = settings_from(data_dir=data_dir)
    found, total = run_act(offline_commands.list_certificates(settings, criteria))
    shown = [one.listed for one in found]
    lines = [
        "{lid} {type} {sub_trust_domain} {sub_name}: {state}, plan {plan}".format(**one) for one in shown
    ]
    print_outcome("\n".join(lines) or "no certificates", {"licences": shown, "total": total}, as_json=as_json)


@app.command("mine", epilog=examples("hansa licence mine"))
def show_operator_licence(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print the licence that this operator registry holds of its frame, as it was read there last."""
    from hansa.doors import offline_commands

    held = run_act(offline_commands.operator_licence(settings_from(data_dir=data_dir)))
    if held is None:
        print_outcome("no licence of a frame", {"licence": None}, as_json=as_json)
        return
    until = held.expires_at.isoformat() if held.expires_at else PERPETUAL
    line = f"{held.hash}: {held.state}, plan {held.plan}, of {held.frame}, {until}"
    print_outcome(f"{line}\n{held.reason}" if held.reason else line, {"licence": held.block}, as_json=as_json)


@app.command("key", epilog=examples("hansa licence key --json > frame-key.json"))
def licensing_key(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print the public licence-signing key of this registry."""
    from hansa.doors import offline_commands
    from hansa.foundation.values.jwk import jwk_of, thumbprint

    key = run_act(offline_commands.licensing_key(settings_from(data_dir=data_dir)))
    shown = {**jwk_of(key), "kid": thumbprint(key)}
    print_outcome("{kid}: {x}".format(**shown), shown, as_json=as_json)


def _change(
    act: Literal["suspend", "reinstate", "revoke"],
    lid: str,
    reason: str,
    data_dir: Path | None,
    *,
    as_json: bool,
) -> None:
    from hansa.doors import offline_commands
    from hansa.rooms import federation

    change = federation.CertificateAct(lid, act, reason)
    one, changed = run_act(offline_commands.change_certificate(settings_from(data_dir=data_dir), change))
    shown = {**one.listed, "changed": changed}
    print_outcome(f"{one.lid}: {one.state}, {len(changed)} certificates changed", shown, as_json=as_json)


def _print_issued(issued: "IssuedCertificate", *, as_json: bool) -> None:
    shown = {
        "certificate": issued.certificate,
        "hash": issued.hash,
        "lid": issued.lid,
        "state": issued.state,
    }
    print_outcome(f"{issued.lid}: {issued.hash}\n{issued.certificate}", shown, as_json=as_json)


def _json_of(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            members = json.loads(opened.read(FILE_MAX_BYTES + 1))
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}", USAGE_ERROR)
    except (ValueError, RecursionError):
        fail(f"{file} is refused: expected JSON of at most {FILE_MAX_BYTES} bytes.", USAGE_ERROR)
    if not isinstance(members, dict):
        fail(f"{file} is refused: expected a JSON object.", USAGE_ERROR)
    return members


def _term(days: str) -> int | None:
    if days == PERPETUAL:
        return None
    if not re.fullmatch("[1-9][0-9]{0,3}", days, re.ASCII):
        fail(f"--days {days!r} is invalid: expected 1 to 3650, or {PERPETUAL}.", USAGE_ERROR)
    return int(days)
