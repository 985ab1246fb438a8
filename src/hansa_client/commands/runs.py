"""`runs`: runs of pipelines, and the decisions on their steps."""

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .callers import Caller, OnceCaller, as_agent, once_as_agent
from .options import AgentName, AsJson, Limit, ProfileName, examples
from .pipelines import EXAMPLE_ID, PipelineId, did_of

if TYPE_CHECKING:
    from hansa_client.records.pipelines import Run, RunSummary
    from hansa_client.synchronous import Registry

app = typer.Typer(help="Run pipelines, and decide on their steps.", no_args_is_help=True)

POLL_SECONDS = 1.0
RunId = Annotated[str, typer.Argument(help="Id of the run, as `runs list` shows it.")]
StepId = Annotated[str, typer.Argument(help="Id of the step.")]
Budget = Annotated[str | None, typer.Option(help="The most that the run spends in all, without fees.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the run has ended, or waits for somebody.")]
BOTH = f"{EXAMPLE_ID} 7a1b2c3d-0b1a-4c3d-8e9f-001122334455"


@app.command(
    "start",
    epilog=examples(f'hansa-client runs start {EXAMPLE_ID} --input \'{{"text": "Good morning"}}\' --wait'),
)
@once_as_agent
def start(
    own: OnceCaller,
    pipeline: PipelineId,
    *,
    given: Annotated[
        str, typer.Option("--input", help="JSON object that references name as /input/…")
    ] = "{}",
    input_file: Annotated[
        Path | None, typer.Option(help="File with this object, in place of --input.", dir_okay=False)
    ] = None,
    budget: Budget = None,
    wait: Wait = False,
) -> None:
    """Start a run of a pipeline of the agent."""
    from .opening import amount_of, show

    most = None if budget is None else amount_of(budget)
    started = own.registry.pipelines.start(pipeline, _input(given, input_file), budget=most, key=own.key)
    if not wait:
        show(f"The run {started.run_id} is {started.status}.", started, as_json=own.as_json)
        return
    _show(_waited(own.registry, pipeline, started.run_id), as_json=own.as_json)


@app.command("list", epilog=examples(f"hansa-client runs list {EXAMPLE_ID}"))
@as_agent
def list_runs(
    own: Caller,
    pipeline: PipelineId,
    *,
    limit: Limit = 20,
) -> None:
    """List the runs of a pipeline, newest first."""
    from .opening import show

    page = own.registry.pipelines.runs(pipeline, limit=limit)
    show("\n".join(map(_line, page.items)) or "No runs.", page, as_json=own.as_json)


@app.command("show", epilog=examples(f"hansa-client runs show {BOTH}"))
@as_agent
def show_run(
    own: Caller,
    pipeline: PipelineId,
    run: RunId,
    *,
    wait: Wait = False,
) -> None:
    """Show a run with its steps, their costs and answers."""
    found = _waited(own.registry, pipeline, run) if wait else own.registry.pipelines.run(pipeline, run)
    _show(found, as_json=own.as_json)


@app.command("cancel", epilog=examples(f"hansa-client runs cancel {BOTH}"))
@as_agent
def cancel(
    own: Caller,
    pipeline: PipelineId,
    run: RunId,
) -> None:
    """Cancel a run; it ends once its open payments have ended."""
    _show(own.registry.pipelines.cancel(pipeline, run), as_json=own.as_json)


@app.command("resume", epilog=examples(f"hansa-client runs resume {BOTH} --budget 8"))
@once_as_agent
def resume(
    own: OnceCaller,
    pipeline: PipelineId,
    run: RunId,
    *,
    budget: Budget = None,
) -> None:
    """Let a run go on that failed, spent its budget or lacked units; done steps stay."""
    from .opening import amount_of

    most = None if budget is None else amount_of(budget)
    _show(own.registry.pipelines.resume(pipeline, run, budget=most, key=own.key), as_json=own.as_json)


@app.command("approve", epilog=examples(f"hansa-client runs approve {BOTH} review"))
def approve(
    pipeline: PipelineId,
    run: RunId,
    step: StepId,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Let a step go on, as the developer; a step with an unknown end may pay again."""
    from .opening import as_developer

    did = did_of(profile, agent)
    with as_developer(profile) as (registry, _):
        _show(registry.pipelines.approve(pipeline, run, step, did), as_json=as_json)


@app.command("deny", epilog=examples(f"hansa-client runs deny {BOTH} review"))
def deny(
    pipeline: PipelineId,
    run: RunId,
    step: StepId,
    *,
    agent: AgentName = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Let a step fail, as the developer."""
    from .opening import as_developer

    did = did_of(profile, agent)
    with as_developer(profile) as (registry, _):
        _show(registry.pipelines.deny(pipeline, run, step, did), as_json=as_json)


def _input(given: str, file: Path | None) -> dict[str, Any]:
    """The input that was typed, or that of a file. Raises: ValueError, NothingStored."""
    import msgspec

    from .opening import read_json_file

    if file is not None:
        return read_json_file(file, dict[str, Any])
    try:
        return msgspec.json.decode(given, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(f"--input is a JSON object: {error}") from None


def _waited(registry: "Registry", pipeline: str, run: str) -> "Run":
    while (found := registry.pipelines.run(pipeline, run)).is_under_way:
        sleep(POLL_SECONDS)
    return found


def _line(run: "RunSummary") -> str:
    return f"{run.run_id}  {run.status}, spent {run.spent} of {run.budget}"


def _show(run: "Run", *, as_json: bool) -> None:
    from .opening import show

    show("\n".join([_line(run), *map(_step_lines, run.steps)]), run, as_json=as_json)


def _step_lines(step: Any) -> str:
    reason = f" ({step.reason})" if step.reason else ""
    lines = [f"  {step.id}: {step.status}{reason}"]
    lines += [
        f"    attempt {one.n}: {one.status}" + (f", {one.amount}" if one.amount else "")
        for one in step.attempts
    ]
    text = step.output.get("text") if isinstance(step.output, dict) else None
    return "\n".join([*lines, *([f"    {text}"] if text else [])])
