"""`bond`: the reputation bond of an agent."""

from typing import TYPE_CHECKING, Annotated

import typer

from .callers import OnceCaller, once_as_agent
from .options import AgentName, AsJson, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.bonds import Bond

app = typer.Typer(help="Deposit, release and show reputation bonds.", no_args_is_help=True)


@app.command("deposit", epilog=examples("hansa-client bond deposit 100"))
@once_as_agent
def deposit_bond(
    own: OnceCaller,
    amount: Annotated[str, typer.Argument(help="Amount to deposit.")],
) -> None:
    """Deposit units as a bond, or add to it; the bond is active from then on."""
    from .opening import amount_of

    _show(own.registry.bonds.deposit(amount_of(amount), key=own.key), as_json=own.as_json)


@app.command("release", epilog=examples("hansa-client bond release"))
@once_as_agent
def release_bond(
    own: OnceCaller,
) -> None:
    """Begin to release the bond; from then on it does not count."""
    _show(own.registry.bonds.release(key=own.key), as_json=own.as_json)


@app.command("unlock", epilog=examples("hansa-client bond unlock"))
@once_as_agent
def unlock_bond(
    own: OnceCaller,
) -> None:
    """Get the units of a bond that is releasing back, once it can be unlocked."""
    _show(own.registry.bonds.unlock(key=own.key), as_json=own.as_json)


@app.command(
    "status",
    epilog=examples(
        "hansa-client bond status",
        "hansa-client bond status did:hansa:registry.example:0f8fad5b-d9cb-469f-a165-70867728950e",
    ),
)
def show_bond(
    did: Annotated[str | None, typer.Argument(help="DID of an agent; by default the agent in use.")] = None,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show the bond of an agent, and what blocks its release."""
    from .opening import as_agent, as_anyone

    with as_anyone(profile) if did else as_agent(profile, agent) as registry:
        _show(registry.bonds.status(did or registry.agents.me().did), as_json=as_json)


@app.command("config", epilog=examples("hansa-client bond config"))
def show_bond_config(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show the rules of bonds at the registry."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        rules = registry.bonds.config()
        line = f"{rules.mode}  at least {rules.minimum:f} {rules.currency}  matures in {rules.maturity_days} days"
        show(line, rules, as_json=as_json)


def _show(bond: "Bond", *, as_json: bool) -> None:
    from .opening import show

    lines = [f"{bond.agent_did}  {bond.state}  {bond.amount:f}"]
    if bond.releasable_at is not None:
        lines.append(f"can be unlocked from {bond.releasable_at.isoformat(timespec='seconds')} on")
    lines += [f"  blocked by {one.kind}: {one.detail}" for one in bond.blockers]
    show("\n".join(lines), bond, as_json=as_json)
