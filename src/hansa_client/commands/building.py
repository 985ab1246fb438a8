"""`build-agent`: the project of an agent that runs and is paid."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from .options import USE, AsJson, ProfileName, examples

app = typer.Typer()

BuilderType = Literal["simple_wrapper", "adk_agent", "paid_function", "mcp_server"]


@app.command(
    "build-agent",
    rich_help_panel=USE,
    epilog=examples(
        'hansa-client build-agent counter.zip --name Counter --description "Counts words." --type paid_function --price 0.05',
        'hansa-client build-agent oracle.zip --name Oracle --description "Answers." --type simple_wrapper --wrapper-url https://oracle.example/',
    ),
)
def build_agent(
    file: Annotated[Path, typer.Argument(help="File to write, a zip archive; it is not overwritten.")],
    *,
    name: Annotated[str, typer.Option(help="Name of the agent.")],
    description: Annotated[str, typer.Option(help="One sentence about what it does.")],
    builder_type: Annotated[BuilderType, typer.Option("--type", help="Type of the agent.")],
    handle: Annotated[str | None, typer.Option(help="Its humanReadableId, org/name.")] = None,
    price: Annotated[str | None, typer.Option(help="Price of one call; none: free.")] = None,
    wrapper_url: Annotated[
        str | None, typer.Option(help="simple_wrapper: address of your service, which gets each message.")
    ] = None,
    wrapper_timeout: Annotated[
        int | None, typer.Option(help="simple_wrapper: maximum seconds of one answer.")
    ] = None,
    adk_model: Annotated[str | None, typer.Option(help="adk_agent: name of the model.")] = None,
    adk_instruction: Annotated[str | None, typer.Option(help="adk_agent: instruction of the model.")] = None,
    did: Annotated[
        str | None, typer.Option(help="DID of an agent that you operate, for which the project is.")
    ] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Write the project of an agent that runs and is paid: code, card, Dockerfile and tests."""
    from .opening import amount_of, as_developer, show

    with as_developer(profile) as (registry, _):
        content = registry.agents.build_project(
            name,
            description,
            builder_type,
            human_readable_id=handle,
            price=None if price is None else amount_of(price),
            wrapper_url=wrapper_url,
            wrapper_timeout_seconds=wrapper_timeout,
            adk_model=adk_model,
            adk_instruction=adk_instruction,
            agent_did=did,
        )
        with file.open("xb") as opened:
            opened.write(content)
    show(f"{file}  {len(content)} bytes", {"file": str(file), "bytes": len(content)}, as_json=as_json)
