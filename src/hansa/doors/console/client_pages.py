"""The client for users of this registry: its wheels, and a page that states their digests and how to install them.

The distributions hansa-client and hansa-verify, on which it depends, as this process has them installed: the wheels are made in memory, with
the same bytes at every registry of this version.

- The files are those of the packages `hansa_client` and `hansa_verify` beside this one, in the order of their names; nothing is compiled or downloaded.
- Entries are stored without compression and bear one fixed date, so that no library decides a byte.
- The metadata is that of `client/pyproject.toml` and `verify/pyproject.toml`, which the distribution hansa contains.
"""

import asyncio
import base64
import hashlib
import io
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

import hansa
from hansa.doors.console.rendering import page
from hansa.doors.console.static_files import PieceByPiece
from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.caller import Public
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import NotFound

router = APIRouter(
    include_in_schema=False,
    default_response_class=HTMLResponse,
    route_class=LazyRoute,
    dependencies=[Depends(within_read_limit)],
)

# Directory of the metadata of each distribution, and its package.
DISTRIBUTIONS = {"client": "hansa_client", "verify": "hansa_verify"}
LONG_AGO = (1980, 1, 1, 0, 0, 0)


class ClientFileUnknown(NotFound):
    """There is no file of the client with this name."""

    code = "CLIENT_FILE_UNKNOWN"
    sentence = "There is no file of the client with this name."
    remedy = "Choose one of the list at /client/."


@router.get("/client/")
async def show_client(_: Public, request: Request) -> HTMLResponse:
    """The client: its wheels with their SHA-256, which `pip install --find-links` reads, and how to install them."""
    wheels = await asyncio.to_thread(client_wheels)
    return page(request, "client.html", wheels=wheels, base_url=runtime_of(request).settings.base_url)


@router.get("/client/{name}")
async def send_client(_: Public, name: str) -> Response:
    """A wheel, or with `.sha256` behind its name a line that `sha256sum --check` reads. Raises: ClientFileUnknown."""
    for wheel in await asyncio.to_thread(client_wheels):
        if name == wheel.name:
            return PieceByPiece(wheel.content, media_type="application/octet-stream")
        if name == f"{wheel.name}.sha256":
            return PlainTextResponse(f"{wheel.sha256}  {wheel.name}\n")
    raise ClientFileUnknown


class Wheel(msgspec.Struct, frozen=True):
    """A wheel: the name of its file, its bytes and their SHA-256 in hex."""

    name: str
    content: bytes
    sha256: str


@cache
def client_wheels() -> tuple[Wheel, ...]:
    """The wheels of hansa-client and hansa-verify."""
    return tuple(_wheel(_metadata(name), package) for name, package in DISTRIBUTIONS.items())


def _wheel(metadata: Path, package: str) -> Wheel:
    project = tomllib.loads((metadata / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (metadata / project["readme"]).read_text(encoding="utf-8")
    stem = f"{package}-{project['version']}"
    files = {**_sources(package), **_information(project, readme, f"{stem}.dist-info")}
    content = _archive(files, f"{stem}.dist-info/RECORD")
    return Wheel(f"{stem}-py3-none-any.whl", content, hashlib.sha256(content).hexdigest())


def _metadata(name: str) -> Path:
    """Directory of `pyproject.toml` and `README.md` of a distribution, in the package or in the checkout."""
    inside = Path(hansa.__file__).parent / "docs" / name
    return inside if inside.is_dir() else Path(hansa.__file__).parents[2] / name


def _sources(package: str) -> dict[str, bytes]:
    beside = Path(hansa.__file__).parents[1]
    return {
        file.relative_to(beside).as_posix(): file.read_bytes()
        for file in sorted((beside / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def _information(project: Mapping[str, Any], readme: str, directory: str) -> dict[str, bytes]:
    wheel = "Wheel-Version: 1.0\nGenerator: hansa\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        f"{directory}/METADATA": "\n".join([*_members(project), "", readme]).encode(),
        f"{directory}/WHEEL": wheel.encode(),
    }
    if scripts := project.get("scripts"):
        commands = "".join(f"{name} = {function}\n" for name, function in scripts.items())
        files[f"{directory}/entry_points.txt"] = f"[console_scripts]\n{commands}".encode()
    return files


def _members(project: Mapping[str, Any]) -> Iterator[str]:
    """The lines of METADATA (the core metadata of Python packages) before the README."""
    yield "Metadata-Version: 2.4"
    yield f"Name: {project['name']}"
    yield f"Version: {project['version']}"
    yield f"Summary: {project['description']}"
    yield f"License-Expression: {project['license']}"
    yield f"Requires-Python: {project['requires-python']}"
    for requirement in project["dependencies"]:
        yield f"Requires-Dist: {requirement}"
    for extra, requirements in project.get("optional-dependencies", {}).items():
        yield f"Provides-Extra: {extra}"
        for requirement in requirements:
            yield f"Requires-Dist: {requirement} ; extra == '{extra}'"
    yield "Description-Content-Type: text/markdown"


def _archive(files: Mapping[str, bytes], record: str) -> bytes:
    """The files and their record, as one archive."""
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    listed = {**files, record: "".join([*lines, f"{record},,\n"]).encode()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
        for name, content in listed.items():
            opened.writestr(zipfile.ZipInfo(name, LONG_AGO), content)
    return archive.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
