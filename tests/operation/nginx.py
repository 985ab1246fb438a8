"""A real nginx for the tests of deployments: Debian's package, installed where it is absent."""

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from tests import debian_packages

START_SECONDS = 120
SYSTEM_PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"

HEAD = """
daemon off;
pid {directory}/nginx.pid;
error_log stderr;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
"""


@cache
def nginx() -> str:
    """The program. Where there is none, Debian's package is installed."""
    found = shutil.which("nginx", path=SYSTEM_PATHS)
    if found is None:
        debian_packages.install("nginx-light")
        found = shutil.which("nginx", path=SYSTEM_PATHS)
    assert found, "nginx is needed: apt-get install nginx-light"
    return found


@asynccontextmanager
async def proxying(directory: Path, server: str, port: int) -> AsyncIterator[None]:
    """Run nginx with one `server` block that listens on a port."""
    configuration = _configured(directory, server)
    process = await asyncio.create_subprocess_exec(
        nginx(), "-p", str(directory), "-c", str(configuration), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
    )
    try:
        await until_it_listens(process, port)
        yield
    finally:
        process.terminate()
        await process.wait()


def _configured(directory: Path, server: str) -> Path:
    directory.mkdir()
    configuration = directory / "nginx.conf"
    configuration.write_text(HEAD.format(directory=directory) + server + "}\n")
    return configuration


async def until_it_listens(process: Process, port: int) -> None:
    """Wait until a proxy takes connections; one that ended says why."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            assert process.returncode is None, (await process.communicate())[1].decode()
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
