"""The command line."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from hansa.foundation.plumbing.settings import BadSetting, Settings, read_settings
from hansa.foundation.words.areas import ADMIN_AREAS

if TYPE_CHECKING:
    from hansa.foundation.words.money import Minor
    from hansa.rooms import ledger

app = typer.Typer(
    help="Hansa: a federated registry and ledger for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
database_app = typer.Typer(help="The registry's database.", no_args_is_help=True)
app.add_typer(database_app, name="db")
admin_app = typer.Typer(help="Those who administer the registry.", no_args_is_help=True)
app.add_typer(admin_app, name="admin")
keys_app = typer.Typer(help="The keys with which the registry signs.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")
service_app = typer.Typer(
    help="The operator's own services, known by their certificates.", no_args_is_help=True
)
app.add_typer(service_app, name="service")
verify_app = typer.Typer(
    help="Whether a registry stands behind what it is said to have signed.", no_args_is_help=True
)
app.add_typer(verify_app, name="verify")

USAGE_ERROR = 2
COLLECTED_AFTER = (50_000, 20, 20)
REASON_MAX_CHARACTERS = 2000

Answer = TypeVar("Answer")
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The registry's data directory (HANSA_DATA_DIR).", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (HANSA_HOST).", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on (PORT); 0 picks a free one.", min=0, max=65535, show_default="8000"
        ),
    ] = None,
    data_dir: DataDir = None,
    workers: Annotated[int, typer.Option(help="Serving processes.", min=1, max=64)] = 1,
) -> None:
    """Run the registry: HTTP API, console and background work."""
    settings = _settings(host=host, port=port, data_dir=data_dir)

    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    configure_logs(settings.log_level, settings.log_format)
    try:
        _run(serving.serve(settings, workers))
    except (serving.CannotListen, EmbeddedPostgresFailed, BadKey) as trouble:
        _fail(str(trouble))
    except Unavailable as trouble:
        _fail(trouble.detail)


@app.command()
def demo(
    url: Annotated[
        str | None, typer.Argument(help="A running registry; without one, a temporary one is started.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON only.")] = False,
) -> None:
    """Run the whole path against a registry; exit 0 only when the books add up."""
    import json

    import httpx2
    from rich.console import Console

    from hansa.doors.demo import DemoFailed, run_demo

    console = Console(quiet=as_json, highlight=False)
    try:
        report = asyncio.run(run_demo(url, console))
    except (DemoFailed, httpx2.InvalidURL) as trouble:
        _fail(str(trouble))
    if as_json:
        typer.echo(json.dumps(report, indent=2))


@app.command("map")
def house_map(
    write: Annotated[
        Path | None, typer.Option(help="File to write; without one, the map is printed.", show_default=False)
    ] = None,
) -> None:
    """Draw the map of the house: routes, settings, tables, events and sweeps, as Markdown."""
    from hansa.doors.house_map import draw_map

    drawn = draw_map()
    if write is None:
        typer.echo(drawn, nl=False)
        return
    try:
        write.write_text(drawn)
    except OSError as trouble:
        _fail(f"{write} cannot be written: {trouble.strerror}")


@app.command("events")
def event_schemas(
    write: Annotated[Path, typer.Option(help="Directory to write to; other schemas in it go.")],
) -> None:
    """Write the JSON Schema of every event type, one file each."""
    from hansa.foundation.events import event_types
    from hansa.foundation.events.schemas import schema_file

    wanted = {f"{kind.__name__}.json": schema_file(kind) for kind in event_types()}
    try:
        write.mkdir(parents=True, exist_ok=True)
        for name, schema in wanted.items():
            (write / name).write_text(schema)
        for file in write.glob("*.json"):
            if file.name not in wanted:
                file.unlink()
    except OSError as trouble:
        _fail(f"{write} cannot be written: {trouble.strerror}")


@app.command(hidden=True)
def serve_worker(
    *,
    listener: Annotated[int, typer.Option()],
    host: Annotated[str, typer.Option()],
    port: Annotated[int, typer.Option()],
    parent: Annotated[int, typer.Option()],
    federation_listener: Annotated[int | None, typer.Option()] = None,
    data_dir: DataDir = None,
) -> None:
    """One serving process of several, on a socket and a database that its parent opened."""
    from hansa.doors import serve as serving
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.words.errors import Unavailable

    settings = _settings(host=host, port=port, data_dir=data_dir)
    configure_logs(settings.log_level, settings.log_format)
    assert settings.database_url
    shared = serving.Listeners(
        public=socket.socket(fileno=listener),
        federation=None if federation_listener is None else socket.socket(fileno=federation_listener),
    )
    try:
        _run(serving.serve_here(settings, settings.database_url, shared, announce=False, parent=parent))
    except Unavailable as trouble:
        _fail(trouble.detail)


@database_app.command("url")
def database_url(data_dir: DataDir = None) -> None:
    """Print the connection string of the database in use."""
    typer.echo(_dsn_in_use(_settings(data_dir=data_dir)))


@database_app.command("migrate")
def database_migrate(data_dir: DataDir = None) -> None:
    """Bring the schema to this version by hand; `serve` does it at every start."""
    from hansa.doors.opening import bring_up_to_date
    from hansa.foundation.words.errors import Unavailable

    try:
        _run(bring_up_to_date(_dsn_in_use(_settings(data_dir=data_dir))))
    except Unavailable as trouble:
        _fail(trouble.detail)


@admin_app.command("create")
def create_administrator(
    name: Annotated[str, typer.Option(help="Display name.")],
    email: Annotated[str, typer.Option(help="E-mail address; counts as verified.")],
    areas: Annotated[str, typer.Option(help="The areas to administer, separated by commas.")] = ",".join(
        ADMIN_AREAS
    ),
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Create a developer who administers the registry, also while it runs.

    The password comes from HANSA_ADMIN_PASSWORD, or is asked for.
    """
    from hansa.doors import by_hand

    settings, chosen = _settings(data_dir=data_dir), _areas(areas)
    developer_id = _by_hand(
        by_hand.create_administrator(
            settings, name=name, email=email, password=_administrators_password(), areas=chosen
        )
    )
    _tell(
        f"administrator {email} (developer {developer_id}): {', '.join(chosen)}",
        {"developer_id": developer_id, "email": email, "areas": chosen},
        as_json=as_json,
    )


