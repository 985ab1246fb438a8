"""Bodies made to break parsers: each operation that takes one refuses them in one sentence and stores nothing."""

import json
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from fastapi import params

from hansa.doors.reference_map import Entrance, empty_app, entrances
from tests.hostile.credentials import Credentials, every_credential
from tests.hostile.refusals import fault_of
from tests.hostile.rows import rows_of_every_table
from tests.hostile.well_formed import EVERYTHING_ON, Stage, WellFormed, set_stage, well_formed, with_some_id
from tests.properties.scale import by_tier
from tests.registry import StartRegistry

MEBIBYTE = 1 << 20
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

# What is no object and still means something.
TAKEN_AS_THEY_ARE = {("POST /api/v1/auth/api-keys", "a bare string")}

# Each spoils one well-formed JSON object, given as text; the media type is right.
SPOILED_JSON: dict[str, Callable[[str], bytes]] = {
    "nothing at all": lambda good: b" ",
    "not JSON": lambda good: b"{amount: 5}",
    "half a document": lambda good: good[: len(good) // 2].encode(),
    "two documents": lambda good: (good + good).encode(),
    "a bare string": lambda good: b'"text"',
    "a bare number": lambda good: b"5",
    "a bare null": lambda good: b"null",
    "an array": lambda good: f"[{good}]".encode(),
    "100,000 arrays deep": lambda good: b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects deep": lambda good: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep under an unknown member": lambda good: _with(good, '"zzz":' + "[" * 65 + "]" * 65),
    "brackets that never close": lambda good: b"[" * 500_000,
    "many strings that never close": lambda good: b'"' * 500_001,
    "a million keys": lambda good: _with(good, _million_members()),
    "a key twice": lambda good: _with(good, '"zzz":1,"zzz":2'),
    "a key twice, once escaped": lambda good: _with(good, '"zzz":1,"\\u007azz":2'),
    "NaN": lambda good: _with(good, '"zzz":NaN'),
    "Infinity": lambda good: _with(good, '"zzz":Infinity'),
    "minus Infinity": lambda good: _with(good, '"zzz":-Infinity'),
    "a number beyond doubles": lambda good: _with(good, '"zzz":1e400'),
    "an integer of 5,000 digits": lambda good: _with(good, '"zzz":' + "9" * 5000),
    "a fraction of 5,000 digits": lambda good: _with(good, '"zzz":0.' + "9" * 5000),
    "an escaped NUL": lambda good: _with(good, '"zzz":"a\\u0000b"'),
    "an escaped NUL in a key": lambda good: _with(good, '"z\\u0000":1'),
    "a raw NUL": lambda good: _with(good, '"zzz":"a\x00b"'),
    "a lone high surrogate": lambda good: _with(good, '"zzz":"\\ud800"'),
    "a lone low surrogate": lambda good: _with(good, '"zzz":"\\udc00 "'),
    "surrogates in the wrong order": lambda good: _with(good, '"zzz":"\\udc00\\ud800"'),
    "invalid UTF-8": lambda good: _with(good, '"zzz":"?"').replace(b"?", b"\xff\xfe"),
    "UTF-8 of a surrogate": lambda good: _with(good, '"zzz":"?"').replace(b"?", b"\xed\xa0\x80"),
    "overlong UTF-8": lambda good: _with(good, '"zzz":"?"').replace(b"?", b"\xc0\xaf"),
    "a byte order mark": lambda good: b"\xef\xbb\xbf" + good.encode(),
    "UTF-16": lambda good: good.encode("utf-16"),
    "UTF-32": lambda good: good.encode("utf-32"),
    "a comment": lambda good: good.encode() + b"// more",
    "a trailing comma": lambda good: good.encode()[:-1] + b",}",
    "single quotes": lambda good: _with(good, "'zzz':1"),
    "gzip": lambda good: b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    "10 MB": lambda good: _with(good, '"zzz":"' + "a" * (10 * MEBIBYTE) + '"'),
}
# Read by the same parser whatever the operation is: a commit sends them to some operations.
LARGE = {
    "100,000 arrays deep",
    "100,000 objects deep",
    "brackets that never close",
    "many strings that never close",
    "a million keys",
    "10 MB",
}
OPERATIONS_PER_LARGE_ONE = by_tier(40, 1, 1)
# The others are read by the same parser, too: a commit sends each of them to every eighth operation.
OPERATIONS_PER_ONE = by_tier(8, 1, 1)
SPOILED_FORMS: dict[str, bytes] = {
    "nothing of what is asked for": b"zzz=1",
    "a percent-encoded NUL": b"username=a%00b&password=b",
    "a raw NUL": b"username=a\x00b&password=b",
    "raw bytes beyond ASCII": b"username=\xff\xfe&password=b",
    "10 MB": b"username=" + b"a" * (10 * MEBIBYTE) + b"&password=b",
    "a name of a megabyte": b"username=" + b"a" * (MEBIBYTE - 64) + b"&password=b",
    "100,000 fields": b"&".join(b"k%d=1" % number for number in range(100_000)),
    "JSON": b'{"username":"a","password":"b"}',
    "another grant": b"grant_type=implicit&username=a&password=b",
}
# A bare null is no body, and these need none.
WITHOUT_A_BODY_TOO = frozenset(
    {"POST /api/v1/admin/registry-signing-key/rotate", "POST /api/v1/admin/auditor-signing-key/rotate"}
)
WRONG_MEDIA_TYPES = [
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "",
    "*/*",
]


def _with(good: str, members: str) -> bytes:
    """The object with more members at its end; unknown ones are otherwise ignored."""
    return f"{good[:-1]}{'' if good == '{}' else ','}{members}}}".encode("utf-8", "surrogatepass")


@cache
def _million_members() -> str:
    return ",".join(f'"k{number}":1' for number in range(1_000_000))


@pytest.fixture
async def stage(start_registry: StartRegistry) -> Stage:
    return await set_stage(await start_registry(**EVERYTHING_ON))


@pytest.fixture
async def credentials(stage: Stage) -> Credentials:
    return await every_credential(stage)


@pytest.fixture
def taking_bodies(tmp_path) -> list[Entrance]:
    found = [
        entrance
        for entrance in entrances(empty_app(tmp_path))
        # A phone has its own cookie, which comes before the body; test_phones.py sends bodies with one.
        if entrance.context.body_field and not entrance.callers[0].startswith("a phone")
    ]
    assert found
    return found


async def test_a_spoiled_body_is_refused_and_stores_nothing(
    stage: Stage, credentials: Credentials, taking_bodies: list[Entrance]
):
    good = {entrance.path: await well_formed(_operation(entrance), stage) for entrance in taking_bodies}
    before = await rows_of_every_table(stage.registry)
    faults = []
    for number, entrance in enumerate(taking_bodies):
        large_too = number % OPERATIONS_PER_LARGE_ONE == 0
        bodies = spoiled_bodies(entrance, good[entrance.path], large_too=large_too)
        for place, (name, media_type, body) in enumerate(bodies):
            if name not in LARGE and (number + place) % OPERATIONS_PER_ONE:
                continue
            if name == "a bare null" and _operation(entrance) in WITHOUT_A_BODY_TOO:
                continue
            headers = {**_right_credential(entrance, credentials), "Content-Type": media_type}
            answer = await stage.registry.http.request(
                entrance.method,
                with_some_id(entrance.path),
                content=body,
                headers={**stage.registry.elsewhere(), **headers},
            )
            if fault := fault_of(answer):
                faults.append(f"{_operation(entrance)} with {name}: {fault}")
            elif entrance.path.startswith("/oauth/") and answer.status_code == 400:
                # RFC 6749, 5.2: `invalid_request` for each malformed request.
                continue
            elif media_type not in {JSON, FORM} and answer.status_code != 415:
                faults.append(f"{_operation(entrance)} with {name}: {answer.status_code} instead of 415")
            elif name == "10 MB" and answer.status_code != 413:
                faults.append(f"{_operation(entrance)} with {name}: {answer.status_code} instead of 413")
    assert not faults, "\n".join(faults)
    assert await rows_of_every_table(stage.registry) == before


async def test_a_bootstrap_token_survives_every_refused_body(
    stage: Stage, credentials: Credentials, taking_bodies: list[Entrance]
):
    creation = next(entrance for entrance in taking_bodies if entrance.path.endswith("/create_agent"))
    good = await well_formed(_operation(creation), stage)
    token = credentials.headers["bootstrap"]
    for _, media_type, body in spoiled_bodies(creation, good):
        await stage.registry.http.post(
            creation.path,
            content=body,
            headers={**stage.registry.elsewhere(), **token, "Content-Type": media_type},
        )
    assert (await good.send(stage.registry, token)).status_code == 201


async def test_who_asks_is_judged_before_what_is_asked(stage: Stage, taking_bodies: list[Entrance]):
    for entrance in taking_bodies:
        if not entrance.callers[0].startswith("anyone"):
            answer = await stage.registry.http.request(
                entrance.method, with_some_id(entrance.path), json={"zzz": 1}
            )
            assert answer.status_code == 401, f"{_operation(entrance)}: {answer.text}"


async def test_a_declared_length_beyond_the_limit_is_refused_before_the_body_is_read(stage: Stage):
    answer = await stage.registry.http.post(
        "/api/v1/auth/refresh",
        content=b"{}",
        headers={"Content-Type": JSON, "Content-Length": str(100 * MEBIBYTE)},
    )
    assert answer.status_code == 413
    assert fault_of(answer) is None


@pytest.mark.parametrize("length", ["-1", "1e9", "0x10", "１２", "9" * 5000])
async def test_a_strange_declared_length_is_no_mistake_of_ours(length: str, stage: Stage):
    answer = await stage.registry.http.post(
        "/api/v1/auth/refresh",
        content=b"{}",
        headers=[(b"content-type", JSON.encode()), (b"content-length", length.encode())],
    )
    assert fault_of(answer) is None


def spoiled_bodies(
    entrance: Entrance, good: WellFormed, *, large_too: bool = True
) -> Iterator[tuple[str, str, bytes]]:
    """Name, media type and bytes of everything that this operation must refuse."""
    if isinstance(entrance.context.body_field.field_info, params.Form):
        yield from ((name, FORM, body) for name, body in SPOILED_FORMS.items())
        yield from (
            (f"media type {wrong!r}", wrong, b"username=a&password=b") for wrong in [JSON, *WRONG_MEDIA_TYPES]
        )
        return
    text = json.dumps(good.json)
    yield from (
        (name, JSON, spoil(text))
        for name, spoil in SPOILED_JSON.items()
        if (_operation(entrance), name) not in TAKEN_AS_THEY_ARE and (large_too or name not in LARGE)
    )
    yield from ((f"media type {wrong!r}", wrong, text.encode()) for wrong in [FORM, *WRONG_MEDIA_TYPES])


def _right_credential(entrance: Entrance, credentials: Credentials) -> dict[str, str]:
    (who,) = entrance.callers
    # Who lacks the permission is refused before the body is looked at.
    if "staking.manage" in who or "governance." in who:
        return dict(credentials.headers["staker"])
    if who.startswith("developer holding"):
        return dict(credentials.headers["administrator"])
    kind = next((kind for kind in ("agent", "developer") if who.startswith(kind)), "none")
    if who.startswith("a person who may set a new password"):
        kind = "password_setter"
    if who == "a peer registry":
        kind = "peer_certificate"
    return dict(credentials.headers["bootstrap" if "BootstrapToken" in who else kind])


def _operation(entrance: Entrance) -> str:
    return f"{entrance.method} {entrance.path}"
