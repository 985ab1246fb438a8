"""`hansa journal follow` and `forget`: the events of the registry for a stream of NATS."""

import re
from pathlib import Path
from typing import Annotated

import typer

from hansa.doors.commands.execution import USAGE_ERROR, fail, print_outcome, run_act, settings_from
from hansa.doors.commands.options import AsJson, DataDir, examples

NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
PREFIX = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,7}")

app = typer.Typer()


@app.command(
    epilog=examples(
        "hansa journal follow --nats nats://127.0.0.1:4222",
        "hansa journal follow --nats tls://nats.example:4222 --creds hansa.creds --until-caught-up",
    )
)
def follow(
    *,
    nats: Annotated[
        str, typer.Option(envvar="HANSA_NATS_URL", help="Address of the NATS server.", metavar="URL")
    ],
    stream: Annotated[
        str, typer.Option(help="Stream of JetStream; made where it is missing.")
    ] = "HANSA_JOURNAL",
    subject: Annotated[
        str, typer.Option(help="Prefix of the subjects; the type of the event follows.")
    ] = "hansa.journal",
    name: Annotated[
        str, typer.Option(help="Name of this follower, under which its position is stored.")
    ] = "nats",
    creds: Annotated[Path | None, typer.Option(help="File with credentials of NATS.")] = None,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="End when no event is left.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Publish each event once, in the order of the journal, and go on with new ones; also works while the registry runs."""
    from hansa.doors import offline_commands
    from hansa.doors.journal_following import Target

    for option, value in (("--stream", stream), ("--name", name)):
        if not NAME.fullmatch(value):
            fail(
                f"{option} {value!r} is refused; allowed are 1 to 80 letters, digits, hyphens and underscores.",
                USAGE_ERROR,
            )
    if not PREFIX.fullmatch(subject):
        fail(
            f"--subject {subject!r} is refused; allowed are words of letters, digits, hyphens and underscores, with dots between them.",
            USAGE_ERROR,
        )
    target = Target(nats, stream, subject, creds)
    following = offline_commands.follow_journal(
        settings_from(data_dir=data_dir), target, name, until_caught_up=until_caught_up
    )
    count, trouble = run_act(following)
    if trouble is not None:
        fail(f"{trouble} ({count} events were published)")
    print_outcome(
        f"{count} events published to {stream}", {"published": count, "stream": stream}, as_json=as_json
    )


@app.command(epilog=examples("hansa journal forget nats --data-dir /srv/hansa"))
def forget(
    name: Annotated[str, typer.Argument(help="Name of the follower.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remove a follower that publishes no more: `hansa journal drop` does not wait for it; under its name a new one begins."""
    from hansa.doors import offline_commands

    run_act(offline_commands.forget_follower(settings_from(data_dir=data_dir), name))
    print_outcome(f"follower {name} removed", {"name": name}, as_json=as_json)
