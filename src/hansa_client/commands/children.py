"""`spawn`, `children` and `spawn-end`: agents that an agent makes for a while."""

from typing import Annotated

import typer

from .options import USE, AgentName, ApprovalId, AsJson, Key, ProfileName, examples

app = typer.Typer()


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client spawn Helper 10", "hansa-client spawn Helper 10 --ttl 3600 --role client"),
)
def spawn(
    name: Annotated[str, typer.Argument(help="Name of the child.")],
    funding: Annotated[str, typer.Argument(help="Units that it gets; the fee comes on top.")],
    *,
    description: Annotated[str | None, typer.Option(help="One sentence about what it does.")] = None,
    ttl: Annotated[int | None, typer.Option(help="Seconds that it lives; by default a day.")] = None,
    role: Annotated[
        list[str] | None, typer.Option(help="A role of the parent that it gets; by default all of them.")
    ] = None,
    per_tx_max: Annotated[str | None, typer.Option(help="Maximum of one of its payments.")] = None,
    per_day_max: Annotated[str | None, typer.Option(help="Maximum of its payments a day.")] = None,
    approval_over: Annotated[
        str | None, typer.Option(help="Amount above which its owner approves each payment.")
    ] = None,
    approval_id: ApprovalId = None,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Spawn a child of the agent and store its credentials."""
    from . import opening
    from .profiles import StoredAgent, changed_profiles, read_profiles
    from .vault import store_secret

    limits = {"per_tx_max": per_tx_max, "per_day_max": per_day_max, "approval_over": approval_over}
    policy = {limit: value for limit, value in limits.items() if value is not None}
    with opening.acting(profile, agent, key) as (registry, once):
        made = registry.children.spawn(
            name,
            opening.amount_of(funding),
            description=description,
            roles=role,
            spend_policy=policy or None,
            ttl_seconds=ttl,
            approval_id=approval_id,
            key=once,
        )
        profile_name, _ = read_profiles().named(profile)
        store_secret(profile_name, opening.secret_of(made.agent_did), made.client_secret)
        if made.private_key_pem is not None:
            store_secret(profile_name, opening.key_of(made.agent_did), made.private_key_pem)
    with changed_profiles() as profiles:
        stored = profiles.profiles[profile_name]
        known = [one for one in stored.agents if one.did != made.agent_did]
        stored.agents = [*known, StoredAgent(made.agent_did, made.client_id, made.agent_card_name)]
    shown = {
        "agent_did": made.agent_did,
        "parent_did": made.parent_did,
        "name": made.agent_card_name,
        "expires_at": made.expires_at,
    }
    opening.show(
        f"{made.agent_card_name}  {made.agent_did}  until {made.expires_at:%Y-%m-%d %H:%M} UTC",
        shown,
        as_json=as_json,
    )


@app.command(rich_help_panel=USE, epilog=examples("hansa-client children --json"))
def children(*, agent: AgentName = None, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the children of the agent, newest first."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        listed = registry.children.list()
        lines = [
            f"{one.state}  {one.balance}  {one.name}  {one.child_did}  until {one.expires_at:%Y-%m-%d %H:%M} UTC"
            for one in listed
        ]
        show("\n".join(lines) or "No children.", listed, as_json=as_json)


@app.command(
    "spawn-end",
    rich_help_panel=USE,
    epilog=examples("hansa-client spawn-end did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427"),
)
def end_child(
    child: Annotated[str, typer.Argument(help="DID of the child, as `children` shows it.")],
    *,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """End a child; its units go back to the agent, less the fee."""
    from .opening import acting, show

    with acting(profile, agent, key) as (registry, once):
        ended = registry.children.end(child, key=once)
        sentence = f"ended, {ended.returned} returned" if ended.state == "ended" else "ending"
        waits = [f"It waits: {reason.detail}" for reason in ended.waits_for]
        show("\n".join([sentence, *waits]), ended, as_json=as_json)
