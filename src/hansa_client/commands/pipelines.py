"""`pipelines`: chains of paid calls of an agent, and templates of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .callers import Caller, OnceCaller, as_agent, once_as_agent
from .options import AgentName, AsJson, Key, Limit, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.pipelines import Pipeline, PipelineTemplate

app = typer.Typer(help="Save chains of paid calls with a budget.", no_args_is_help=True)

EXAMPLE_ID = "5f0c1d2e-0b1a-4c3d-8e9f-001122334455"
PipelineId = Annotated[str, typer.Argument(help="Id of the pipeline, as `pipelines list` shows it.")]
Definition = Annotated[
    Path,
    typer.Argument(help="JSON file of {name, description, steps, budget, deadline_seconds}.", dir_okay=False),
]


@app.command("list", epilog=examples("hansa-client pipelines list"))
@as_agent
def list_pipelines(own: Caller, *, limit: Limit = 20) -> None:
    """List the pipelines of the agent, newest first."""
    from .opening import show

    page = own.registry.pipelines.list(limit=limit)
    show("\n".join(map(_line, page.items)) or "No pipelines.", page, as_json=own.as_json)


@app.command("show", epilog=examples(f"hansa-client pipelines show {EXAMPLE_ID} --json"))
@as_agent
def show_pipeline(own: Caller, pipeline: PipelineId) -> None:
    """Show a pipeline with its steps."""
    _show(own.registry.pipelines.read(pipeline), as_json=own.as_json)


@app.command("create", epilog=examples("hansa-client pipelines create chain.json"))
@once_as_agent
def create(
    own: OnceCaller,
    file: Definition,
) -> None:
    """Create a pipeline of the agent from a file."""
    _show(own.registry.pipelines.create(**_read(file), key=own.key), as_json=own.as_json)


@app.command("replace", epilog=examples(f"hansa-client pipelines replace {EXAMPLE_ID} chain.json"))
@once_as_agent
def replace(
    own: OnceCaller,
    pipeline: PipelineId,
    file: Definition,
) -> None:
    """Write a new revision from a file; runs that began before keep theirs."""
    _show(own.registry.pipelines.replace(pipeline, **_read(file), key=own.key), as_json=own.as_json)


@app.command("delete", epilog=examples(f"hansa-client pipelines delete {EXAMPLE_ID}"))
@as_agent
def delete(own: Caller, pipeline: PipelineId) -> None:
    """Delete a pipeline of which every run has ended."""
    from .opening import show

    show(
        f"The pipeline {pipeline} was deleted.", own.registry.pipelines.delete(pipeline), as_json=own.as_json
    )


@app.command("templates", epilog=examples("hansa-client pipelines templates"))
def templates(
    template: Annotated[str | None, typer.Argument(help="Id of one template.")] = None,
    *,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List the templates, or show one with its parameters."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        if template is not None:
            found = registry.pipelines.template(template)
            show(_template_text(found), found, as_json=as_json)
            return
        listed = registry.pipelines.templates()
        lines = [f"{one.id}  {one.title}: {one.description}" for one in listed.items]
        show("\n".join(lines), listed, as_json=as_json)


@app.command(
    "instantiate",
    epilog=examples(
        "hansa-client pipelines instantiate translate-and-review -p translator=did:web:a.example"
        " -p reviewer=did:web:b.example -p max_amount=2"
    ),
)
def instantiate(
    template: Annotated[str, typer.Argument(help="Id of the template.")],
    *,
    parameter: Annotated[
        list[str],
        typer.Option(
            "--parameter",
            "-p",
            help="name=value; give a list by repeating the name with [], as workers[]=DID.",
        ),
    ],
    key: Key = None,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Create a pipeline of the agent from a template, as its developer."""
    from hansa_client.calls import new_key

    from .opening import as_developer, under_key

    once = new_key() if key is None else key
    did = did_of(profile, agent)
    with as_developer(profile) as (registry, _), under_key(once):
        made = registry.pipelines.instantiate(template, did, _parameters(parameter), key=once)
        _show(made, as_json=as_json)


def did_of(profile: str | None, agent: str | None) -> str:
    """The DID of a stored agent."""
    from .opening import reported
    from .profiles import read_profiles

    with reported():
        return read_profiles().named(profile)[1].chosen(agent).did


def _read(file: Path) -> dict[str, Any]:
    """The members of a definition. Raises: NothingStored, ValueError."""
    from .opening import read_json_file

    members = read_json_file(file, dict[str, Any])
    known = {"name", "description", "steps", "budget", "deadline_seconds"}
    if unknown := members.keys() - known:
        raise ValueError(f"{file} has the unknown member {min(unknown)}.")
    if missing := {"name", "steps", "budget"} - members.keys():
        raise ValueError(f"{file} lacks the member {min(missing)}.")
    return members


def _parameters(given: list[str]) -> dict[str, Any]:
    """Parameters by name. Raises: ValueError."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise ValueError(f"A parameter is name=value, got {one!r}.")
        if name.endswith("[]"):
            found.setdefault(name.removesuffix("[]"), []).append(value)
        else:
            found[name] = value
    return found


def _line(pipeline: "Pipeline") -> str:
    return f"{pipeline.id}  {pipeline.name}: {len(pipeline.steps)} steps, budget {pipeline.budget}"


def _show(pipeline: "Pipeline", *, as_json: bool) -> None:
    from .opening import show

    steps = [
        f"  {step['id']}: {step['agent']}, at most {step['max_amount']}"
        + (f", after {', '.join(step['needs'])}" if step["needs"] else "")
        for step in pipeline.steps
    ]
    show("\n".join([_line(pipeline), *steps]), pipeline, as_json=as_json)


def _template_text(template: "PipelineTemplate") -> str:
    lines = [f"  {one.name}: {one.title} ({one.kind})" for one in template.parameters]
    return "\n".join([f"{template.title}: {template.description}", *lines])
