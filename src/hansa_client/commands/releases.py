"""`versions`, `deploy`, `rollback`, `export`, `import` and `fork`: versions of code, deployments and bundles of agents."""

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import USE, AgentName, AsJson, Key, Limit, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.releases import Deployment, ImportedAgent

app = typer.Typer()

POLL_SECONDS = 1.0


@app.command(
    rich_help_panel=USE,
    epilog=examples(
        "hansa-client versions",
        "hansa-client versions --register 2.1.0 --commit 9e01d6c --notes 'Twice as fast.'",
        "hansa-client versions --activate 3fa85f64-5717-4562-b3fc-2c963f66afa6",
    ),
)
def versions(
    *,
    register: Annotated[str | None, typer.Option(help="Name of a version to register, as a draft.")] = None,
    commit: Annotated[str | None, typer.Option(help="Commit of that version.")] = None,
    notes: Annotated[str | None, typer.Option(help="Release notes of that version.")] = None,
    activate: Annotated[str | None, typer.Option(help="Id of a version to activate.")] = None,
    limit: Limit = 20,
    agent: AgentName = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the versions of the code of an agent, register one, or activate one."""
    from hansa_client.calls import new_key

    from .opening import as_developer, fail, show, under_key

    if register is not None and activate is not None:
        fail("state one of --register and --activate")
    if register is None and (commit or notes):
        fail("--commit and --notes describe a version that is registered with --register")
    did = _did(profile, agent)
    used = key or new_key()
    with as_developer(profile) as (registry, _), under_key(used):
        if register is not None:
            made = registry.releases.register(
                register, did, commit_hash=commit, release_notes=notes, key=used
            )
        elif activate is not None:
            made = registry.releases.activate(activate, did, key=used)
        else:
            found = registry.releases.versions(did, limit=limit).versions
            lines = [f"{one.version}  {one.status}  {one.version_id}" for one in found]
            show("\n".join(lines) or "No versions.", found, as_json=as_json)
            return
    show(f"{made.version}  {made.status}  {made.version_id}", made, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples(
        "hansa-client deploy 3fa85f64-5717-4562-b3fc-2c963f66afa6 --url https://agent.example.com/a2a",
        "hansa-client deploy --list",
    ),
)
def deploy(
    version_id: Annotated[str | None, typer.Argument(help="Id of the version that runs there.")] = None,
    *,
    url: Annotated[
        str | None, typer.Option(help="Address of the agent; by default the present one, which is checked.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Note for yourself.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the deployments instead.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait for the result of the check.")] = True,
    agent: AgentName = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Move an agent to an address, where the registry checks it first."""
    from hansa_client.calls import new_key

    from .opening import as_developer, fail, show, under_key

    if list_all == (version_id is not None):
        fail("state the id of a version, or --list")
    did = _did(profile, agent)
    used = key or new_key()
    with as_developer(profile) as (registry, _), under_key(used):
        if version_id is None:
            found = registry.releases.deployments(did).deployments
            show("\n".join(map(_line, found)) or "No deployments.", found, as_json=as_json)
            return
        made = registry.releases.deploy(version_id, did, url=url, note=note, key=used)
        while wait and not made.has_ended:
            sleep(POLL_SECONDS)
            made = registry.releases.deployment(made.deployment_id, did)
    _show_end(made, as_json=as_json)


@app.command(
    rich_help_panel=USE, epilog=examples("hansa-client rollback 3fa85f64-5717-4562-b3fc-2c963f66afa6")
)
def rollback(
    deployment_id: Annotated[str, typer.Argument(help="Id of the active deployment.")],
    *,
    agent: AgentName = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Deploy the one before the active deployment again."""
    from hansa_client.calls import new_key

    from .opening import as_developer, under_key

    did = _did(profile, agent)
    used = key or new_key()
    with as_developer(profile) as (registry, _), under_key(used):
        made = registry.releases.roll_back(deployment_id, did, key=used)
    _show_end(made, as_json=as_json)


@app.command("export", rich_help_panel=USE, epilog=examples("hansa-client export painter.bundle.json"))
def export_agent(
    file: Annotated[Path, typer.Argument(help="File to write; it is not overwritten.")],
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Write the signed bundle of an agent to a file; it has no secrets."""
    import msgspec

    from .opening import as_developer, show

    did = _did(profile, agent)
    with as_developer(profile) as (registry, _):
        made = registry.bundles.export(did)
        with file.open("xb") as opened:
            opened.write(msgspec.json.encode(made.bundle))
    shown = {"bundle_id": made.bundle_id, "file": str(file)}
    show(f"{made.bundle_id}  {file}", shown, as_json=as_json)


@app.command(
    "import",
    rich_help_panel=USE,
    epilog=examples("hansa-client import painter.bundle.json --dry-run"),
)
def import_agent(
    file: Annotated[Path, typer.Argument(help="File of a bundle.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Create nothing; say what would be.")] = False,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Create an agent of a bundle and store its credentials."""
    from .opening import as_developer, read_json_file, show

    with as_developer(profile) as (registry, profile_name):
        bundle = read_json_file(file, dict[str, Any])
        if dry_run:
            seen = registry.bundles.preview(bundle)
            show(
                "\n".join([f"{seen.agent_card_name} would be created.", *seen.warnings]),
                seen,
                as_json=as_json,
            )
            return
        made = registry.bundles.bring_in(bundle)
    # The login has locked the profiles until here.
    _keep(profile_name, made)
    _show_new(made, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client fork 3fa85f64-5717-4562-b3fc-2c963f66afa6 --name 'Second painter'"),
)
def fork(
    bundle_id: Annotated[str, typer.Argument(help="Id of a stored bundle of the owner.")],
    *,
    name: Annotated[str, typer.Option(help="Name of the new agent.")],
    description: Annotated[str | None, typer.Option(help="What the new agent does.")] = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Let an agent create another one of a stored bundle, and store its credentials."""
    from .opening import as_agent
    from .profiles import read_profiles

    with as_agent(profile, agent) as registry:
        made = registry.bundles.fork(bundle_id, name=name, description=description)
        _keep(read_profiles().named(profile)[0], made)
    _show_new(made, as_json=as_json)


def _did(profile: str | None, agent: str | None) -> str:
    from .opening import reported
    from .profiles import read_profiles

    with reported():
        return read_profiles().named(profile)[1].chosen(agent).did


def _keep(profile_name: str, made: "ImportedAgent") -> None:
    """Store the credentials of a new agent at once: they are shown once."""
    from . import opening
    from .profiles import StoredAgent, changed_profiles
    from .vault import store_secret

    store_secret(profile_name, opening.secret_of(made.agent_did), made.client_secret)
    if made.private_key_pem is not None:
        store_secret(profile_name, opening.key_of(made.agent_did), made.private_key_pem)
    with changed_profiles() as profiles:
        stored = profiles.profiles[profile_name]
        stored.agents = [*stored.agents, StoredAgent(made.agent_did, made.client_id, made.agent_card_name)]
        stored.agent = stored.agent or made.agent_did


def _show_new(made: "ImportedAgent", *, as_json: bool) -> None:
    from .opening import show

    shown = {
        "agent_did": made.agent_did,
        "client_id": made.client_id,
        "name": made.agent_card_name,
        "warnings": made.warnings,
    }
    show("\n".join([f"{made.agent_card_name}  {made.agent_did}", *made.warnings]), shown, as_json=as_json)


def _show_end(made: "Deployment", *, as_json: bool) -> None:
    from .opening import fail, show

    if made.status == "failed":
        fail(f"The deployment failed: {made.detail}", reason=made.reason, deployment_id=made.deployment_id)
    show(_line(made), made, as_json=as_json)


def _line(one: "Deployment") -> str:
    why = f"  {one.reason}" if one.reason else ""
    return f"{one.version}  {one.status}{why}  {one.url}  {one.deployment_id}"
