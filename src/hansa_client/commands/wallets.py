"""`wallet`: the wallets whose signatures pay for an agent."""

from pathlib import Path
from typing import Annotated

import typer

from .callers import Caller, as_agent
from .options import examples

app = typer.Typer(help="Bind, list and delete wallets that pay for an agent.", no_args_is_help=True)

Address = Annotated[str, typer.Argument(help="Address of the wallet: 0x and 40 hexadecimal digits.")]
ADDRESS = "0x857b06519E91e3A54538791bDbb0E22373e36b66"


@app.command("challenge", epilog=examples(f"hansa-client wallet challenge {ADDRESS} > challenge"))
@as_agent
def challenge_wallet(own: Caller, address: Address) -> None:
    """Print the text that the wallet has to sign as a personal message (EIP-191)."""
    from .opening import show

    asked = own.registry.wallets.challenge(address)
    show(asked.challenge, asked, as_json=own.as_json)


@app.command("bind", epilog=examples(f"hansa-client wallet bind {ADDRESS} challenge signature"))
@as_agent
def bind_wallet(
    own: Caller,
    address: Address,
    challenge: Annotated[Path, typer.Argument(help="File with the challenge, as `challenge` printed it.")],
    signature: Annotated[
        Path, typer.Argument(help="File with the wallet's signature of it, 0x and 65 bytes.")
    ],
) -> None:
    """Bind a wallet to the agent: from then on its signatures pay from the agent's account."""
    from .opening import show

    signed = signature.read_text().strip()
    bound = own.registry.wallets.bind(address, challenge.read_text().rstrip("\n"), signed)
    show(f"{bound.address} pays for {bound.agent_did}.", bound, as_json=own.as_json)


@app.command("list", epilog=examples("hansa-client wallet list"))
@as_agent
def list_wallets(
    own: Caller,
) -> None:
    """List the agent's wallets, and the address by which wallets pay it."""
    from .opening import show

    found = own.registry.wallets.list()
    lines = [f"{one.address}  bound {one.bound_at.isoformat(timespec='seconds')}" for one in found.wallets]
    lines.append(f"Wallets pay this agent at {found.receive_address}.")
    show("\n".join(lines), found, as_json=own.as_json)


@app.command("delete", epilog=examples(f"hansa-client wallet delete {ADDRESS}"))
@as_agent
def delete_wallet(own: Caller, address: Address) -> None:
    """Let a wallet sign for the agent no longer."""
    from .opening import show

    unbound = own.registry.wallets.delete(address)
    show(f"{unbound.address} pays for the agent no longer.", unbound, as_json=own.as_json)
