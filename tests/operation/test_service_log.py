"""Standard error of a registry: its start, its requests, its stop, its failures."""

import json
import re
from pathlib import Path

import httpx2
import pytest

from tests.operation.conftest import Launch
from tests.operation.registry_process import RegistryProcess, run, until

TEXT_LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[[a-z]+ *\] ")


async def visit(registry: RegistryProcess) -> None:
    async with httpx2.AsyncClient(base_url=registry.url, trust_env=False, timeout=60) as http:
        await http.get("/health?token=not-to-be-logged", headers={"X-Request-ID": "visit-1"})
        await http.post("/api/v1/auth/login", data={"username": "ada@example.org", "password": "wrong"})
        await http.get("/nowhere/at%20all")


@pytest.fixture(scope="module", params=["console", "json"])
async def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, migrated_data: Path
) -> RegistryProcess:
    """A registry that was founded in a database with the schema, visited and stopped."""
    directory = tmp_path_factory.mktemp(request.param)
    registry = RegistryProcess(
        directory / "data", migrated=migrated_data, LOG_FORMAT=request.param, MAILFROM="ops@example.org"
    )
    await registry.start()
    await visit(registry)
    await registry.stop()
    return registry


def lines(registry: RegistryProcess) -> list[str]:
    return registry.log.read_text().splitlines()


async def test_every_line_has_the_form_asked_for(served: RegistryProcess):
    if '"event"' in lines(served)[0]:
        assert all({"event", "level", "timestamp"} <= json.loads(line).keys() for line in lines(served))
    else:
        assert all(TEXT_LINE.match(line) for line in lines(served)), lines(served)


@pytest.mark.parametrize(
    "words",
    [
        ("starting", "documentation", "/docs"),
        ("starting", "data_dir", "/data"),
        ("hansa admin create",),
        ("MAILFROM", "MAIL_FROM", "warning"),
        ("request", "GET", "/health", "200", "visit-1"),
        ("request", "POST", "/api/v1/auth/login", "401"),
        ("request", "GET", "/nowhere/at%20all", "404"),
        ("stopping",),
        ("stopped",),
    ],
    ids=" ".join,
)
async def test_the_log_records_start_requests_and_stop(served: RegistryProcess, words: tuple[str, ...]):
    assert [line for line in lines(served) if all(word in line for word in words)] != []


async def test_no_query_and_no_password_is_logged(served: RegistryProcess):
    log = served.log.read_text()
    assert "not-to-be-logged" not in log
    assert "wrong" not in log


async def test_requests_are_logged_while_the_registry_serves(operated: Launch):
    registry = operated(workers=2)
    await registry.start()
    await visit(registry)
    await until(lambda: "visit-1" in registry.log.read_text())


async def test_with_an_administrator_the_start_names_no_command_to_make_one(operated: Launch):
    registry = operated()
    await registry.start()
    await run(
        *("admin", "create", "--name=ada", "--email=ada@example.org"),
        data_dir=registry.data_dir,
        HANSA_ADMIN_PASSWORD="Quiet-Harbour-41-Lantern",
    )
    await registry.stop()
    before = len(lines(registry))
    await registry.start()
    assert [line for line in lines(registry)[before:] if "admin create" in line] == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"PORT": "http"}, "PORT='http' is refused; allowed is a whole number"),
        (
            {"DATABASE_URL": "postgresql://127.0.0.1:1/x", "PORT": "0"},
            "DATABASE_URL: cannot connect to 127.0.0.1:1/x",
        ),
        ({"HANSA_HOST": "192.0.2.1"}, "HANSA_HOST='192.0.2.1', PORT=8000: cannot bind"),
    ],
    ids=str,
)
async def test_a_start_that_fails_says_why_in_json_too(tmp_path: Path, settings: dict[str, str], words: str):
    ended = await run("serve", data_dir=tmp_path / "data", LOG_FORMAT="json", **settings)
    assert (ended.code, ended.output) == (1, "")
    logged = [json.loads(line) for line in ended.complaints]
    assert logged[-1]["level"] == "error"
    assert words in logged[-1]["event"]
