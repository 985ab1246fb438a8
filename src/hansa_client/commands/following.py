"""Events that are followed until the user ends it, also while the registry is away for a time."""

from time import sleep
from typing import NoReturn

import typer

from hansa_client.errors import ServerFailed, Unreachable
from hansa_client.synchronous.events import Following

from .printing import one_line, print_event

OUTAGE_SECONDS = 5.0


def follow_on(following: Following, *, as_json: bool) -> NoReturn:
    """Print events; an outage is named once. Raises: Unreachable where the registry never answered, Refusal."""
    named_at: str | None = None
    while True:
        try:
            for event in following:
                print_event(event, as_json=as_json)
        except (Unreachable, ServerFailed) as error:
            if following.position is None:
                raise
            if named_at != following.position:
                typer.echo(one_line(f"{error}".rstrip(".") + ". Trying again."), err=True)
            named_at = following.position
            sleep(OUTAGE_SECONDS)
