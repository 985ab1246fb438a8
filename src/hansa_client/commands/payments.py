"""`quote`, `buy`, `tokens`, `release` and `settle-many`: payments for calls, one by one at the registry."""

import sys
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer

from .options import USE, AgentName, ApprovalId, AsJson, Key, ProfileName, examples

app = typer.Typer()

Target = Annotated[str, typer.Argument(help="DID of the agent that is paid.")]


@app.command(
    rich_help_panel=USE,
    epilog=examples("hansa-client quote did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427"),
)
def quote(
    target: Target,
    *,
    amount: Annotated[
        str | None, typer.Option(help="This amount instead of the price on the agent's card.")
    ] = None,
    firm: Annotated[
        bool, typer.Option("--firm", help="A quote that the registry signs; --json prints its quote_token.")
    ] = False,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show what a call of an agent would cost now, with the fee."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        quoted = registry.payments.quote(target, amount=amount, firm=firm)
        sentence = f"{quoted.total} {quoted.currency}: {quoted.amount} and a fee of {quoted.fee}"
        if quoted.total is None:
            sentence = (
                f"The price, {quoted.price} {quoted.price_currency}, is not known in {quoted.currency}."
            )
        show(sentence, quoted, as_json=as_json)


@app.command(
    rich_help_panel=USE,
    epilog=examples(
        'hansa-client buy did:hansa:hansa.local:1b4e28ba-2fa1-41d2-883f-0016d3cca427 "Good morning" --max-amount 0.10'
    ),
)
def buy(
    target: Target,
    message: Annotated[str, typer.Argument(help="The message for the agent; - reads standard input.")],
    *,
    max_amount: Annotated[str, typer.Option(help="The most that the call may cost; the fee comes on top.")],
    timeout: Annotated[
        int, typer.Option(min=1, max=60, help="Seconds that the agent has for its answer.")
    ] = 30,
    approval_id: ApprovalId = None,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Let the registry call an agent and pay for it; nothing is paid without an answer."""
    import msgspec

    from . import opening

    text = sys.stdin.read() if message == "-" else message
    with opening.acting(profile, agent, key) as (registry, once):
        bought = registry.payments.buy(
            target, text, max_amount=max_amount, timeout_seconds=timeout, approval_id=approval_id, key=once
        )
        if bought.status != "settled":
            reason = bought.reason or "no reason given"
            opening.fail(f"Nothing was paid: {bought.status}, {reason}.", status=bought.status, reason=reason)
        answer = msgspec.json.encode(bought.answer).decode()
        opening.show(
            f"{answer}\nPaid {bought.amount} {bought.currency}, token {bought.token_id}.",
            bought,
            as_json=as_json,
        )


@app.command(rich_help_panel=USE, epilog=examples("hansa-client tokens --json"))
def tokens(
    *,
    status: Annotated[
        str | None, typer.Option(help="Only tokens of this status, such as authorized.")
    ] = None,
    role: Annotated[
        Literal["payee"] | None, typer.Option(help="payee: the tokens that pay this agent.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the agent's payment tokens, newest first; never the tokens themselves."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        listed = registry.payments.tokens(status=status, role=role, limit=limit)
        lines = [
            f"{one.status}  {one.amount} {one.currency}  {one.target_agent_did}  {one.token_id}"
            for one in listed
        ]
        show("\n".join(lines) or "No tokens.", listed, as_json=as_json)


@app.command(
    rich_help_panel=USE, epilog=examples("hansa-client release 8d3c7e1a-5b0e-4f57-9a1c-2f6f0a6e9b11")
)
def release(
    token_id: Annotated[UUID, typer.Argument(help="Id of the token, as `tokens` shows it.")],
    *,
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Give up a payment token that no service has verified yet."""
    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        released = registry.payments.release(str(token_id), key=key)
        show(f"{released.status}  {released.token_id}", released, as_json=as_json)


@app.command("settle-many", rich_help_panel=USE, epilog=examples("hansa-client settle-many - < tokens"))
def settle_many(
    file: Annotated[
        str, typer.Argument(help="File with one payment token per line; - reads standard input.")
    ],
    *,
    failed: Annotated[
        bool, typer.Option("--failed", help="The calls failed: free the tokens instead of paying them.")
    ] = False,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Settle up to 500 tokens; a refused one does not affect the others."""
    from hansa_client.records.payments import TokenToSettle

    from .opening import as_agent, show

    with as_agent(profile, agent) as registry:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        lines = [TokenToSettle(token=line, success=not failed) for line in text.split()]
        settled = registry.payments.settle_many(lines)
        shown = [
            f"{one.index}  {one.answer.status if one.answer else one.error.code if one.error else one.status}"
            for one in settled.items
        ]
        show("\n".join(shown), settled, as_json=as_json)
