"""Functions, triggers and views come from SQL files, which are applied at start when they changed."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import pytest
from hatchling.builders.wheel import WheelBuilder

from hansa.foundation.plumbing.storage.migrate import BASELINE, Migrated, migrate, newest_schema
from hansa.foundation.plumbing.storage.sql_files import (
    SqlFile,
    SqlFileRefused,
    in_order,
    joined,
    read_sql_files,
)
from hansa.foundation.values.errors import Unavailable
from tests.registry import DatabaseFarm
from tests.upgrade.later_version import later_version

# What is created by a migration and replaced at run time: a number of this database in the form of a function.
NOT_IN_A_FILE = {"plumbing_position_shift"}

# Every function that a file created since the baseline.
EVERY_FUNCTION = Path(__file__).with_name("sql_functions.txt")

FUNCTIONS = """
SELECT p.proname::text AS name, p.oid::regprocedure::text AS signature, pg_get_functiondef(p.oid) AS definition, p.xmin::text AS written_by
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""
TRIGGERS = """
SELECT t.tgname::text AS name, pg_get_triggerdef(t.oid) AS definition, t.xmin::text AS written_by
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND NOT c.relispartition
"""
CREATED = re.compile(r"^CREATE OR REPLACE (FUNCTION|TRIGGER) (\w+)", re.MULTILINE)

TRIAL = "-- A trial.\n\nCREATE OR REPLACE FUNCTION ledger_trial() RETURNS int LANGUAGE sql AS $$\n  SELECT {}\n$$;\n"

ROOT = Path(__file__).parents[2]
FRAME = """\
-- A trial of parts.

CREATE OR REPLACE FUNCTION ledger_trial() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  size int := 3;
  -- declarations of the parts
BEGIN
  -- part: sum.sql
  IF total > 0 THEN
    -- part: walk/answer.sql
  END IF;
  RETURN 0;
END $$;
"""
SUM = """\
-- The sum of the numbers up to the size.
DECLARE
  total int := 0;
BEGIN
  FOR n IN 1 .. size LOOP
    total := total + n;
  END LOOP;
"""
ANSWER = """\
-- The answer.
BEGIN
  RETURN total;
"""
PARTS = {"ledger/trial.sql": FRAME, "ledger/trial/sum.sql": SUM, "ledger/trial/walk/answer.sql": ANSWER}


@pytest.fixture
async def dsn(database_farm: DatabaseFarm) -> AsyncIterator[str]:
    """A database to which the files of this version were applied."""
    made = await database_farm.fresh()
    yield made
    await database_farm.drop(made)


@pytest.fixture
async def empty(postgres: str) -> AsyncIterator[str]:
    """A database with nothing in it."""
    name = f"hansa_test_{uuid4().hex[:12]}"
    admin = await asyncpg.connect(postgres)
    await admin.execute(f'CREATE DATABASE "{name}"')
    yield urlunsplit(urlsplit(postgres)._replace(path=f"/{name}"))
    await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await admin.close()


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    made = await asyncpg.connect(dsn)
    yield made
    await made.close()


@asynccontextmanager
async def role_of(dsn: str, rights: str) -> AsyncIterator[str]:
    """The DSN of a role with these rights alone; `{role}` stands for its name."""
    role = f"limited_{uuid4().hex[:8]}"
    owner = await asyncpg.connect(dsn)
    await owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'Secret'; {rights.format(role=role)}")
    parts = urlsplit(dsn)
    place = parts.netloc.rpartition("@")[2]
    try:
        yield urlunsplit(parts._replace(netloc=f"{role}:Secret@{place}"))
    finally:
        await owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
        await owner.close()


async def described(connection: "asyncpg.Connection[asyncpg.Record]", column: str) -> dict[str, str]:
    """Each function and trigger by its name."""
    return {
        f"{kind} {row['name']}": row[column]
        for kind, query in (("FUNCTION", FUNCTIONS), ("TRIGGER", TRIGGERS))
        for row in await connection.fetch(query)
    }


async def signatures(connection: "asyncpg.Connection[asyncpg.Record]") -> set[str]:
    """Each function by its name and the types of its parameters, but those that stand in no file."""
    functions = await connection.fetch(FUNCTIONS)
    return {row["signature"] for row in functions if row["name"] not in NOT_IN_A_FILE}


def names(files: list[SqlFile]) -> tuple[str, ...]:
    return tuple(file.name for file in files)


