"""Proxies in front of a registry, as `deploy/ha` configures them: the program of each, and its file with the places of a test."""

import asyncio
import shlex
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import debian_packages
from tests.operation import nginx
from tests.outside import Authority

DEPLOYED = Path(__file__).parents[2] / "deploy" / "ha"
CADDYFILE = DEPLOYED.with_name("Caddyfile")
NAME = "registry.example.org"
UPSTREAMS = ("10.0.0.1:8000", "10.0.0.2:8000")
START_SECONDS = 120


@dataclass(frozen=True)
class Places:
    """The places of a test: the directory with the certificates, the port of the proxy, the machines of the registry."""

    directory: Path
    port: int
    machines: tuple[str, str]

    def in_file(self, name: str, **stated: str) -> str:
        """A file of `deploy/ha` with these places; `stated` maps what it has to what is meant."""
        text = (DEPLOYED / name).read_text()
        meant = {**dict(zip(UPSTREAMS, self.machines, strict=True)), **stated}
        for one, other in meant.items():
            assert one in text, one
            text = text.replace(one, other)
        return text


def certify(directory: Path) -> Authority:
    """Write the certificates that the files name, all by one authority."""
    authority = Authority()
    authority.server(directory, NAME)
    both = (directory / f"{NAME}.pem").read_text()
    for file in ("fullchain.pem", "privkey.pem", "hansa.pem"):
        (directory / file).write_text(both)
    return authority


@asynccontextmanager
async def by_nginx(places: Places) -> AsyncIterator[None]:
    certificates = str(places.directory)
    text = places.in_file(
        "nginx.conf",
        **{"listen 443": f"listen 127.0.0.1:{places.port}", "/etc/nginx/hansa": certificates},
    )
    async with nginx.proxying(places.directory / "nginx", text, places.port):
        yield


@asynccontextmanager
async def by_haproxy(places: Places) -> AsyncIterator[None]:
    text = places.in_file(
        "haproxy.cfg",
        **{"bind :443": f"bind 127.0.0.1:{places.port}", "/etc/haproxy": str(places.directory)},
    )
    file = places.directory / "haproxy.cfg"
    file.write_text(text)
    packages = debian_packages.unpack("haproxy")
    async with _running(
        packages.program("haproxy"), "-db", "-f", str(file), packages=packages, port=places.port
    ):
        yield


@asynccontextmanager
async def by_caddy(places: Places) -> AsyncIterator[None]:
    stated = variables_in(places.in_file("caddy.conf", **{"/etc/caddy": str(places.directory)}))
    async with caddy(places.directory, places.port, **{**stated, "REGISTRY_HOST": f"{NAME}:{places.port}"}):
        yield


@asynccontextmanager
async def caddy(directory: Path, port: int, **variables: str) -> AsyncIterator[None]:
    """Run Caddy with the file of `deploy` and these variables of it."""
    file = directory / "Caddyfile"
    # Neither an interface of administration nor a port for redirects, which are those of the machine.
    head = "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n"
    file.write_text(head + CADDYFILE.read_text())
    packages = debian_packages.unpack("caddy")
    command = (packages.program("caddy"), "run", "--config", str(file), "--adapter", "caddyfile")
    async with _running(*command, packages=packages, port=port, HOME=str(directory), **variables):
        yield


def variables_in(unit: str) -> dict[str, str]:
    """The variables that a unit of systemd sets."""
    lines = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("Environment=")]
    return dict(word.split("=", 1) for line in lines for word in shlex.split(line))


@asynccontextmanager
async def _running(
    *command: str, packages: debian_packages.Unpacked, port: int, **environment: str
) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env={**packages.environment, **environment}
    )
    try:
        await nginx.until_it_listens(process, port)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        # What it writes is read, so that it never waits for a reader.
        await process.communicate()


PROXIES: dict[str, Callable[[Places], AbstractAsyncContextManager[None]]] = {
    "nginx": by_nginx,
    "haproxy": by_haproxy,
    "caddy": by_caddy,
}
