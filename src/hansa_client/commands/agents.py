"""`agent`: create, list and show agents, and choose the one that commands act for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import AgentName, AsJson, ProfileName, examples

app = typer.Typer(help="Create, list and show agents.", no_args_is_help=True)


@app.command(
    "create",
    epilog=examples(
        'hansa-client agent create --name Painter --description "Paints portraits." --price 0.05 --url https://painter.example/a2a',
        "hansa-client agent create --card card.json",
    ),
)
def create_agent(
    *,
    name: Annotated[str | None, typer.Option(help="Name of the agent; a card is made from it.")] = None,
    description: Annotated[str, typer.Option(help="One sentence about what it does.")] = "",
    price: Annotated[str | None, typer.Option(help="Price of one call; none: free.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Address at which the agent is called (JSON-RPC of A2A), for its card.")
    ] = None,
    card: Annotated[Path | None, typer.Option(help="File of a whole card, instead of a name.")] = None,
    host: Annotated[
        str | None, typer.Option(help="Address of the agent that serves its card, instead of a name.")
    ] = None,
    org: Annotated[
        str | None, typer.Option(help="Slug or id of an organization that is to own it, as an admin of it.")
    ] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Create an agent and store its credentials; the first one is in use from then on."""
    from . import opening
    from .profiles import StoredAgent, changed_profiles
    from .vault import store_secret

    if sum(given is not None for given in (name, card, host)) != 1:
        opening.fail("state exactly one of --name, --card and --host")
    if name is None and (description or price is not None or url is not None):
        opening.fail("--description, --price and --url describe an agent that is created with --name")
    with opening.as_developer(profile) as (registry, profile_name):
        whole: dict[str, Any] | None = None
        if card is not None:
            whole = opening.read_json_file(card, dict[str, Any])
        elif name is not None:
            whole = _card(registry.agents.card_template(), name, description, price, url)
        made = registry.agents.create(card=whole, host=host, organization=org)
        store_secret(profile_name, opening.secret_of(made.agent_did), made.client_secret)
        if made.private_key_pem is not None:
            store_secret(profile_name, opening.key_of(made.agent_did), made.private_key_pem)
    with changed_profiles() as profiles:
        stored = profiles.profiles[profile_name]
        stored.agents = [*stored.agents, StoredAgent(made.agent_did, made.client_id, made.agent_card_name)]
        stored.agent = stored.agent or made.agent_did
    shown = {
        "agent_did": made.agent_did,
        "client_id": made.client_id,
        "name": made.agent_card_name,
        "initial_funding_status": made.initial_funding_status,
    }
    opening.show(f"{made.agent_card_name}  {made.agent_did}", shown, as_json=as_json)


@app.command("list", epilog=examples("hansa-client agent list --json"))
def list_agents(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the developer's agents; the one in use has a star."""
    from .opening import as_developer, show
    from .profiles import read_profiles

    with as_developer(profile) as (registry, profile_name):
        in_use = read_profiles().profiles[profile_name].agent
        agents = registry.agents.list(limit=500).items
        lines = [f"{'*' if one.did == in_use else ' '} {one.name}  {one.status}  {one.did}" for one in agents]
        show("\n".join(lines), agents, as_json=as_json)


@app.command("show", epilog=examples("hansa-client agent show Painter"))
def show_agent(
    agent: Annotated[
        str | None, typer.Argument(help="A DID, or the name of an own agent; by default the one in use.")
    ] = None,
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show an agent of any owner: its card, price and home."""
    from hansa_client.amounts import rate_on_card

    from .opening import as_anyone, reported, show
    from .profiles import read_profiles

    with reported():
        did = (
            agent
            if agent and agent.startswith("did:")
            else read_profiles().named(profile)[1].chosen(agent).did
        )
    with as_anyone(profile) as registry:
        known = registry.discovery.agent(did)
        lines = [
            known.name,
            known.did or "",
            known.description,
            f"status {known.status}, {known.liveness.state}",
        ]
        price = (known.card_data or {}).get("pricing") or {}
        if rate := rate_on_card(price.get("base_rate")):
            lines.append(f"{rate:f} {known.settlement_currency} per call")
        show("\n".join(lines), known, as_json=as_json)


@app.command("use", epilog=examples("hansa-client agent use Painter"))
def use_agent(
    agent: Annotated[str, typer.Argument(help="Name or DID of a stored agent.")],
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Act for this agent from now on."""
    from .opening import reported, show
    from .profiles import changed_profiles

    with reported(), changed_profiles() as profiles:
        stored = profiles.named(profile)[1]
        chosen = stored.chosen(agent)
        stored.agent = chosen.did
        show(f"The agent {chosen.name} is in use.", chosen, as_json=as_json)


@app.command("export", epilog=examples("hansa-client agent export painter.json"))
def export_agent(
    file: Annotated[str, typer.Argument(help="File to write, readable for you alone; it must not exist.")],
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Write the credentials of an agent to a file, for a service that runs as this agent."""
    import msgspec

    from . import opening
    from .profiles import read_profiles
    from .vault import read_secret

    with opening.reported():
        profile_name, stored = read_profiles().named(profile)
        chosen = stored.chosen(agent)
        credentials = opening.agent_credentials(profile_name, stored, agent)
        content = {
            "registry_url": stored.url,
            "agent_did": chosen.did,
            "client_id": credentials.client_id,
            "client_secret": credentials.client_secret,
            "private_key_pem": read_secret(profile_name, opening.key_of(chosen.did)),
        }
        opening.write_new(file, msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")
        opening.show(f"Written to {file}.", {"agent_did": chosen.did, "file": file}, as_json=as_json)


def _card(
    template: dict[str, Any], name: str, description: str, price: str | None, url: str | None
) -> dict[str, Any]:
    text = description or f"{name}, an agent."
    skill = {"id": "main", "name": name, "description": text, "tags": ["agent"]}
    # The template's provider, tags and address of A2A 0.3 are examples: they would be published as those of this agent.
    examples = {"provider", "tags", "url", "preferredTransport", "protocolVersion"}
    kept = {member: value for member, value in template.items() if member not in examples}
    card = {**kept, "name": name, "description": text, "skills": [skill]}
    if url is not None:
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        card["supportedInterfaces"] = [interface]
    if price is not None:
        from hansa_client.amounts import amount_text

        card["pricing"] = {
            "model": "per_request",
            "base_rate": amount_text(price),
            "payment_required": True,
        }
    return card