async def until_waited_for(connection: "asyncpg.Connection[asyncpg.Record]", table: str) -> None:
    """Return when a transaction waits for a lock on the table."""
    waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::text::regclass)"
    async with asyncio.timeout(10):
        while not await connection.fetchval(waits, table):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def trial(content: object, name: str = "ledger/trial.sql") -> list[SqlFile]:
    """The files of this version and one more, whose function returns `content`."""
    return in_order([*read_sql_files(), SqlFile(name, TRIAL.format(content))])


async def test_every_function_and_trigger_of_the_database_stands_in_a_file(connection):
    in_database = await described(connection, "definition")
    in_files = {f"{kind} {name}" for file in read_sql_files() for kind, name in CREATED.findall(file.content)}
    assert in_files == set(in_database) - {f"FUNCTION {name}" for name in NOT_IN_A_FILE}


async def test_the_list_of_every_function_has_each_function_of_the_files(connection):
    listed = EVERY_FUNCTION.read_text().splitlines()
    assert listed == sorted(set(listed))
    missing = await signatures(connection) - set(listed)
    assert missing == set(), f"add these lines to {EVERY_FUNCTION.name}"


async def test_a_database_in_use_has_no_function_that_no_file_creates_any_more(
    empty: str, connection: "asyncpg.Connection[asyncpg.Record]"
):
    present = await signatures(connection)
    former = set(EVERY_FUNCTION.read_text().splitlines()) - present
    await migrate(empty, BASELINE)
    in_use = await asyncpg.connect(empty)
    for signature in former:
        await in_use.execute(f"CREATE FUNCTION {signature} RETURNS int LANGUAGE sql RETURN 1")
    await in_use.close()
    await migrate(empty)
    upgraded = await asyncpg.connect(empty)
    assert await signatures(upgraded) == present, "a migration drops what no file creates any more"
    await upgraded.close()


async def test_files_that_were_applied_are_not_applied_again(dsn: str, connection):
    before = await described(connection, "written_by")
    assert await migrate(dsn) == Migrated()
    assert await described(connection, "written_by") == before


async def test_applying_every_file_again_changes_no_definition(dsn: str, connection):
    await connection.execute(
        "CREATE OR REPLACE FUNCTION plumbing_position_shift() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE"
        " RETURN 7::bigint"
    )
    before = await described(connection, "definition")
    await connection.execute("DELETE FROM plumbing_sql_file")
    assert await migrate(dsn) == Migrated((), names(read_sql_files()))
    assert await described(connection, "definition") == before
    assert await connection.fetchval("SELECT plumbing_position_shift()") == 7


async def test_a_file_that_changed_is_applied_and_the_others_are_not(dsn: str, connection):
    before = await described(connection, "written_by")
    assert (await migrate(dsn, sql_files=trial(1))).sql_files == ("ledger/trial.sql",)
    assert await connection.fetchval("SELECT ledger_trial()") == 1
    assert (await migrate(dsn, sql_files=trial(2))).sql_files == ("ledger/trial.sql",)
    assert await connection.fetchval("SELECT ledger_trial()") == 2
    after = await described(connection, "written_by")
    assert {name for name in after if after[name] != before.get(name)} == {"FUNCTION ledger_trial"}


async def test_what_a_removed_file_created_stays(dsn: str, connection):
    await migrate(dsn, sql_files=trial(1))
    assert await migrate(dsn) == Migrated()
    assert await connection.fetchval("SELECT ledger_trial()") == 1
    assert (await migrate(dsn, sql_files=trial(1))).sql_files == ("ledger/trial.sql",)


async def test_percent_signs_and_braces_reach_the_server_as_they_are(dsn: str, connection):
    await migrate(dsn, sql_files=trial("length(format('%s %% %L {}', 'a', 'b'))"))
    assert await connection.fetchval("SELECT ledger_trial()") == len("a % 'b' {}")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TRIAL.format("1 FROM FROM"), 'line 4: syntax error at or near "FROM"'),
        (TRIAL.format("1 FROM missing"), 'line 4: relation "missing" does not exist'),
        (
            "-- Two.\n"
            + TRIAL.format(1).partition("\n")[2]
            + "\nCREATE OR REPLACE FUNCTION ledger_amount(minor bigint) RETURNS int LANGUAGE sql AS $$\n  SELECT 1\n$$;\n",
            "line 7: cannot change return type of existing function",
        ),
    ],
)
async def test_a_broken_file_stops_the_start_by_file_and_line_and_none_is_applied(
    dsn: str, connection, content: str, reason: str
):
    files = [*trial(1, "journal/trial.sql"), SqlFile("ledger/broken.sql", content)]
    with pytest.raises(Unavailable, match=re.escape(f"ledger/broken.sql, {reason}")):
        await migrate(dsn, sql_files=in_order(files))
    assert await connection.fetchval("SELECT to_regproc('ledger_trial')") is None
    assert (
        await connection.fetchval("SELECT count(*) FROM plumbing_sql_file WHERE path LIKE '%/trial.sql'") == 0
    )


