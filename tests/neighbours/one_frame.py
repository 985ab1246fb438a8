"""A frame and operator registries of it, in this process, over real sockets and real mutual TLS.

Use, as `two_registries.py`; all share one trust domain and one unit:

    async with frame_with_operators(database_farm, directory, "north", "south") as one:
        one.frame, one.operators           # Neighbours: one.operators[0].registry, .call(other, …), .peer(other)

- `joined=True`: each operator has accepted an invitation of the frame, and the operators are peers of each other, all of them active.
- `joined=False`: nobody has invited anybody; `enrol(frame, operator)` and `join(one, other)` are the two commands.
- `frame={...}` gives settings to the frame, `each={...}` to every operator.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from hansa.rooms import federation
from hansa.rooms.federation import PeerRecord
from hansa.rooms.federation.did_claims import CLAIM_DIDS
from hansa.rooms.federation.peers import READ_A_PEER
from tests.doors.served import listen_again, use_again
from tests.neighbours.two_registries import Neighbour, opened
from tests.registry import DatabaseFarm, TestAgent
from tests.running_jobs import run_due

FRAME = "frame.example"
WEEK = timedelta(days=7)


@dataclass(frozen=True)
class OneFrame:
    """The registries of one trust domain."""

    frame: Neighbour
    operators: tuple[Neighbour, ...]

    @property
    def all(self) -> tuple[Neighbour, ...]:
        return (self.frame, *self.operators)


@asynccontextmanager
async def frame_with_operators(
    farm: DatabaseFarm,
    directory: Path,
    *names: str,
    joined: bool = True,
    frame: dict[str, object] | None = None,
    each: dict[str, object] | None = None,
) -> AsyncIterator[OneFrame]:
    """A frame and operators of these names that serve, peers of each other unless `joined` is false."""
    sockets = [listen_again() for _ in range(2 * (len(names) + 1))]
    ports = [socket.getsockname()[1] for socket in sockets]
    places = [f"127.0.0.1:{port}" for port in ports]

    def begun(name: str, number: int, more: dict[str, object]) -> Any:
        first, second = 2 * number, 2 * number + 1
        given: dict[str, object] = {
            "trust_domain": FRAME,
            "registry_name": name,
            "port": ports[first],
            "federation_port": ports[second],
            "public_base_url": f"http://{places[first]}",
            "federation_base_url": f"https://{places[second]}",
            "outgoing_allow_hosts": places,
            **more,
        }
        return opened(farm, directory / name, [sockets[first], sockets[second]], given)

    async with AsyncExitStack() as stack:
        mainframe = await stack.enter_async_context(begun("mainframe", 0, frame or {}))
        as_operator = {"registry_tier": "cloud-operator", **(each or {})}
        operators = [
            await stack.enter_async_context(begun(name, number, as_operator))
            for number, name in enumerate(names, 1)
        ]
        if joined:
            for operator in operators:
                await enrol(mainframe, operator)
            for one, other in combinations(operators, 2):
                await join(one, other)
        yield OneFrame(mainframe, tuple(operators))
    use_again(*ports)


async def enrol(frame: Neighbour, operator: Neighbour) -> PeerRecord:
    """Join an operator to its frame by the two commands, and return the operator's record of the frame."""
    return await join(frame, operator, operator=operator.registry.settings.registry_name)


async def join(one: Neighbour, other: Neighbour, *, operator: str | None = None) -> PeerRecord:
    """`hansa peer invite` at one and `hansa peer accept` at the other; both have read each other afterwards."""
    invitation = await invitation_of(one, operator)
    accepting = federation.accept(other.registry.runtime, None, invitation, 10**12)
    accepted = await following(one, other, accepting)
    await following(one, other, run_due(one.registry.runtime, READ_A_PEER))
    return accepted.peer


async def invitation_of(one: Neighbour, operator: str | None = None) -> str:
    """Return the invitation that `hansa peer invite` prints."""
    return (await federation.invite(one.registry.runtime, None, WEEK, operator)).text


async def following(one: Neighbour, other: Neighbour, act: Any) -> Any:
    """The result of an act, while the listeners take up new roots and certificates as they do each second."""

    async def follow() -> None:
        while True:
            await one.trust_followed()
            await other.trust_followed()
            await asyncio.sleep(0.05)

    task = asyncio.create_task(follow())
    try:
        return await act
    finally:
        task.cancel()
        await one.trust_followed()
        await other.trust_followed()


async def claimed(*registries: Neighbour) -> None:
    """The job of each operator claims its DIDs at the frame."""
    for one in registries:
        await run_due(one.registry.runtime, CLAIM_DIDS)


async def agent_of(one: Neighbour, **card: Any) -> TestAgent:
    """A new agent of an operator, whose DID the frame has confirmed."""
    agent = await one.registry.agent(**card)
    await claimed(one)
    return agent
