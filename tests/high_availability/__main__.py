"""Lose, hang and switch the leader of the database under load, and prove that nothing was lost and nothing happened twice.

    python -m tests.high_availability [--kills 1] [--hangs 1]

Prints one row for each event: the longest time without an acknowledged operation, and the answers meanwhile. Ends with 1 when
an acknowledged operation is missing, something happened twice, or a client got an answer that it cannot act on.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic

import asyncpg

from tests import debian_packages
from tests.high_availability.cluster import PACKAGES, Cluster, install_patroni, replaced, running_cluster
from tests.operation import lowest_postgresql, nginx
from tests.operation.history import Answer, History, Outcome, read_history
from tests.operation.nothing_lost import find_what_is_wrong, rude_answers
from tests.operation.proxies import DEPLOYED, UPSTREAMS
from tests.operation.registry_process import RegistryProcess, free_port
from tests.operation.storm import Storm

CLIENTS = 8
SEED = 11
# Longer than a statement of the registry may take: commits that wait for a standby time out and are repeated.
STALL_SECONDS = 45.0
PAUSE_SECONDS = 0.1
GOES_ON_SECONDS = 180.0

Event = Callable[[Cluster], Awaitable[None]]


class TimedHistory(History):
    """Remembers when operations were acknowledged, and the answers since the last event."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.last = monotonic()
        self.longest = 0.0
        self.acknowledged = 0
        self.statuses: Counter[int] = Counter()

    def record_answer(self, asked: int, answer: Answer) -> None:
        super().record_answer(asked, answer)
        self.statuses[answer.status] += 1
        if answer.is_success:
            now = monotonic()
            self.longest, self.last = max(self.longest, now - self.last), now
            self.acknowledged += 1

    def begin_event(self) -> None:
        """Count from now on."""
        self.longest, self.last = 0.0, monotonic()
        self.statuses.clear()

    async def goes_on(self) -> None:
        """Wait until more is acknowledged than clients have under way."""
        enough = self.acknowledged + 2 * CLIENTS
        async with asyncio.timeout(GOES_ON_SECONDS):
            while self.acknowledged < enough:  # noqa: ASYNC110
                await asyncio.sleep(PAUSE_SECONDS)


async def lose_the_machine(cluster: Cluster) -> None:
    (await cluster.leader()).kill()


async def hang_the_machine(cluster: Cluster) -> None:
    (await cluster.leader()).signal(signal.SIGSTOP)


async def kill_postgresql(cluster: Cluster) -> None:
    (await cluster.leader()).signal(signal.SIGKILL, database_alone=True)


async def stall_the_stream_then_lose_the_machine(cluster: Cluster) -> None:
    leader = await cluster.leader()
    leader.stall()
    await asyncio.sleep(STALL_SECONDS)
    leader.kill()


async def heal(cluster: Cluster) -> None:
    """Let every machine run again, and wait until the cluster is whole."""
    for machine in cluster.machines:
        machine.signal(signal.SIGCONT)
        if not machine.is_running:
            machine.start()
    await cluster.until_whole()


@asynccontextmanager
async def _registry(cluster: Cluster) -> AsyncIterator[str]:
    """Two machines of the registry behind HAProxy; yields the address of the proxy."""
    settings = {"DATABASE_URL": cluster.dsn, "GENESIS_SUPPLY": "90000000000", "TRUSTED_PROXIES": "127.0.0.1"}
    machines = [
        RegistryProcess(cluster.folder / name, port=free_port(), as_program=True, **settings)
        for name in ("one", "two")
    ]
    async with AsyncExitStack() as stack:
        for number, machine in enumerate(machines):
            if number:
                machine.data_dir.mkdir(mode=0o700)
                (machine.data_dir / "keys").symlink_to(machines[0].data_dir / "keys")
            stack.push_async_callback(machine.kill)
            await machine.start()
        port = free_port()
        addresses = (machine.url.removeprefix("http://") for machine in machines)
        # Clients of the storm have addresses of their own, and TLS is a matter of other tests.
        meant = {
            **dict(zip(UPSTREAMS, addresses, strict=True)),
            "bind :443 ssl crt /etc/haproxy/hansa.pem alpn http/1.1": f"bind 127.0.0.1:{port}",
            "  http-request set-header X-Forwarded-For %[src]\n": "",
        }
        file = cluster.folder / "haproxy.cfg"
        file.write_text(replaced((DEPLOYED / "haproxy.cfg").read_text(), meant))
        packages = cluster.machines[0].packages
        process = await asyncio.create_subprocess_exec(
            *(packages.program("haproxy"), "-db", "-f", str(file)),
            env=packages.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        stack.callback(process.kill)
        await nginx.until_it_listens(process, port)
        yield f"http://127.0.0.1:{port}"


async def _run(kills: int, hangs: int, folder: Path) -> list[str]:
    """The faults that were found."""
    events: list[tuple[str, Event]] = [
        *[("the leader's machine is lost", lose_the_machine)] * kills,
        *[("the leader's machine hangs", hang_the_machine)] * hangs,
        ("PostgreSQL of the leader is killed", kill_postgresql),
        ("planned switchover", Cluster.switch_over),
        ("the stream stalls, then the leader is lost", stall_the_stream_then_lose_the_machine),
    ]
    history = TimedHistory(folder / "history.jsonl")
    async with running_cluster(folder) as cluster, _registry(cluster) as url:
        storm = Storm(url, history, SEED, clients=CLIENTS, agents=CLIENTS)
        try:
            await storm.gather()
            storm.rage()
            print(f"{'event':<44} {'gap':>6}  acknowledged  answers meanwhile", flush=True)
            for name, event in events:
                await history.goes_on()
                history.begin_event()
                await event(cluster)
                await history.goes_on()
                answers = ", ".join(
                    f"{count} x {status}" for status, count in sorted(history.statuses.items())
                )
                print(
                    f"{name:<44} {history.longest:5.1f}s  {history.acknowledged:>12}  {answers}", flush=True
                )
                await heal(cluster)
            await history.goes_on()
            await storm.calm()
            await storm.settle([one for one in read_history(history.path) if one.outcome is Outcome.UNKNOWN])
        finally:
            await storm.close()
            history.close()
        operations = read_history(history.path)
        leader = await cluster.leader()
        connection = await asyncpg.connect(
            f"postgresql://postgres:replace-this@127.0.0.1:{leader.database}/hansa"
        )
        try:
            findings = [str(finding) for finding in await find_what_is_wrong(connection, operations)]
        finally:
            await connection.close()
        return [*findings, *rude_answers(operations)]


def main() -> int:
    """Run with the numbers of the command line."""
    options = argparse.ArgumentParser(prog="python -m tests.high_availability")
    options.add_argument("--kills", type=int, default=1)
    options.add_argument("--hangs", type=int, default=1)
    chosen = options.parse_args()
    try:
        lowest_postgresql.get()
        debian_packages.unpack(*PACKAGES)
        install_patroni()
    except (lowest_postgresql.NoServer, OSError, subprocess.SubprocessError) as error:
        reason = " ".join(str(error).split())
        print(f"make test-ha needs Debian's packages {', '.join(PACKAGES)}: {reason}", file=sys.stderr)
        return 2
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="hansa-ha-") as directory:
        Path(directory).chmod(0o755)
        faults = asyncio.run(_run(chosen.kills, chosen.hangs, Path(directory)))
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in {monotonic() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