async def test_an_older_schema_gets_no_files_until_it_is_the_newest(empty: str, tmp_path: Path):
    older = newest_schema()
    with later_version(tmp_path) as later:
        applied = await migrate(empty, older)
        assert (applied.migrations[-1], applied.sql_files) == (older, ())
        assert await migrate(empty) == Migrated((later,), names(read_sql_files()))


async def test_a_deadlock_with_a_running_process_is_tried_again(dsn: str, connection):
    trigger = (
        "-- A trial.\n\nCREATE OR REPLACE TRIGGER {0}_trial BEFORE TRUNCATE ON {1}"
        " FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();\n"
    )
    files = in_order(
        [
            *read_sql_files(),
            SqlFile("journal/trial.sql", trigger.format("journal", "journal_registry")),
            SqlFile("ledger/trial.sql", trigger.format("ledger", "ledger_account")),
        ]
    )
    observer = await asyncpg.connect(dsn)
    async with connection.transaction():
        await connection.execute("SET LOCAL deadlock_timeout = '1min'")
        await connection.execute("LOCK TABLE ledger_account IN ROW EXCLUSIVE MODE")
        applying = asyncio.create_task(migrate(dsn, sql_files=files))
        await until_waited_for(observer, "ledger_account")
        await connection.execute("LOCK TABLE journal_registry IN ROW EXCLUSIVE MODE")
    assert (await applying).sql_files == ("journal/trial.sql", "ledger/trial.sql")
    await observer.close()


async def test_a_role_that_only_reads_may_start_when_nothing_changed(dsn: str):
    rights = "GRANT SELECT ON alembic_version, plumbing_sql_file TO {role}"
    async with role_of(dsn, rights) as limited:
        assert await migrate(limited) == Migrated()


@pytest.mark.parametrize(
    ("rights", "refusal"),
    [
        ("", "permission denied for table alembic_version; the role of DATABASE_URL must own"),
        (
            "GRANT SELECT ON alembic_version TO {role}",
            "permission denied for table plumbing_sql_file; the role of",
        ),
        (
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; GRANT ALL ON SCHEMA public TO {role}",
            "plumbing/positions.sql, line 6: must be owner of function plumbing_position; the role of",
        ),
    ],
)
async def test_a_role_that_may_not_apply_files_stops_the_start_with_the_reason(
    dsn: str, rights: str, refusal: str
):
    changed = [
        dataclasses.replace(file, content=file.content + "\n")
        if file.name == "plumbing/positions.sql"
        else file
        for file in read_sql_files()
    ]
    async with role_of(dsn, rights) as limited:
        with pytest.raises(Unavailable, match=re.escape(refusal)) as refused:
            await migrate(limited, sql_files=changed)
        assert "\n" not in refused.value.detail


def named(name: str, *after: str) -> SqlFile:
    return SqlFile(name, "-- A file.\n" + "".join(f"-- after: {other}\n" for other in after))


def test_files_are_applied_by_layer_and_behind_those_that_they_name():
    files = [
        named("auditor/a.sql", "ledger/a.sql"),
        named("ledger/a.sql", "ledger/c.sql", "plumbing/z.sql"),
        named("ledger/b.sql"),
        named("ledger/c.sql"),
        named("plumbing/z.sql"),
    ]
    wanted = ("plumbing/z.sql", "ledger/c.sql", "ledger/b.sql", "ledger/a.sql", "auditor/a.sql")
    assert names(in_order(files)) == wanted
    assert in_order(files[::-1]) == in_order(files)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            [named("ledger/a.sql", "ledger/b.sql")],
            "ledger/a.sql must be applied after ledger/b.sql, which does not exist",
        ),
        (
            [named("ledger/a.sql", "auditor/a.sql"), named("auditor/a.sql")],
            "ledger/a.sql must be applied after auditor/a.sql, which is not in a lower layer",
        ),
        (
            [named("agents/a.sql", "people/a.sql"), named("people/a.sql")],
            "agents/a.sql must be applied after people/a.sql, which is not in a lower layer",
        ),
        (
            [named("ledger/a.sql", "ledger/b.sql"), named("ledger/b.sql", "ledger/a.sql")],
            "SQL files name each other in a cycle: ledger/a.sql, ledger/b.sql, ledger/a.sql",
        ),
    ],
)
def test_files_without_an_order_are_refused_by_name(files: list[SqlFile], reason: str):
    with pytest.raises(SqlFileRefused, match=f"^{re.escape(reason)}$"):
        in_order(files)


