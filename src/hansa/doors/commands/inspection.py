"""`hansa status` and `hansa doctor`: how a registry is, whether it runs or not."""

import sys
from typing import TYPE_CHECKING, Any

import typer

from hansa.doors.commands.execution import FAILED, data_directory, print_outcome, run_act, settings_from
from hansa.doors.commands.options import INSPECT, AsJson, DataDir, examples

if TYPE_CHECKING:
    from hansa.doors.diagnosis import Facts

app = typer.Typer()


@app.command(rich_help_panel=INSPECT, epilog=examples("hansa status", "hansa status --json"))
def status(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show processes, database, audit and queues of the registry; exit 1 if it is not ready."""
    from hansa.doors.diagnosis import gather_facts

    settings = settings_from(any_database=True, data_dir=data_dir)
    facts = run_act(gather_facts(settings, data_directory(settings)))
    shown = _state_of(facts)
    print_outcome("\n".join(_lines(shown)), shown, as_json=as_json)
    sys.exit(0 if shown["ready"] else FAILED)


@app.command(rich_help_panel=INSPECT, epilog=examples("hansa doctor", "hansa doctor --json"))
def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check the registry and its machine and suggest fixes; exit 1 if there is a problem."""
    from msgspec.structs import asdict

    from hansa.doors.diagnosis import check, gather_facts

    settings = settings_from(any_database=True, data_dir=data_dir)
    findings = check(run_act(gather_facts(settings, data_directory(settings))))
    lines = [
        f"{one.severity:<8} {one.subject:<12} {one.message}" + (f"; fix: {one.fix}" if one.fix else "")
        for one in findings
    ]
    is_sound = all(one.severity != "problem" for one in findings)
    shown = {"sound": is_sound, "findings": [asdict(one) for one in findings]}
    print_outcome("\n".join(lines), shown, as_json=as_json)
    sys.exit(0 if is_sound else FAILED)


def _state_of(facts: "Facts") -> dict[str, Any]:
    from msgspec.structs import asdict

    answers, database = facts.answers, facts.database
    audit = answers.audit if answers else None
    return {
        "running": bool(facts.processes),
        "ready": answers is not None and answers.ready,
        "not_ready_because": answers.trouble if answers else None,
        "failing_jobs": list(answers.failing_jobs) if answers else [],
        "data_dir": str(facts.data_dir),
        "processes": [
            {
                "pid": one.pid,
                "url": one.url,
                "version": one.version,
                "workers": one.workers,
                "started_at": one.started_at,
            }
            for one in facts.processes
        ],
        "database": {"kind": database.kind, "version": database.version, "trouble": database.trouble},
        "audit": audit
        and {"status": audit["status"], "delta": audit["delta"], "last_cycle": audit["last_cycle"]},
        "queues": [asdict(one) for one in database.queues],
    }


def _lines(state: dict[str, Any]) -> list[str]:
    database, audit = state["database"], state["audit"]
    lines = [f"data directory  {state['data_dir']}"]
    lines += [
        f"running         {one['url']}, process {one['pid']}, version {one['version']},"
        f" {one['workers']} worker{'s' if one['workers'] > 1 else ''}, since {one['started_at']}"
        for one in state["processes"]
    ] or ["running         no"]
    if state["running"]:
        lines.append(
            f"ready           {'yes' if state['ready'] else 'no: ' + str(state['not_ready_because'])}"
        )
    version = f"PostgreSQL {database['version']}" if database["version"] else database["trouble"]
    lines.append(f"database        {database['kind']}, {version}")
    if audit:
        last = f", last cycle at {audit['last_cycle']['checked_at']}" if audit["last_cycle"] else ""
        lines.append(f"audit           {audit['status']}, delta {audit['delta']}{last}")
    lines += [
        f"failing job     {job['name']}: {job['failures']} failures since {job['since']}, {job['error']}"
        for job in state["failing_jobs"]
    ]
    for queue in state["queues"]:
        age = f", oldest {queue['oldest_seconds']:.0f} s" if queue["oldest_seconds"] else ""
        lines.append(f"queue           {queue['name']}: {queue['waiting']} waiting{age}")
    return lines
