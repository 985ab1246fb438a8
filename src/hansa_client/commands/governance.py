"""`governance`: proposals, votes of an agent by its stake, and the settings that votes may change."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, OnceCaller, as_agent, as_developer, once_as_agent
from .options import AsJson, Key, Limit, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.governance import Parameters, ParameterValue, PolicyChange, Proposal

app = typer.Typer(help="Propose and vote by stake, and decide as an administrator.", no_args_is_help=True)

ProposalId = Annotated[int, typer.Argument(min=1, help="Number of the proposal.")]
Reason = Annotated[str, typer.Option(help="Reason, which is public.")]


@app.command(
    "propose",
    epilog=examples(
        'hansa-client governance propose "Meet on Mondays" --text "At ten." --days 3',
        'hansa-client governance propose "A smaller bond" --text "For small agents." --days 5 --change bond_minimum=100:50',
    ),
)
@once_as_agent
def propose(
    own: OnceCaller,
    title: Annotated[str, typer.Argument(help="Title.")],
    *,
    text: Annotated[str, typer.Option(help="Description.")],
    days: Annotated[int, typer.Option(min=1, max=30, help="Days of the vote.")] = 7,
    change: Annotated[
        list[str] | None, typer.Option(help="Change of a setting, NAME=FROM:TO, once for each.")
    ] = None,
) -> None:
    """Propose a text without an effect, or a change of settings."""
    from datetime import timedelta

    policy = _changes(change, own.registry.agent.governance.parameters()) if change else None
    made = own.registry.agent.governance.propose(
        title, text, timedelta(days=days), policy=policy, key=own.key
    )
    _show(made, as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client governance list --all"))
def list_proposals(
    *,
    every: Annotated[bool, typer.Option("--all", help="List ended proposals as well.")] = False,
    limit: Limit = 50,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the open proposals."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        page = registry.agent.governance.list(include_closed=every, limit=limit)
        show("\n".join(map(_line, page.items)) or "No proposals.", page, as_json=as_json)


@app.command("show", epilog=examples("hansa-client governance show 7"))
def show_proposal(proposal: ProposalId, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show a proposal."""
    from .opening import as_anyone

    with as_anyone(profile) as registry:
        _show(registry.agent.governance.read(proposal), as_json=as_json)


