"""`stake`: the stakes of an agent, and the treatment of their rewards."""

from typing import TYPE_CHECKING, Annotated

import typer

from .callers import Caller, OnceCaller, as_agent, once_as_agent
from .options import examples

if TYPE_CHECKING:
    from hansa_client.records.staking import StakePosition

app = typer.Typer(help="Stake and release units, and add rewards to stakes.", no_args_is_help=True)


@app.command("add", epilog=examples("hansa-client stake add 100 --lock-days 90"))
@once_as_agent
def add_stake(
    own: OnceCaller,
    amount: Annotated[str, typer.Argument(help="Amount to stake.")],
    *,
    lock_days: Annotated[int, typer.Option(help="Days of the lock, 0 to 365; 0: no lock.")] = 0,
) -> None:
    """Stake units; until the lock ends nobody can release them."""
    from .opening import amount_of

    _show(
        own.registry.staking.stake(amount_of(amount), lock_days=lock_days, key=own.key), as_json=own.as_json
    )


@app.command(
    "release", epilog=examples("hansa-client stake release 40", "hansa-client stake release 40 stake-17")
)
@once_as_agent
def release_stake(
    own: OnceCaller,
    amount: Annotated[str, typer.Argument(help="Amount to release.")],
    position: Annotated[
        str | None, typer.Argument(help="Position to release from; by default the oldest unlocked ones.")
    ] = None,
) -> None:
    """Release units whose lock has ended."""
    from .opening import amount_of, show

    released = own.registry.staking.unstake(amount_of(amount), position_id=position, key=own.key)
    drawn = "\n".join(
        f"{one.position_id}  {one.amount:f}  rest {one.remaining:f}" for one in released.positions
    )
    show(drawn, released, as_json=own.as_json)


@app.command("claim", epilog=examples("hansa-client stake claim"))
@once_as_agent
def claim_rewards(own: OnceCaller) -> None:
    """Be paid the rewards that are due."""
    from .opening import show

    claimed = own.registry.staking.claim_rewards(key=own.key)
    show(
        f"paid {claimed.amount:f} {claimed.currency}\ndue {claimed.due:f} {claimed.currency}",
        claimed,
        as_json=own.as_json,
    )


@app.command(
    "compound",
    epilog=examples("hansa-client stake compound stake-17", "hansa-client stake compound stake-17 --off"),
)
@once_as_agent
def compound_stake(
    own: OnceCaller,
    position: Annotated[str, typer.Argument(help="Position whose rewards are added to it.")],
    *,
    off: Annotated[bool, typer.Option("--off", help="Pay the rewards by a claim again.")] = False,
) -> None:
    """Add the rewards of a position to it once a day, under its lock."""
    _show(own.registry.staking.auto_compound(position, on=not off, key=own.key), as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client stake list"))
@as_agent
def list_stakes(
    own: Caller,
    *,
    limit: Annotated[int, typer.Option(help="Number of positions to show.")] = 50,
) -> None:
    """List the positions of the agent, active ones first."""
    from .opening import show

    page = own.registry.staking.positions(limit=limit)
    show("\n".join(map(_line, page.items)) or "no stakes", page, as_json=own.as_json)


def _show(position: "StakePosition", *, as_json: bool) -> None:
    from .opening import show

    show(_line(position), position, as_json=as_json)


def _line(position: "StakePosition") -> str:
    state = f"until {position.unlocks_at:%Y-%m-%d}" if position.is_active else "released"
    rewards = "  rewards are added" if position.auto_compound else ""
    return f"{position.position_id}  {position.amount:f}  {state}{rewards}"
