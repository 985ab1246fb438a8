"""Commands of the operator: administrators, minting and burning, while the registry serves and while it rests."""

import asyncio
import json
import os
import pty
import termios
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.key_files import private_pem
from hansa.foundation.values.areas import ADMIN_AREAS
from tests.operation.conftest import Launch, end_postgres
from tests.operation.registry_process import (
    COMMAND,
    Ended,
    RegistryProcess,
    children_of,
    command_of,
    environment,
    postgres_pid,
    run,
    until,
)
from tests.registry import DatabaseFarm, open_registry

PASSWORD = "Quiet-Harbour-41-Lantern"
# A bound on what hangs, on a machine with much else to do.
PROMPT_SECONDS = 120
LOCAL_MODES = 3


@pytest.fixture(scope="module")
async def serving(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[RegistryProcess]:
    """A registry that serves; each test acts under names of its own."""
    registry = RegistryProcess(tmp_path_factory.mktemp("serving") / "data", founded=founded_data)
    await registry.start()
    yield registry
    await registry.kill()
    await end_postgres(registry.data_dir)


@dataclass(frozen=True)
class CreatedAtRest:
    """Stopped registry, whose administrator `ada` was created meanwhile; the readings of that time."""

    registry: RegistryProcess
    commands: set[str]
    output: bytes


@pytest.fixture(scope="module")
async def created_at_rest(
    tmp_path_factory: pytest.TempPathFactory, founded_data: Path
) -> AsyncIterator[CreatedAtRest]:
    registry = RegistryProcess(tmp_path_factory.mktemp("resting") / "data", founded=founded_data)
    registry.copy()
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "admin", "create", "--name=ada", "--email=ada@example.org"),
        stdout=PIPE,
        stderr=STDOUT,
        env=environment(registry.data_dir, HANSA_ADMIN_PASSWORD=PASSWORD),
    )
    ending = asyncio.create_task(process.communicate())
    commands = set()
    while not ending.done():
        commands |= {command_of(pid) for pid in (process.pid, *children_of(process.pid))}
        await asyncio.sleep(0.05)
    output, _ = await ending
    assert process.returncode == 0, output
    yield CreatedAtRest(registry, commands, output)
    await registry.kill()
    await end_postgres(registry.data_dir)


async def create(data_dir: Path, name: str, *more: str, password: str = PASSWORD, **settings: str) -> Ended:
    return await run(
        *("admin", "create", f"--name={name}", f"--email={name}@example.org", *more),
        data_dir=data_dir,
        HANSA_ADMIN_PASSWORD=password,
        **settings,
    )


async def mint(data_dir: Path, amount: str, ref: str, *more: str, **settings: str) -> Ended:
    return await run("mint", f"--amount={amount}", f"--ref={ref}", *more, data_dir=data_dir, **settings)


async def burn(data_dir: Path, amount: str, ref: str, *more: str, **settings: str) -> Ended:
    return await run("burn", f"--amount={amount}", f"--ref={ref}", *more, data_dir=data_dir, **settings)


async def log_in(http: httpx2.AsyncClient, name: str, password: str = PASSWORD) -> httpx2.Response:
    form = {"username": f"{name}@example.org", "password": password}
    return await http.post("/api/v1/auth/login", data=form)


async def profile_of(url: str, name: str, password: str = PASSWORD) -> dict[str, object]:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        login = await log_in(http, name, password)
        assert login.status_code == 200, login.text
        token = login.json()["access_token"]
        shown = await http.get("/api/v1/auth/profile", headers={"Authorization": f"Bearer {token}"})
        return shown.json()


async def public(url: str, path: str) -> dict[str, object]:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        answer = await http.get(f"/api/v1/public/{path}")
        assert answer.status_code == 200
        return answer.json()


def refused_in_one_line(ended: Ended, code: int = 1) -> str:
    """The line."""
    assert (ended.code, ended.output, len(ended.complaints)) == (code, "", 1), ended
    assert ended.complaint.startswith("hansa: ")
    return ended.complaint.removeprefix("hansa: ").strip()


