"""federation/quiet-peers: CPU of a registry with a hundred peers in which nothing happens, in per cent of one core.

The peers are answered for by this process, and read the registry as often as it reads them. What the registry uses without
peers is measured first and taken off.
"""

import asyncio
from contextlib import AsyncExitStack
from time import monotonic

from bench.federation_crossings import End, beside, prepared, serving
from bench.figures import Figures
from bench.http_transfer import PAYERS
from bench.process_cpu import used_alone, used_by
from bench.quiet_peers_stub import QuietPeer, answering, quiet_peer, reading
from bench.seed import temporary_directory
from hansa.foundation.plumbing.authority import IdentityAuthority
from hansa.foundation.plumbing.keys import Keyring
from hansa.rooms import federation

PEERS, PEERS_FULL = 20, 100
SETTLING_SECONDS = 60
SECONDS, SECONDS_FULL = 120, 300
TARGET = 2.0
FIRST_PORT = 21_000


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count, seconds = (PEERS_FULL, SECONDS_FULL) if full else (PEERS, SECONDS)
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(temporary_directory()) for _ in range(2)]
        stubs = [quiet_peer(number, FIRST_PORT + number, homes[1]) for number in range(count)]
        places = ",".join(f"127.0.0.1:{one.port}" for one in stubs)
        (end,) = await prepared(homes[:1], PAYERS + 1, {"OUTGOING_ALLOW_HOSTS": places})
        service = await stack.enter_async_context(serving(end))
        await asyncio.sleep(SETTLING_SECONDS)
        alone = await _share(service.pid, seconds)
        authority = IdentityAuthority(Keyring(end.directory), end.trust_domain)
        await stack.enter_async_context(answering(stubs, authority.bundle_pem))
        await _befriend(end, stubs)
        spiffe_id = federation.registry_id_of(end.trust_domain, end.settings["REGISTRY_NAME"])
        base_url = end.settings["FEDERATION_BASE_URL"]
        troubles = await stack.enter_async_context(reading(stubs, base_url, spiffe_id, authority.bundle_pem))
        await asyncio.sleep(SETTLING_SECONDS)
        troubles.clear()
        whole = await _share(service.pid, seconds)
    figures.add("a registry without peers", "% of a core", [alone[0]])
    figures.add(f"{count} quiet peers, above that", "% of a core", [whole[0] - alone[0]])
    figures.add("of this the service process", "% of a core", [whole[1] - alone[1]])
    figures.add("each peer", "% of a core", [(whole[0] - alone[0]) / count])
    figures.notes.append(
        f"target: {PEERS_FULL} quiet peers {TARGET} %; {len(troubles)} troubles {troubles[:3]}"
    )
    figures.notes.append("sound: every call of the peers is answered")
    figures.books_are_sound = not troubles
    return figures


async def _befriend(end: End, stubs: list[QuietPeer]) -> None:
    async with beside(end) as runtime:
        for new in [stub.as_new() for stub in stubs]:
            await runtime.database.act(lambda tx, new=new: federation.add_peer(tx, new))  # type: ignore[misc]


async def _share(pid: int, seconds: float) -> tuple[float, float]:
    """Per cent of a core that the service with its database used meanwhile, and that the service process used."""
    began, whole, service = monotonic(), used_by(pid), used_alone(pid)
    await asyncio.sleep(seconds)
    share = 100 / (monotonic() - began)
    return (used_by(pid) - whole) * share, (used_alone(pid) - service) * share
