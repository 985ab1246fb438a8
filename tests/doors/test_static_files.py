"""The files of the pages: whole, in one piece or many, compressed or not, and one piece at a time for a slow client."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from hansa.doors.console import static_files
from hansa.doors.console.static_files import PIECE_BYTES, ConsoleFiles, PieceByPiece
from hansa.foundation.plumbing.telemetry.lines import IS_GONE
from tests.registry import TestRegistry

STATIC = Path(static_files.__file__).parent / "static"
LARGE = "large.js"
CONTENTS = {
    LARGE: b"// A line of a large file.\n" * (4 * PIECE_BYTES // 27),
    "verify_card.js": (STATIC / "verify_card.js").read_bytes(),
    "folder/LICENSE": (STATIC / "vendor/uplot/LICENSE").read_bytes(),
}
PLAIN = {"Accept-Encoding": "identity"}


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of files of several pieces, of one, and in a folder."""
    for name, content in CONTENTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    transport = httpx2.ASGITransport(ConsoleFiles(tmp_path))
    async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as http:
        yield http


@pytest.mark.parametrize("name", CONTENTS)
async def test_a_file_is_sent_whole_as_it_is_and_compressed(files: httpx2.AsyncClient, name: str):
    content = CONTENTS[name]
    for _ in range(2):
        plain = await files.get(f"/{name}", headers=PLAIN)
        assert (plain.status_code, plain.content) == (200, content)
        assert plain.headers["content-length"] == str(len(content))
        packed = await files.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert packed.content == content
        if packed.headers.get("content-encoding") == "gzip":
            assert packed.headers["etag"] == plain.headers["etag"]
    head = await files.head(f"/{name}", headers=PLAIN)
    assert (head.content, head.headers["content-length"]) == (b"", str(len(content)))
    known = {**PLAIN, "If-None-Match": plain.headers["etag"]}
    assert (await files.get(f"/{name}", headers=known)).status_code == 304


async def test_a_part_of_a_file_can_be_asked_for(files: httpx2.AsyncClient):
    content = CONTENTS[LARGE]
    size = len(content)
    etag = (await files.head(f"/{LARGE}", headers=PLAIN)).headers["etag"]
    for asked, start, part in (
        ("bytes=10-19", 10, content[10:20]),
        (f"bytes={size - 3}-", size - 3, content[-3:]),
    ):
        for more in ({}, {"If-Range": etag}):
            answer = await files.get(f"/{LARGE}", headers={**PLAIN, "Range": asked, **more})
            assert (answer.status_code, answer.content) == (206, part)
            assert answer.headers["content-range"] == f"bytes {start}-{start + len(part) - 1}/{size}"
    beyond = await files.get(f"/{LARGE}", headers={**PLAIN, "Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")


@pytest.mark.parametrize(
    "asked",
    [
        {"Range": "bytes=" + ",".join(f"{start}-" for start in range(5000))},
        {"Range": "bytes=0-" + "9" * 400},
        {"Range": "lines=1-2"},
        {"Range": "bytes=0-9", "If-Range": '"another"'},
    ],
    ids=["many ranges", "a number of many digits", "another unit", "of another state of the file"],
)
async def test_a_range_that_is_not_one_part_of_this_file_is_answered_with_the_whole(
    files: httpx2.AsyncClient, asked: dict[str, str]
):
    answer = await files.get(f"/{LARGE}", headers={**PLAIN, **asked})
    assert (answer.status_code, answer.content) == (200, CONTENTS[LARGE])


@pytest.mark.usefixtures("unknown_paths_expected")
@pytest.mark.parametrize("path", ["../app.py", "vendor", "none.js", "a" * 300 + ".js", "/etc/passwd", "."])
async def test_what_is_no_file_of_the_pages_is_not_found(registry: TestRegistry, path: str):
    assert (await registry.http.get(f"/static/{path}")).status_code == 404


async def test_a_first_request_takes_no_thread_to_look_for_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "one.js").write_bytes(b"a")
    files = ConsoleFiles(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a thread was taken")

    monkeypatch.setattr("anyio.to_thread.run_sync", fail)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(files), base_url="http://registry.test"
    ) as http:
        assert (await http.get("/one.js")).content == b"a"


async def test_a_file_is_only_read(registry: TestRegistry):
    assert (await registry.http.get("/static/copy.js")).content == (STATIC / "copy.js").read_bytes()
    refused = await registry.http.post("/static/copy.js")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


async def test_a_file_that_changed_is_read_anew(tmp_path: Path):
    file = tmp_path / "one.js"
    for content in (b"a" * 5000, b"b" * 6000):
        file.write_bytes(content)
        held = await static_files._held(str(file), file.stat().st_mtime_ns, is_compressed=True)
        assert gzip.decompress(held) == content


async def test_the_next_piece_waits_until_the_client_has_taken_the_last():
    sent: list[bytes] = []

    class Enough(Exception):
        """The client reads no further."""

    async def send(message: dict) -> None:
        if message["type"] == "http.response.body":
            sent.append(message["body"])
            if len(sent) == 2:
                raise Enough

    with pytest.raises(Enough):
        await PieceByPiece(b"a" * 10 * PIECE_BYTES)({"method": "GET"}, None, send)  # type: ignore[arg-type]
    assert list(map(len, sent)) == [PIECE_BYTES, PIECE_BYTES]


async def test_no_more_pieces_are_made_once_the_client_is_gone():
    sent: list[bytes] = []

    async def send(message: dict) -> None:
        if message["type"] == "http.response.body":
            sent.append(message["body"])

    scope = {"method": "GET", IS_GONE: lambda: len(sent) == 2}
    await PieceByPiece(b"a" * 10 * PIECE_BYTES)(scope, None, send)  # type: ignore[arg-type]
    assert list(map(len, sent)) == [PIECE_BYTES, PIECE_BYTES]
