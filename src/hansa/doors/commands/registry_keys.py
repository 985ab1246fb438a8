"""`hansa keys` and `hansa bundle`: the registry's keys and certificates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hansa.doors.commands.execution import (
    USAGE_ERROR,
    fail,
    failures_in_one_line,
    file_failures_in_one_line,
    print_outcome,
    run_act,
    settings_from,
)
from hansa.doors.commands.options import INSPECT, AsJson, DataDir, NewFile, Reason, examples, passphrase

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

app = typer.Typer(help="Manage the signing keys of the registry.", no_args_is_help=True)
bundle_app = typer.Typer()
BroughtKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="Ed25519 private key: a file (PEM), or its address in a module, pkcs11:token=LABEL;object=LABEL."
        " By default a new key is generated.",
    ),
]


@app.command(
    "rotate",
    epilog=examples('hansa keys rotate --reason "yearly rotation"', "hansa keys rotate --key new-key.pem"),
)
def rotate_key(
    key: BroughtKey = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the signing key; also works while the registry runs. The current key is retired."""
    from hansa.doors import offline_commands

    settings = settings_from(data_dir=data_dir)
    brought = _brought(key)
    begun = run_act(offline_commands.rotate_key(settings, brought, reason or None))
    shown = {"kid": begun.kid, "valid_from": begun.valid_from.isoformat()}
    print_outcome("the registry signs with {kid} since {valid_from}".format(**shown), shown, as_json=as_json)