@app.command("votes", epilog=examples("hansa-client governance votes 7"))
def list_votes(
    proposal: ProposalId, *, limit: Limit = 50, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """List the votes on a proposal, the newest first."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        page = registry.agent.governance.votes(proposal, limit=limit)
        lines = [
            f"{one.vote}  {one.voting_power:f}  {one.voter_did}  {one.reason or ''}".rstrip()
            for one in page.items
        ]
        show("\n".join(lines) or "No votes.", page, as_json=as_json)


@app.command("vote", epilog=examples('hansa-client governance vote 7 for --reason "It is fair."'))
@once_as_agent
def vote(
    own: OnceCaller,
    proposal: ProposalId,
    choice: Annotated[Literal["for", "against", "abstain"], typer.Argument(help="The vote; it is final.")],
    *,
    reason: Annotated[str | None, typer.Option(help="Reason, which is public.")] = None,
) -> None:
    """Vote as the agent; the weight stays staked until the vote on the proposal has ended."""
    from .opening import show

    cast = own.registry.agent.governance.vote(proposal, choice, reason=reason, key=own.key)
    show(f"{cast.vote}  {cast.voting_power:f}  proposal {cast.proposal_id}", cast, as_json=own.as_json)


@app.command("tally", epilog=examples("hansa-client governance tally 7"))
@once_as_agent
def tally(
    own: OnceCaller,
    proposal: ProposalId,
) -> None:
    """Count a vote whose time has ended; the registry does so by itself as well."""
    _show(own.registry.agent.governance.tally(proposal, key=own.key), as_json=own.as_json)


@app.command("cancel", epilog=examples("hansa-client governance cancel 7"))
@once_as_agent
def cancel(
    own: OnceCaller,
    proposal: ProposalId,
) -> None:
    """Cancel an own proposal before another agent has voted."""
    _show(own.registry.agent.governance.cancel(proposal, key=own.key), as_json=own.as_json)


@app.command("power", epilog=examples("hansa-client governance power"))
@as_agent
def power(own: Caller) -> None:
    """Show the stake of the agent, and the part that its votes pin."""
    from .opening import show

    held = own.registry.agent.governance.power()
    until = f" until {held.pinned_until.isoformat(timespec='seconds')}" if held.pinned_until else ""
    show(f"staked {held.staked:f}\npinned {held.pinned:f}{until}", held, as_json=own.as_json)


@app.command("parameters", epilog=examples("hansa-client governance parameters"))
def parameters(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the settings that votes may change."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.agent.governance.parameters()
        show(
            "\n".join(f"{one.name}  {one.value}  {one.source}" for one in found.items), found, as_json=as_json
        )


@app.command("decide", epilog=examples('hansa-client governance decide 7 apply --reason "Agreed."'))
@as_developer
def decide(
    own: Caller,
    proposal: ProposalId,
    act: Annotated[Literal["apply", "decline", "veto"], typer.Argument(help="The decision.")],
    *,
    reason: Reason,
    key: Key = None,
) -> None:
    """Apply, decline or veto a proposal, as an administrator of the platform."""
    decisions = own.registry.decisions
    acts = {"apply": decisions.apply, "decline": decisions.decline, "veto": decisions.veto}
    _show(acts[act](proposal, reason, key=key), as_json=own.as_json)


@app.command("reset", epilog=examples('hansa-client governance reset bond_minimum --reason "An error."'))
@as_developer
def reset(
    own: Caller,
    name: Annotated[str, typer.Argument(help="Name of the setting, as `governance parameters` shows it.")],
    *,
    reason: Reason,
    key: Key = None,
) -> None:
    """Give a setting back to the environment, as an administrator of the platform."""
    from .opening import show

    found = own.registry.decisions.reset(name, reason, key=key)
    show(f"{found.name}  {found.value}  {found.source}", found, as_json=own.as_json)


def _changes(given: list[str], known: "Parameters") -> dict[str, "PolicyChange"]:
    from hansa_client.records.governance import PolicyChange

    values_in_force = {one.name: one.value for one in known.items}
    changes = {}
    for one in given:
        name, _, values = one.partition("=")
        before, separator, after = values.partition(":")
        if not name or not separator:
            raise typer.BadParameter(f"a change is NAME=FROM:TO, got {one!r}")
        in_force = values_in_force.get(name, "")
        changes[name] = PolicyChange(before=_value(before, in_force), after=_value(after, in_force))
    return changes


def _value(text: str, known: "ParameterValue") -> "ParameterValue":
    """The value in the type of the setting's own."""
    if isinstance(known, bool):
        return text == "true" if text in {"true", "false"} else text
    return int(text) if isinstance(known, int) and text.isdigit() else text


def _line(proposal: "Proposal") -> str:
    state = proposal.execution or proposal.status
    return f"{proposal.id}  {state}  for {proposal.votes_for:f}  against {proposal.votes_against:f}  {proposal.title}"


def _show(proposal: "Proposal", *, as_json: bool) -> None:
    from .opening import show

    changes = proposal.policy_diff or {}
    lines = [
        _line(proposal),
        proposal.description,
        *(f"{name}: {one.before} -> {one.after}" for name, one in changes.items()),
        f"abstain {proposal.votes_abstain:f}  voters {proposal.total_voters}  quorum {proposal.quorum_weight:f}",
        f"ends {proposal.end_timestamp.isoformat(timespec='seconds')}",
        *(f"takes effect {at.isoformat(timespec='seconds')}" for at in [proposal.effective_at] if at),
        *(f"reason: {reason}" for reason in [proposal.reason] if reason),
    ]
    show("\n".join(lines), proposal, as_json=as_json)
