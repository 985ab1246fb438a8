"""`hansa jobs`: background work that waits, runs or was given up."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import asdict

from hansa.doors.commands.execution import print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, Reason, examples

if TYPE_CHECKING:
    from hansa.foundation.plumbing.jobs import JobView

app = typer.Typer(help="Background work: mail and scheduled jobs.", no_args_is_help=True)

State = Literal["waiting", "running", "dead"]
JobId = Annotated[int, typer.Argument(help="Job id, as listed by `hansa jobs list`.", min=1)]


@app.command("list", epilog=examples("hansa jobs list --state dead", "hansa jobs list --kind mail --json"))
def list_jobs(
    kind: Annotated[str | None, typer.Option(help="List only jobs of this kind.")] = None,
    state: Annotated[State | None, typer.Option(help="List only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of jobs to list.", min=1, max=1000)] = 50,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List background jobs, the earliest due first."""
    from hansa.doors import offline_commands
    from hansa.foundation.plumbing.jobs import JobFilter

    criteria = JobFilter(kind, state, limit, offset=0)
    found, total = run_act(offline_commands.list_jobs(settings_from(data_dir=data_dir), criteria))
    lines = [_line(job) for job in found]
    if total > len(found):
        lines.append(f"{total - len(found)} more; narrow with --kind and --state, or raise --limit")
    shown = {"jobs": [_members(job) for job in found], "total": total}
    print_outcome("\n".join(lines) or "no jobs", shown, as_json=as_json)


@app.command("retry", epilog=examples('hansa jobs retry 42 --reason "the mail server is back"'))
def retry_job(job_id: JobId, reason: Reason = "", data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Run a job now, with a new series of attempts."""
    from hansa.doors import offline_commands

    run_act(offline_commands.retry_job(settings_from(data_dir=data_dir), job_id, reason or None))
    print_outcome(f"job {job_id} is due now", {"id": job_id, "retried": True}, as_json=as_json)


@app.command("drop", epilog=examples('hansa jobs drop 42 --reason "the address was mistyped"'))
def drop_job(job_id: JobId, reason: Reason = "", data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Delete a job with what it was to send; only mail and answers to forgotten passwords can be dropped."""
    from hansa.doors import offline_commands

    run_act(offline_commands.drop_job(settings_from(data_dir=data_dir), job_id, reason or None))
    print_outcome(f"job {job_id} is dropped", {"id": job_id, "dropped": True}, as_json=as_json)


def _line(job: "JobView") -> str:
    error = f": {job.last_error}" if job.last_error else ""
    due_at = job.due_at.isoformat(timespec="seconds")
    return f"{job.id} {job.kind} {job.key}: {job.state}, due {due_at}, {job.attempts} attempts{error}"


def _members(job: "JobView") -> dict[str, object]:
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in asdict(job).items()
    }