# Administrators


async def test_an_administrator_is_created_while_the_registry_serves(serving: RegistryProcess):
    ended = await create(serving.data_dir, "ada")
    assert (ended.code, ended.complaint) == (0, "")
    shown = await profile_of(serving.url, "ada")
    assert (shown["role"], shown["is_admin"], shown["is_verified"]) == ("admin", True, True)
    assert (
        ended.output == f"administrator ada@example.org (developer {shown['id']}): {', '.join(ADMIN_AREAS)}\n"
    )


async def test_the_areas_can_be_chosen_and_the_outcome_printed_as_json(serving: RegistryProcess):
    ended = await create(
        serving.data_dir, "bo", "--areas=admin_support, admin_treasury,admin_support", "--json"
    )
    assert (ended.code, ended.complaint) == (0, "")
    returned = json.loads(ended.output)
    assert isinstance(returned.pop("developer_id"), int)
    assert returned == {"email": "bo@example.org", "areas": ["admin_treasury", "admin_support"]}


async def test_a_taken_address_or_name_is_refused_and_nobody_is_promoted(serving: RegistryProcess):
    async with httpx2.AsyncClient(base_url=serving.url, trust_env=False, timeout=60) as http:
        body = {"name": "cy", "email": "cy@example.org", "password": PASSWORD, "tos_accepted": True}
        answer = await http.post("/api/v1/auth/register", json={**body, "age_confirmed": True})
        assert answer.status_code == 201
    taken = await create(serving.data_dir, "cy", password=f"Other-{PASSWORD}")
    assert "e-mail" in refused_in_one_line(taken)
    same_name = await run(
        *("admin", "create", "--name=CY", "--email=other@example.org"),
        data_dir=serving.data_dir,
        HANSA_ADMIN_PASSWORD=PASSWORD,
    )
    assert "name" in refused_in_one_line(same_name)
    shown = await profile_of(serving.url, "cy")
    assert (shown["role"], shown["is_admin"]) == ("developer", False)


@pytest.mark.parametrize("areas", ["admin_support,root", ""])
async def test_an_area_that_does_not_exist_is_a_usage_error(tmp_path: Path, areas: str):
    line = refused_in_one_line(await create(tmp_path / "data", "dee", f"--areas={areas}"), code=2)
    assert repr(areas) in line
    assert "admin_support" in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("name", "password", "error"),
    [
        ("dee", "all-lower-case-1", "upper-case"),
        ("dee", "Short-1", "password: at least 12 characters"),
        ("dee", "My-Password-is-1", "common word"),
        ("d\u200bee", PASSWORD, "invisible"),
    ],
)
async def test_the_rules_of_registration_hold_and_no_secret_is_printed(
    tmp_path: Path, name: str, password: str, error: str
):
    line = refused_in_one_line(await create(tmp_path / "data", name, password=password))
    assert error in line
    assert password not in line
    assert not (tmp_path / "data").exists()


async def test_without_a_password_and_a_terminal_nothing_is_asked(tmp_path: Path):
    line = refused_in_one_line(await create(tmp_path / "data", "dee", password=""), code=2)
    assert "HANSA_ADMIN_PASSWORD" in line


async def test_the_password_is_asked_for_twice_at_a_terminal_and_not_shown(serving: RegistryProcess):
    screen = await at_a_terminal(
        *("admin", "create", "--name=eve", "--email=eve@example.org"),
        answers=[PASSWORD, PASSWORD],
        at=serving.data_dir,
    )
    assert screen.startswith("Password: \r\nRepeat for confirmation: \r\nadministrator eve@example.org")
    assert PASSWORD not in screen
    assert (await profile_of(serving.url, "eve"))["role"] == "admin"