@app.command()
def mint(
    amount: Annotated[str, typer.Option(help="Units to issue, such as 1000 or 0.5.")],
    ref: Annotated[str, typer.Option(help="What they are issued for; a reference is good for one issue.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Issue units to the treasury, also while the registry runs."""
    from hansa.doors import by_hand

    _change_supply(by_hand.mint, "issued", amount, ref, _settings(data_dir=data_dir), as_json=as_json)


@app.command()
def burn(
    amount: Annotated[str, typer.Option(help="Units to destroy, such as 1000 or 0.5.")],
    ref: Annotated[str, typer.Option(help="What they are destroyed for; a reference is good for one burn.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Destroy units of the treasury for good, also while the registry runs."""
    from hansa.doors import by_hand

    _change_supply(by_hand.burn, "destroyed", amount, ref, _settings(data_dir=data_dir), as_json=as_json)


@keys_app.command("rotate")
def rotate_key(
    key_file: Annotated[
        Path | None,
        typer.Option("--key", help="An Ed25519 private key in PEM to sign with; without one, it is made."),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, for the log of administrators' acts.")] = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Sign with another key from now on, also while the registry runs; the present one is retired."""
    from hansa.doors import by_hand
    from hansa.foundation.plumbing.keys import BadKey, private_key_in

    settings = _settings(data_dir=data_dir)
    try:
        brought = None if key_file is None else private_key_in(str(key_file), key_file.read_bytes())
    except OSError as trouble:
        _fail(f"{key_file} cannot be read: {trouble.strerror}", USAGE_ERROR)
    except BadKey as trouble:
        _fail(str(trouble), USAGE_ERROR)
    _require_short(reason)
    key = _by_hand(by_hand.rotate_key(settings, brought, reason or None))
    told = {"kid": key.kid, "valid_from": key.valid_from.isoformat()}
    _tell("the registry signs with {kid} since {valid_from}".format(**told), told, as_json=as_json)


@app.command()
def bundle(data_dir: DataDir = None) -> None:
    """Print the certificates to trust in this registry's trust domain, in PEM."""
    from hansa.doors import by_hand
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.words.errors import Refused

    try:
        typer.echo(by_hand.trust_bundle(_settings(data_dir=data_dir)), nl=False)
    except Refused as trouble:
        _fail(trouble.detail)
    except BadKey as trouble:
        _fail(str(trouble))


@service_app.command("enrol")
def enrol_service(
    name: Annotated[str, typer.Argument(help="1 to 63 lower-case letters, digits and hyphens.")],
    out: Annotated[Path, typer.Option(help="Directory for NAME.pem, NAME-key.pem and bundle.pem.")],
    days: Annotated[int, typer.Option(help="How long the certificate lasts.", min=1, max=365)] = 90,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Give a service a certificate for mutual TLS, also while the registry runs; an older one lasts until its end."""
    from datetime import timedelta

    from hansa.doors import by_hand
    from hansa.doors.handing_over import hand_over, require_writable

    settings = _settings(data_dir=data_dir)
    try:
        require_writable(out)
        enrolled = _by_hand(by_hand.enrol_service(settings, name, timedelta(days=days)))
        files = hand_over(enrolled, out)
    except OSError as trouble:
        _fail(f"{trouble.filename} cannot be written: {trouble.strerror}")
    told = {
        "spiffe_id": enrolled.svid.spiffe_id,
        "expires_at": enrolled.svid.expires_at.isoformat(),
        **{member: str(file) for member, file in files.items()},
    }
    _tell(
        "{spiffe_id} until {expires_at}: {certificate}, {key}, {bundle}".format(**told), told, as_json=as_json
    )


@service_app.command("list")
def list_services(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the certificates of services, in force or not."""
    from hansa.doors import by_hand

    found = _by_hand(by_hand.list_services(_settings(data_dir=data_dir)))
    told = [
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
    lines = ["{name}: {status}, issued {issued_at}, until {expires_at}".format(**one) for one in told]
    _tell("\n".join(lines) or "no service has a certificate", {"certificates": told}, as_json=as_json)


@service_app.command("revoke")
def revoke_service(
    name: Annotated[str, typer.Argument(help="The service.")],
    reason: Annotated[str, typer.Option(help="Why, for the log of administrators' acts.")] = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let every certificate of a service open nothing from the next request on."""
    from hansa.doors import by_hand

    settings = _settings(data_dir=data_dir)
    _require_short(reason)
    revoked = _by_hand(by_hand.revoke_service(settings, name, reason or None))
    _tell(f"{name}: {revoked} revoked", {"name": name, "revoked": revoked}, as_json=as_json)


@verify_app.command("card")
def verify_card(
    source: Annotated[str, typer.Argument(help="An exported card: its address, or a file.")],
    keys: Annotated[
        str | None,
        typer.Option(help="The registry's keys: an address or a file; without it, those of the card's host."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Judge as of this time (ISO 8601), by the registry's history of keys.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge an exported card. Exit 0: the registry stands behind it; 1: it does not; 2: it cannot be read."""
    from hansa.doors import verifying

    try:
        asked = verifying.CardToJudge(source, keys, _moment(at))
        verdict = verifying.judge_card(asked)
    except verifying.CannotRead as trouble:
        _fail(str(trouble), USAGE_ERROR)
    lines = [f"{'ok  ' if step.holds else 'FAIL'} {step.name}: {step.said}" for step in verdict.steps]
    _tell("\n".join([*lines, verdict.code]), verifying.told(verdict), as_json=as_json)
    sys.exit(0 if verdict.is_valid else 1)


def main() -> None:
    """The entry point of the `hansa` command."""
    # Nearly all that a request leaves behind is gone by then, and what a start makes stays. With the usual thresholds a
    # fifth of a start went by looking through it, and the thousands of sockets of the live feed were walked through
    # several times a second.
    gc.set_threshold(*COLLECTED_AFTER)
    app()


def _settings(**overrides: object) -> Settings:
    try:
        return read_settings(**overrides)
    except BadSetting as trouble:
        _fail(str(trouble))


def _dsn_in_use(settings: Settings) -> str:
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed, running_dsn

    try:
        return settings.database_url or running_dsn(settings.data_dir)
    except EmbeddedPostgresFailed as trouble:
        _fail(str(trouble))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        _fail(f"--at {text!r} is refused: allowed is a time such as 2026-01-31T12:00:00Z.", USAGE_ERROR)
    return moment


def _require_short(reason: str) -> None:
    if len(reason) > REASON_MAX_CHARACTERS:
        _fail(f"--reason is refused: at most {REASON_MAX_CHARACTERS} characters.", USAGE_ERROR)


def _areas(text: str) -> list[str]:
    """The areas named, each once, in their usual order."""
    named = {word.strip() for word in text.split(",")}
    if not named <= set(ADMIN_AREAS):
        _fail(f"--areas {text!r} is refused: allowed are some of {', '.join(ADMIN_AREAS)}.", USAGE_ERROR)
    return [area for area in ADMIN_AREAS if area in named]


def _administrators_password() -> str:
    given = os.environ.get("HANSA_ADMIN_PASSWORD")
    if given:
        return given
    if not sys.stdin.isatty():
        _fail("a password is needed: set HANSA_ADMIN_PASSWORD, or answer at a terminal.", USAGE_ERROR)
    asked: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked


def _change_supply(
    act: "Callable[[Settings, Minor, str], Coroutine[Any, Any, ledger.SupplyChange]]",
    done: str,
    amount: str,
    ref: str,
    settings: Settings,
    *,
    as_json: bool,
) -> None:
    from hansa.foundation.words.money import NotAnAmount, format_amount, parse_positive

    try:
        asked = parse_positive(amount)
    except NotAnAmount as trouble:
        _fail(f"--amount {amount!r} is refused: {trouble}.")
    changed = _by_hand(act(settings, asked, ref))
    told = {
        "transaction_id": f"tx-{changed.tx_id}",
        "ref": ref,
        "amount": format_amount(changed.amount),
        "currency": settings.settlement_currency,
        "supply": format_amount(changed.supply),
    }
    sentence = "{transaction_id}: {amount} {currency} {done}, the supply is {supply}".format(
        **told, done=done
    )
    _tell(sentence, told, as_json=as_json)


def _by_hand(act: Coroutine[Any, Any, Answer]) -> Answer:
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.words.errors import Refused

    try:
        return _run(act)
    except Refused as trouble:
        _fail(trouble.detail)
    except (EmbeddedPostgresFailed, BadKey) as trouble:
        _fail(str(trouble))


def _tell(sentence: str, members: dict[str, Any], *, as_json: bool) -> None:
    import json

    typer.echo(json.dumps(members, indent=2) if as_json else sentence)


def _run(work: Coroutine[Any, Any, Answer]) -> Answer:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _fail(sentence: str, code: int = 1) -> NoReturn:
    typer.echo(f"hansa: {sentence}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