@app.command("rotate-auditor", epilog=examples('hansa keys rotate-auditor --reason "yearly rotation"'))
def rotate_auditor_key(
    key: BroughtKey = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the key of the auditor; also works while the registry runs. Old attestations stay valid."""
    from hansa.doors import offline_commands

    settings = settings_from(data_dir=data_dir)
    begun = run_act(offline_commands.rotate_auditor_key(settings, _brought(key), reason or None))
    shown = {"kid": begun.kid, "valid_from": begun.valid_from.isoformat()}
    print_outcome("attestations are signed with {kid} from now on".format(**shown), shown, as_json=as_json)


@app.command(
    "rotate-licensing",
    epilog=examples("hansa keys rotate-licensing --json > frame-key.json"),
)
def rotate_licensing_key(
    key: BroughtKey = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the licence-signing key; the new key of a frame waits for the certificate that the genesis issues to it."""
    from hansa.doors import offline_commands
    from hansa.foundation.values.jwk import jwk_of, thumbprint

    settings = settings_from(data_dir=data_dir)
    new = run_act(offline_commands.rotate_licensing_key(settings, _brought(key), reason or None))
    shown = {**jwk_of(new.public_key), "kid": thumbprint(new.public_key)}
    said = (
        "{kid}: {x} waits; send it to the genesis, then run `hansa licence install` with the new certificate"
        if new.is_waiting
        else "licences are signed with {kid} from now on"
    )
    print_outcome(said.format(**shown), {**shown, "waits": new.is_waiting}, as_json=as_json)


AUTHORITY_STEPS = {
    "published": "the next root is published; run this again 10 minutes later",
    "signing": "the next root signs; run this again when no certificate of the former one is in force",
    "finished": "the former root is no longer published",
    "replaced": "each peer has to approve the new root by its fingerprint",
}


@app.command(
    "rotate-authority",
    epilog=examples("hansa keys rotate-authority", "hansa keys rotate-authority --stolen"),
)
def rotate_authority(
    *,
    stolen: Annotated[
        bool, typer.Option("--stolen", help="Replace the root at once; peers have to approve the new one.")
    ] = False,
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the certificate authority of the federation, one of three steps with each call."""
    from hansa.doors.authority_rotation import rotate_authority as rotate

    settings = settings_from(data_dir=data_dir)
    taken = run_act(rotate(settings, reason or None, stolen=stolen))
    print_outcome(
        f"{AUTHORITY_STEPS[taken.step]}; thumbprint of the bundle: {taken.thumbprint}",
        {"step": taken.step, "thumbprint": taken.thumbprint},
        as_json=as_json,
    )


@app.command("rotate-sealing", epilog=examples("hansa keys rotate-sealing --data-dir /srv/hansa"))
def rotate_sealing_key(
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the sealing key and encrypt every stored secret anew; the registry must not run.

    Rotate the signing keys as well after a theft: who has the sealing key and the database can decrypt them.
    """
    from hansa.doors.sealing_rotation import rotate_sealing_key as rotate

    settings = settings_from(data_dir=data_dir)
    found = run_act(rotate(settings, reason or None))
    print_outcome(
        f"encrypted anew: {found.resealed}; not readable before: {found.unreadable}; copy the key to the other machines",
        {"resealed": found.resealed, "unreadable": found.unreadable},
        as_json=as_json,
    )


@app.command(
    "rotate-witness", epilog=examples("hansa keys rotate-witness", "hansa keys rotate-witness --stolen")
)
def rotate_witness_key(
    *,
    stolen: Annotated[
        bool,
        typer.Option(
            "--stolen", help="The former key signs nothing any more; by default both sign for 7 days."
        ),
    ] = False,
    key: BroughtKey = None,
    reason: Reason = "",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rotate the keys that cosign logs of others; also works while the registry runs. Send the new keys to their operators."""
    from hansa.doors import offline_commands

    settings = settings_from(data_dir=data_dir)
    ed25519, ml_dsa_44 = run_act(
        offline_commands.rotate_witness_key(settings, _brought(key), reason or None, stolen=stolen)
    )
    print_outcome(
        f"checkpoints are cosigned with {ed25519} and {ml_dsa_44} from now on",
        {"key": ed25519, "ml_dsa_44_key": ml_dsa_44},
        as_json=as_json,
    )


@app.command(
    "replace",
    epilog=examples("hansa keys replace --lost"),
)
def replace_keys(
    *,
    lost: Annotated[
        bool, typer.Option("--lost", help="Confirms that the former keys are lost; required.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Begin anew with the keys in DIR/keys, and with new ones where none are; the registry must not run.

    What was sealed under a lost sealing key stays unreadable: two-factor seeds, webhook secrets, waiting mail.
    """
    from hansa.doors import offline_commands

    if not lost:
        fail(
            "--lost is required: keys that are only missing here are copied with `hansa keys export`",
            USAGE_ERROR,
        )
    settings = settings_from(data_dir=data_dir)
    changed = run_act(offline_commands.adopt_database(settings))
    said = ", ".join(changed) or "nothing: all keys are those of the registry"
    print_outcome(f"replaced: {said}", {"changed": changed}, as_json=as_json)


@app.command(
    "export",
    epilog=examples(
        "hansa keys export registry-keys.json --data-dir /srv/hansa",
        "HANSA_KEYS_PASSPHRASE=… hansa keys export registry-keys.json",
    ),
)
def export_keys(
    file: NewFile,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Export all keys in DIR/keys to one file, encrypted with a passphrase.

    The passphrase comes from HANSA_KEYS_PASSPHRASE, or is asked for.
    """
    from hansa.foundation.plumbing.keys import key_bundle
    from hansa.foundation.plumbing.process.data_directory import belonging

    settings = settings_from(any_database=True, data_dir=data_dir)
    with file_failures_in_one_line(file):
        keys, record = key_bundle.keys_of(settings.data_dir), belonging(settings.data_dir)
        ledger_id = settings.ledger_id if record is None else record.ledger_id
        content = {**keys, key_bundle.LEDGER_ID: ledger_id.encode()}
        key_bundle.write_private(file, key_bundle.seal_keys(content, passphrase(confirm=True)))
    shown = {"file": str(file), "keys": sorted(keys)}
    print_outcome(
        f"{file}: {', '.join(sorted(keys))}; `hansa keys import` reads it on another machine",
        shown,
        as_json=as_json,
    )


@app.command("import", epilog=examples("hansa keys import registry-keys.json --data-dir /srv/hansa"))
def import_keys(
    file: Annotated[Path, typer.Argument(help="File written by `hansa keys export`.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Import keys from a file into DIR/keys, so that this machine can join the registry; existing keys are not replaced.

    The data directory belongs to that registry from then on: a start without its DATABASE_URL is refused. The passphrase comes from HANSA_KEYS_PASSPHRASE, or is asked for.
    """
    from hansa.foundation.plumbing.keys import key_bundle
    from hansa.foundation.plumbing.process.data_directory import bind_to_imported

    settings = settings_from(any_database=True, data_dir=data_dir)
    with file_failures_in_one_line(file):
        keys = key_bundle.open_keys(key_bundle.read_bundle(file), passphrase())
        ledger_id = keys.pop(key_bundle.LEDGER_ID, settings.ledger_id.encode()).decode()
        key_bundle.missing_keys(settings.data_dir, keys)
        # Before the keys: an import that was interrupted leaves no keys in a directory of no registry.
        bind_to_imported(settings.data_dir, ledger_id)
        imported = key_bundle.install_keys(settings.data_dir, keys)
    shown = {"directory": str(settings.data_dir / "keys"), "imported": imported}
    written = ", ".join(imported) or "all keys already exist"
    print_outcome(f"{settings.data_dir / 'keys'}: {written}", shown, as_json=as_json)


def _brought(place: str | None) -> "Ed25519PrivateKey | None":
    """The key that the operator names; one that cannot be used ends the command."""
    from hansa.foundation.plumbing.keys.key_files import BadKey
    from hansa.foundation.plumbing.keys.sealed_keys import key_at
    from hansa.foundation.values.errors import Unavailable

    try:
        return None if place is None else key_at(place)
    except BadKey as error:
        fail(str(error), USAGE_ERROR)
    except Unavailable as error:
        fail(error.detail)


@bundle_app.command(
    rich_help_panel=INSPECT,
    epilog=examples("hansa bundle > trust-bundle.pem", "hansa bundle --format spiffe"),
)
def bundle(
    form: Annotated[
        Literal["pem", "spiffe"], typer.Option("--format", help="PEM, or the SPIFFE form in JSON.")
    ] = "pem",
    data_dir: DataDir = None,
) -> None:
    """Print the trust bundle of this registry: its CA certificates."""
    import json

    from hansa.doors import offline_commands, peer_acts

    settings = settings_from(data_dir=data_dir)
    if form == "spiffe":
        typer.echo(json.dumps(run_act(peer_acts.local_bundle(settings)).spiffe(), indent=2))
        return
    if settings.is_operator or settings.uses_workload_api:
        typer.echo(run_act(peer_acts.local_bundle(settings)).pem, nl=False)
        return
    with failures_in_one_line():
        typer.echo(offline_commands.trust_bundle(settings), nl=False)