async def at_a_terminal(*arguments: str, answers: list[str], at: Path) -> str:
    """Run a command at a terminal, answer its prompts and return the text of the screen."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        *arguments,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(at),
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    screen = b""
    for answer in answers:
        shown = len(screen)
        async with asyncio.timeout(PROMPT_SECONDS):
            while not screen[shown:].rstrip().endswith(b":"):
                await asyncio.sleep(0.02)
                screen += _shown(ours)
            # The echo is switched off just after the prompt appears.
            while termios.tcgetattr(ours)[LOCAL_MODES] & termios.ECHO:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        os.write(ours, answer.encode() + b"\n")
    async with asyncio.timeout(PROMPT_SECONDS):
        assert await process.wait() == 0, screen
    screen += _shown(ours)
    os.close(ours)
    return screen.decode()


def _shown(terminal: int) -> bytes:
    # A terminal without anything new, or one that the command has left.
    with suppress(OSError):
        return os.read(terminal, 65536)
    return b""


# Minting


async def test_units_are_minted_while_the_registry_serves(serving: RegistryProcess):
    before = await public(serving.url, "supply-invariant")
    ended = await mint(serving.data_dir, "12.5", "winter", "--json")
    assert (ended.code, ended.complaint) == (0, "")
    returned = json.loads(ended.output)
    after = await public(serving.url, "supply-invariant")
    assert (after["status"], after["net_supply"]) == ("OK", returned["supply"])
    assert float(str(after["tokens_issued"])) == float(str(before["tokens_issued"])) + 12.5
    events = (await public(serving.url, "eventstore-recent"))["events"]
    assert isinstance(events, list)
    (issued,) = [event for event in events if event["data"].get("ref") == "winter"]
    number = int(returned["transaction_id"].removeprefix("tx-"))
    assert issued["event_type"] == "TokensIssued"
    assert (issued["data"]["tx_id"], issued["data"]["amount"]) == (number, "12.5")
    assert (returned["amount"], returned["currency"], returned["ref"]) == ("12.5", "AVT", "winter")


async def test_a_second_mint_with_the_same_reference_changes_nothing(serving: RegistryProcess):
    first = await mint(serving.data_dir, "3", "spring")
    assert first.code == 0
    supply = (await public(serving.url, "supply-invariant"))["net_supply"]
    assert first.output.strip().endswith(f"3 AVT issued, the supply is {supply}")
    assert "nothing was changed" in refused_in_one_line(await mint(serving.data_dir, "4", "spring"))
    assert (await public(serving.url, "supply-invariant"))["net_supply"] == supply


@pytest.mark.parametrize("amount", ["0", "1e3", "1.123456789\n"])
@pytest.mark.parametrize("command", [mint, burn])
async def test_an_amount_is_a_plain_decimal_above_zero(
    tmp_path: Path, command: Callable[..., Awaitable[Ended]], amount: str
):
    assert "amount" in refused_in_one_line(await command(tmp_path / "data", amount, "summer"))
    assert not (tmp_path / "data").exists()


async def test_the_limit_of_one_mint_is_a_setting(serving: RegistryProcess):
    lower = await mint(serving.data_dir, "3", "autumn", TEG_MINT_MAX_AVT="2.5")
    assert "2.5 units" in refused_in_one_line(lower)
    assert "1000000 units" in refused_in_one_line(await mint(serving.data_dir, "1000000.00000001", "autumn"))


# Burning


async def test_units_are_burned_while_the_registry_serves(serving: RegistryProcess):
    before = await public(serving.url, "supply-invariant")
    ended = await burn(serving.data_dir, "0.5", "frost", "--json")
    assert (ended.code, ended.complaint) == (0, "")
    returned = json.loads(ended.output)
    after = await public(serving.url, "supply-invariant")
    assert (after["status"], after["delta"], after["net_supply"]) == ("OK", "0", returned["supply"])
    assert after["tokens_issued"] == before["tokens_issued"]
    assert float(str(after["tokens_destroyed"])) == float(str(before["tokens_destroyed"])) + 0.5
    events = (await public(serving.url, "eventstore-recent"))["events"]
    assert isinstance(events, list)
    (destroyed,) = [event for event in events if event["data"].get("ref") == "frost"]
    number = int(returned["transaction_id"].removeprefix("tx-"))
    assert destroyed["event_type"] == "TokensDestroyed"
    assert (destroyed["data"]["tx_id"], destroyed["data"]["amount"]) == (number, "0.5")
    assert (returned["amount"], returned["currency"], returned["ref"]) == ("0.5", "AVT", "frost")


async def test_a_burn_that_is_refused_changes_nothing(serving: RegistryProcess):
    first = await burn(serving.data_dir, "3", "thaw")
    assert first.code == 0
    supply = (await public(serving.url, "supply-invariant"))["net_supply"]
    assert first.output.strip().endswith(f"3 AVT destroyed, the supply is {supply}")
    assert "nothing was changed" in refused_in_one_line(await burn(serving.data_dir, "4", "thaw"))
    too_much = await burn(serving.data_dir, "9000000000", "too much")
    assert f"The treasury holds {supply} units" in refused_in_one_line(too_much)
    assert "printable" in refused_in_one_line(await burn(serving.data_dir, "4", " "))
    assert (await public(serving.url, "supply-invariant"))["net_supply"] == supply


async def test_mints_and_burns_are_in_the_log_of_the_operators_acts(serving: RegistryProcess):
    minted = json.loads((await mint(serving.data_dir, "2", "logged", "--json")).output)
    burned = json.loads((await burn(serving.data_dir, "2", "logged", "--json")).output)
    connection = await asyncpg.connect(await serving.database())
    rows = await connection.fetch("SELECT act, subject FROM plumbing_admin_act ORDER BY id DESC LIMIT 2")
    await connection.close()
    assert [tuple(row) for row in rows] == [
        ("units.burn", burned["transaction_id"]),
        ("units.mint", minted["transaction_id"]),
    ]


# At rest, and beside a start


async def test_the_password_is_in_no_process_argument_output_log_or_file(created_at_rest: CreatedAtRest):
    assert any("postgres" in command for command in created_at_rest.commands)
    assert not any(PASSWORD in command for command in created_at_rest.commands)
    assert PASSWORD.encode() not in created_at_rest.output
    files = [file for file in created_at_rest.registry.data_dir.rglob("*") if file.is_file()]
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []


async def test_a_resting_registry_is_opened_for_the_moment(created_at_rest: CreatedAtRest):
    registry = created_at_rest.registry
    assert postgres_pid(registry.data_dir) is None
    minted = await mint(registry.data_dir, "2.5", "at rest")
    assert (minted.code, minted.output) == (0, "tx-2: 2.5 AVT issued, the supply is 1000002.5\n")
    burned = await burn(registry.data_dir, "1000000", "at rest")
    assert (burned.code, burned.output) == (0, "tx-3: 1000000 AVT destroyed, the supply is 2.5\n")
    assert postgres_pid(registry.data_dir) is None
    await registry.start()
    assert (await profile_of(registry.url, "ada"))["role"] == "admin"
    supply = await public(registry.url, "supply-invariant")
    assert (supply["status"], supply["tokens_issued"], supply["net_supply"]) == ("OK", "1000002.5", "2.5")


async def test_a_command_beside_a_start_waits_for_it(operated: Launch):
    registry = operated()
    starting = asyncio.create_task(registry.start())
    lock = registry.data_dir / "lock"
    await until(lambda: lock.exists() and lock.read_text())
    ended = await create(registry.data_dir, "ada")
    await starting
    assert (ended.code, ended.complaint) == (0, "")
    assert (await profile_of(registry.url, "ada"))["role"] == "admin"


async def test_a_database_of_ones_own_is_used_where_it_is_named(database_farm: DatabaseFarm, tmp_path: Path):
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"
    for command in (mint, burn):
        assert "never started" in refused_in_one_line(await command(data_dir, "1", "early", DATABASE_URL=dsn))
    assert (await create(data_dir, "ada", DATABASE_URL=dsn)).code == 0
    home = tmp_path / "registry"
    async with open_registry(dsn, home) as registry:
        without_keys = await mint(data_dir, "1", "winter", DATABASE_URL=dsn)
        assert "hansa keys import" in refused_in_one_line(without_keys)
        assert (await mint(home, "1", "winter", DATABASE_URL=dsn)).code == 0
        other = await mint(home, "1", "spring", DATABASE_URL=dsn, DID_METHOD="other")
        assert "did:other:system:treasury" in refused_in_one_line(other)
        assert (await registry.supply())["tokens_issued"] == "1000001"
        assert (await log_in(registry.http, "ada")).status_code == 200
    assert not data_dir.exists()


@pytest.mark.parametrize(
    "command",
    [
        "admin create --name=ada --email=ada@example.org",
        "mint --amount=1 --ref=x",
        "burn --amount=1 --ref=x",
        "keys rotate",
        "keys rotate-licensing",
        "keys rotate-witness",
        "keys rotate-authority",
        "keys rotate-sealing",
        "bundle",
        "service enrol auditor --out=OUT",
        "service list",
        "service revoke auditor",
        "db url",
        "db migrate",
    ],
)
async def test_a_mistyped_data_directory_is_refused_and_not_made(tmp_path: Path, command: str):
    mistyped = tmp_path / "mistyped"
    arguments = command.replace("OUT", str(tmp_path / "out")).split()
    line = refused_in_one_line(await run(*arguments, data_dir=mistyped, HANSA_ADMIN_PASSWORD=PASSWORD))
    assert line == f"no registry in {mistyped}; run `hansa serve --data-dir {mistyped}` to create one"
    assert not mistyped.exists()


@pytest.mark.parametrize("command", ["keys rotate", "bundle", "service enrol auditor --out=OUT"])
async def test_no_key_is_made_in_a_mistyped_data_directory_beside_a_given_database(
    database_farm: DatabaseFarm, tmp_path: Path, command: str
):
    mistyped = tmp_path / "mistyped"
    arguments = command.replace("OUT", str(tmp_path / "out")).split()
    ended = await run(*arguments, data_dir=mistyped, DATABASE_URL=await database_farm.fresh())
    assert refused_in_one_line(ended).startswith(f"no registry in {mistyped};")
    assert not mistyped.exists()


async def test_a_database_out_of_reach_is_one_line(tmp_path: Path):
    nowhere = "postgresql://hansa:hidden-word@127.0.0.1:9/hansa"
    line = refused_in_one_line(await mint(tmp_path / "data", "1", "winter", DATABASE_URL=nowhere))
    assert "127.0.0.1:9" in line
    assert "hidden-word" not in line


# The registry's signing key


async def test_the_signing_key_is_rotated_while_the_registry_serves(serving: RegistryProcess, tmp_path: Path):
    (first,) = (await public(serving.url, "registry-keys"))["keys"]
    ended = await run("keys", "rotate", "--reason=a test", "--json", data_dir=serving.data_dir)
    assert (ended.code, ended.complaint) == (0, "")
    returned = json.loads(ended.output)
    assert returned["kid"] == f"{first['kid'].partition('#')[0]}#2"
    second, _ = (await public(serving.url, "registry-keys"))["keys"]
    assert second["kid"] == returned["kid"]

    file = tmp_path / "key.pem"
    file.write_bytes(private_pem(Ed25519PrivateKey.generate()))
    ended = await run("keys", "rotate", f"--key={file}", data_dir=serving.data_dir)
    assert ended.output.startswith(f"the registry signs with {first['kid'].partition('#')[0]}#3 since ")
    again = await run("keys", "rotate", f"--key={file}", data_dir=serving.data_dir)
    assert "signed for the registry before" in refused_in_one_line(again)


async def test_a_file_that_holds_no_signing_key_is_a_usage_error(tmp_path: Path):
    missing = await run("keys", "rotate", f"--key={tmp_path / 'none.pem'}", data_dir=tmp_path / "data")
    assert "cannot be read" in refused_in_one_line(missing, code=2)
    (tmp_path / "other.pem").write_text("no key")
    other = await run("keys", "rotate", f"--key={tmp_path / 'other.pem'}", data_dir=tmp_path / "data")
    assert "Ed25519 private key in PEM" in refused_in_one_line(other, code=2)
    assert not (tmp_path / "data").exists()
