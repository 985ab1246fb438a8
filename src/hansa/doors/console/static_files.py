"""The files of the pages: listed and read once, held compressed and as they are, and sent piece by piece.

A file that is looked up and read for each request takes a thread each time; of a client that does not read its answers,
this was most of its cost.
"""

import asyncio
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from hansa.foundation.plumbing.telemetry.lines import IS_GONE
from hansa.foundation.plumbing.web.content_encoding import LEAST_BYTES, accepts_gzip, compressed

COMPRESSED_SUFFIXES = frozenset({".css", ".js", ".svg", ".txt"})
PIECE_BYTES = 1 << 16
_RANGE = re.compile(r"bytes=(\d{1,12})-(\d{0,12})", re.ASCII)


class ConsoleFiles(StaticFiles):
    """The console's files; a browser keeps them and asks each time whether they are still the same.

    Files that are added later are found after a restart.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory=directory)
        # Its directory was checked here. Otherwise each of a crowd of first requests would take a thread to check it again.
        self.config_checked = True
        self._files = {
            str(file.relative_to(directory)): file for file in directory.rglob("*") if file.is_file()
        }

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file, or 304 where the browser already has it."""
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        answer = self._file(path, scope)
        if isinstance(answer, FileResponse):
            answer = await _as_accepted(answer, Headers(scope=scope))
        answer.headers["Cache-Control"] = "no-cache"
        return answer

    def _file(self, path: str, scope: Scope) -> Response:
        try:
            file = self._files[path]
            return self.file_response(file, file.stat(), scope)
        except (KeyError, FileNotFoundError):
            raise HTTPException(HTTPStatus.NOT_FOUND) from None


class PieceByPiece(Response):
    """Content in memory of which a client that does not read it takes one piece, not the whole."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, waiting for the client between the pieces."""
        del receive
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        content = b"" if scope["method"] == "HEAD" else self.body
        is_gone: Callable[[], bool] = scope.get(IS_GONE, lambda: False)
        for start in range(0, len(content), PIECE_BYTES):
            if is_gone():
                return
            piece = bytes(content[start : start + PIECE_BYTES])
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            # A write leaves at the end of this turn of the loop; only then is it known whether there is room for more.
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _as_accepted(whole: FileResponse, headers: Headers) -> Response:
    is_compressible = Path(whole.path).suffix in COMPRESSED_SUFFIXES
    if is_compressible:
        whole.headers["Vary"] = "Accept-Encoding"
        # The same content in two encodings: the tag is weak.
        whole.headers["ETag"] = f"W/{whole.headers['etag'].removeprefix('W/')}"
    status = whole.stat_result
    assert status is not None
    if is_compressible and status.st_size >= LEAST_BYTES and accepts_gzip(headers):
        content = await _held(str(whole.path), status.st_mtime_ns, is_compressed=True)
        stored = {
            name: value
            for name, value in whole.headers.items()
            if name not in {"content-length", "accept-ranges"}
        }
        return PieceByPiece(content, headers={**stored, "Content-Encoding": "gzip"})
    content = await _held(str(whole.path), status.st_mtime_ns, is_compressed=False)
    return _part(content, whole, headers) or PieceByPiece(content, headers=dict(whole.headers))


def _part(content: bytes, whole: FileResponse, headers: Headers) -> Response | None:
    """One range of bytes (RFC 9110, 14.1.2). None where the answer is the whole: several ranges, or of another state of the file."""
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if asked is None or headers.get("if-range", whole.headers["etag"]) != whole.headers["etag"]:
        return None
    start, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
    if start > last:
        unsatisfiable = {"Content-Range": f"bytes */{len(content)}"}
        return Response(status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=unsatisfiable)
    part = content[start : last + 1]
    declared = {"content-length": str(len(part)), "content-range": f"bytes {start}-{last}/{len(content)}"}
    return PieceByPiece(part, HTTPStatus.PARTIAL_CONTENT, headers={**whole.headers, **declared})


async def _held(path: str, changed_at: int, *, is_compressed: bool) -> bytes:
    """The content of a file. Some megabytes in all; the largest takes a twentieth of a second to compress, once."""
    key = path, changed_at, is_compressed
    if key not in _HELD:
        _HELD[key] = await asyncio.to_thread(_read, path, is_compressed=is_compressed)
    return _HELD[key]


_HELD: dict[tuple[str, int, bool], bytes] = {}


def _read(path: str, *, is_compressed: bool) -> bytes:
    content = Path(path).read_bytes()
    return compressed(content) if is_compressed else content
