"""catalogue/pulls: every card is due and one host in ten hangs; the same again where nothing has changed, and where nobody hangs.

One server plays all hosts, in a process of its own; each has a name, and calls to it go through the guard as always.
"""

import asyncio
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

import asyncpg
from msgspec.structs import replace

from bench.figures import Figures
from bench.seed import WITHOUT_TIMEOUT, bench_runtime, temporary_directory
from hansa.foundation.plumbing.jobs import run_jobs
from hansa.foundation.plumbing.outgoing import Outgoing
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.rooms.catalogue.pulls import CARD_PULLS

SMALL, LARGE = 400, 10_000
HANGS_EVERY = 10
DOMAIN = "bench.local"
MIB = 1024

_SEED = """
INSERT INTO catalogue_card (uuid, did, developer_id, human_readable_id, name, description, card_data, card_bytes, host,
  is_stub, settlement_currency, trust_domain, name_text, description_text, tags_text, skills_text)
SELECT u, 'did:hansa:hansa.local:' || u, 1, 'bench/h' || n, 'h' || n, '', json_build_object(
  'name', 'h' || n, 'humanReadableId', 'bench/h' || n), 40,
  'http://h' || n || '.bench.local:' || $2::int, true, 'AVT', 'hansa.local', 'h' || n, '', '', ''
FROM generate_series(0, $1::int - 1) n, LATERAL (SELECT gen_random_uuid() u WHERE n = n) AS one
"""

_DONE = "SELECT count(*) FROM catalogue_visit WHERE errand = 'pull' AND outcome IN ('updated', 'unchanged')"
_LEFT = "SELECT count(*) FROM plumbing_job WHERE kind = $1 AND due_at <= now()"

HOSTS = """
import asyncio, sys

CARD = (b'{"name": "%s", "description": "A card that its agent serves.", "version": "1.0.0", "supportedInterfaces": '
  b'[{"url": "https://%s/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}], "capabilities": {}, '
  b'"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": '
  b'[{"id": "main", "name": "Main", "description": "What it does.", "tags": ["bench"]}]}')

async def meet(reader, writer):
    try:
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        name = head.lower().partition(b"host: ")[2].partition(b"\\r\\n")[0]
        if int(sys.argv[1]) and int(name[1:name.index(b".")]) % int(sys.argv[1]) == 0:
            await reader.read()
        elif b"if-none-match" in head.lower():
            writer.write(b"HTTP/1.1 304 X\\r\\nConnection: close\\r\\n\\r\\n")
        else:
            card = CARD % (name, name)
            writer.write(b'HTTP/1.1 200 OK\\r\\nETag: "1"\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(card))
            writer.write(card)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    writer.close()

async def main():
    server = await asyncio.start_server(meet, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count = LARGE if full else SMALL
    for hangs_every in (0, HANGS_EVERY):
        async with (
            temporary_directory() as directory,
            bench_runtime(directory) as runtime,
            hosts(hangs_every) as port,
        ):
            connection = await asyncpg.connect(runtime.database.dsn, server_settings=WITHOUT_TIMEOUT)
            await connection.execute(_SEED, count, port)
            await connection.execute("VACUUM ANALYZE")
            await _measure(figures, calling(runtime, count, port), connection, count, hangs_every)
            await connection.close()
    return figures


async def _measure(
    figures: Figures,
    runtime: Runtime,
    connection: "asyncpg.Connection[asyncpg.Record]",
    count: int,
    hangs_every: int,
) -> None:
    whose = "one in ten hangs" if hangs_every else "nobody hangs"
    healthy = count - (-(-count // hangs_every) if hangs_every else 0)
    for what in ("new cards", "unchanged cards"):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        served, whole = await _pull_all(runtime, connection, healthy)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MIB
        figures.add(f"{what}, {whose}: those served", "/s", [healthy / served])
        figures.add(f"{what}, {whose}: until all are done", "s", [whole])
        figures.add(f"{what}, {whose}: memory grows by", "MiB", [grown])
    returned = await connection.fetchval(
        "SELECT count(*) FROM journal_event WHERE event_type = 'AgentCardPulled'"
    )
    failed = await connection.fetchval("SELECT count(*) FROM catalogue_card WHERE pull_failures > 0")
    figures.books_are_sound &= (returned, failed) == (healthy, count - healthy)


async def _pull_all(
    runtime: Runtime, connection: "asyncpg.Connection[asyncpg.Record]", healthy: int
) -> tuple[float, float]:
    """Seconds until every host that answers was served, and until every visit has ended."""
    await connection.execute("UPDATE catalogue_visit SET outcome = NULL")
    await connection.execute("UPDATE plumbing_job SET due_at = now() WHERE kind = $1", CARD_PULLS.name)
    began = perf_counter()
    working = asyncio.create_task(run_jobs(runtime, [CARD_PULLS]))
    while await connection.fetchval(_DONE) < healthy:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    served = perf_counter() - began
    while await connection.fetchval(_LEFT, CARD_PULLS.name):  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    whole = perf_counter() - began
    working.cancel()
    await asyncio.wait([working])
    return served, whole


def calling(runtime: Runtime, count: int, port: int) -> Runtime:
    """The runtime whose operator lets it call the hosts of the bench, all of them on this machine."""

    async def lookup(_name: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    allowed = frozenset(f"h{number}.{DOMAIN}:{port}" for number in range(count))
    settings = runtime.settings.model_copy(update={"outgoing_allow_user_hosts": allowed})
    return replace(runtime, settings=settings, outgoing=Outgoing((), allowed, lookup=lookup))


@asynccontextmanager
async def hosts(hangs_every: int) -> AsyncIterator[int]:
    """The hosts, in a process of their own; yields their port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOSTS, str(hangs_every), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()