def test_a_file_is_joined_with_its_parts_where_it_names_them_and_their_variables_are_declared_first():
    [file] = joined(PARTS)
    assert file.name == "ledger/trial.sql"
    assert (
        file.content.partition("AS $$\n")[2]
        == """\
DECLARE
  size int := 3;
  -- declarations of the parts
  total int := 0;
BEGIN
  -- part: sum.sql
  FOR n IN 1 .. size LOOP
    total := total + n;
  END LOOP;
  IF total > 0 THEN
    -- part: walk/answer.sql
    RETURN total;
  END IF;
  RETURN 0;
END $$;
"""
    )


async def test_a_function_in_parts_is_created_as_one_and_anew_when_a_part_changed(dsn: str, connection):
    assert (await migrate(dsn, sql_files=in_order([*read_sql_files(), *joined(PARTS)]))).sql_files == (
        "ledger/trial.sql",
    )
    assert await connection.fetchval("SELECT ledger_trial()") == 1 + 2 + 3
    changed = joined(PARTS | {"ledger/trial/walk/answer.sql": ANSWER.replace("total", "-total")})
    assert (await migrate(dsn, sql_files=in_order([*read_sql_files(), *changed]))).sql_files == (
        "ledger/trial.sql",
    )
    assert await connection.fetchval("SELECT ledger_trial()") == -6


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("ledger/trial/sum.sql", ("total := total + n;", "total := total + ;"), "line 6: syntax error"),
        ("ledger/trial/sum.sql", ("total := total + n;", "totals := total;"), 'line 6: "totals" is not'),
        ("ledger/trial/sum.sql", ("total int := 0;", "total integers;"), 'line 3: type "integers" does not'),
        ("ledger/trial/walk/answer.sql", ("RETURN total;", "RETURN;"), "line 3: missing expression"),
        ("ledger/trial.sql", ("RETURN 0;", "RETURNS 0;"), "line 12: syntax error"),
    ],
)
async def test_an_error_names_the_part_and_its_line(
    dsn: str, connection, name: str, change: tuple[str, str], reason: str
):
    files = joined(PARTS | {name: PARTS[name].replace(*change)})
    with pytest.raises(Unavailable, match=re.escape(f"{name}, {reason}")):
        await migrate(dsn, sql_files=in_order([*read_sql_files(), *files]))
    assert await connection.fetchval("SELECT to_regproc('ledger_trial')") is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"ledger/trial/walk/answer.sql": None},
            "ledger/trial.sql, line 10: the part ledger/trial/walk/answer.sql does not exist",
        ),
        ({"ledger/trial/other.sql": ANSWER}, "ledger/trial/other.sql is a part that no file names"),
        ({"ledger/other/answer.sql": ANSWER}, "ledger/other/answer.sql is a part that no file names"),
        (
            {"ledger/trial/nested.sql": ANSWER, "ledger/trial/sum.sql": SUM + "  -- part: nested.sql\n"},
            "ledger/trial/nested.sql is a part that no file names",
        ),
        (
            {"ledger/trial/sum.sql": SUM.replace("BEGIN\n", "")},
            "ledger/trial/sum.sql has no line BEGIN before its statements",
        ),
        (
            {"ledger/trial.sql": FRAME.replace("  -- declarations of the parts\n", "")},
            "ledger/trial.sql has parts, and no line -- declarations of the parts",
        ),
    ],
)
def test_parts_that_do_not_fit_their_file_are_refused_by_name(changes: dict[str, str | None], reason: str):
    texts = {name: text for name, text in (PARTS | changes).items() if text is not None}
    with pytest.raises(SqlFileRefused, match=f"^{re.escape(reason)}$"):
        joined(texts)


def test_the_files_and_their_parts_are_in_the_wheel():
    packed = {Path(file.distribution_path) for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    files = {file.relative_to(ROOT / "src") for file in (ROOT / "src" / "hansa").rglob("*.sql")}
    assert Path("hansa/rooms/ledger/sql/apply/walk/post.sql") in files
    assert files <= packed
