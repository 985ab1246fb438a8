"""Fixtures: a real PostgreSQL for the whole run, a fresh registry for each test that asks for one."""

import asyncio
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import httpcore2
import pytest
import structlog
import uvloop
from pwdlib.hashers.argon2 import Argon2Hasher

from hansa.doors.console import rendering
from hansa.doors.http.app import build_app, service_routes
from hansa.doors.startup import runtime_on
from hansa.foundation.plumbing.keys import key_bundle
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.plumbing.storage.migrate import migrate
from hansa.rooms.people import passwords
from tests.data_directories import make_small
from tests.founded import FoundedRegistries, RegistriesOfATest, founded_by
from tests.made_once import made_once
from tests.memory_directory import keep_temporary_files_in_memory
from tests.operation.forked_commands import SCRYPT_COST
from tests.operation.registry_process import COMMANDS
from tests.properties.scale import by_tier
from tests.registry import DatabaseFarm, StartRegistry, TestRegistry, care_for_no_crash, settings_of
from tests.unknown_paths import unknown_paths
from tests.workers import number_of_workers, temporary_folders

keep_temporary_files_in_memory()

# Long tests of parts that seldom change, or whose rules shorter tests hold as well: each day, and before a release.
LONG = [
    "client/test_many_paid_calls.py",
    "hostile/test_side_channels.py",
    "house/test_workers_of_tests.py",
    "neighbours/test_restored_awards.py",
    "openapi/test_generated_client.py",
    "packages/test_builds.py",
    "packages/test_chart.py",
    "packages/test_cluster_manifests.py",
    "packages/test_deployment_files.py",
    "packages/test_installers.py",
    "stock_clients/test_wallet_payers.py",
    "upgrade/test_two_versions.py",
    "verifier/test_forging_cost.py",
]
collect_ignore = by_tier(LONG, [], [])

# A shell that runs the tests in the background leaves SIGINT ignored; the commands that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is loaded and collected stays to the end of the run: it is not looked through for garbage, neither meanwhile nor later.
gc.disable()
gc.set_threshold(50_000, 20, 20)

# Reading the authorities that the system trusts costs 20 ms of CPU, and tests make thousands of clients of HTTP.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)

# Begun first, none of these is left to one worker at the end. Then come the folders whose tests start processes.
LONGEST_FILES = (
    "test_paid_calls_under_faults.py",
    "test_set_up.py",
    "test_operator_commands.py",
    "test_schema_fuzz.py",
    "test_workers.py",
    "test_every_page.py",
    "test_secret_canaries.py",
    "test_rights_matrix.py",
    "test_shared_database.py",
    "test_federation_listener.py",
    "test_backups.py",
    "test_client_pay_commands.py",
    "test_third_party_tools.py",
    "test_own_checkout.py",
    "test_status_and_stop.py",
    "test_start_and_stop.py",
    "test_guides_walked.py",
    "test_whole_path_in_a_browser.py",
    "test_blocked_addresses.py",
    "test_epochs_in_operation.py",
    "test_overload.py",
    "test_log_reader.py",
    "test_agent_frameworks.py",
)
LONGEST_FOLDERS = (
    "operation",
    "doors",
    "browser",
    "faults",
    "hostile",
    "properties",
    "client",
    "foundation",
    "house",
)
GIVEN_DATABASE = os.environ.get("DATABASE_URL")

for name in [variable for variable in os.environ if variable.lower() in Settings.model_fields]:
    if name != "DATABASE_URL":
        del os.environ[name]


# Argon2 with the least work. Tests make thousands of accounts, and each password costs two hashes of 20 ms elsewhere.
LIGHT_HASHER = Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1)
HASHER = passwords._hasher


class Loop(uvloop.Loop):
    """The event loop of a served registry; with that of the library a test would cost a fifth more."""

    def close(self) -> None:
        """Close it whatever is open still: the pipe of a process that a test killed ends with the run."""
        with suppress(OSError):
            super().close()


class LoopPolicy(asyncio.DefaultEventLoopPolicy):
    """Makes such loops."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return Loop()


asyncio.set_event_loop_policy(LoopPolicy())

# As a service writes it. The default of the library draws each traceback with its source, for a quarter of a second.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make the things that all test processes need, where several will run: collecting occupies one core."""
    if session.config.option.collectonly or not number_of_workers(session.config.getoption("--workers", "0")):
        return
    COMMANDS.begin()
    if GIVEN_DATABASE is None:
        folders = temporary_folders(session)
        folders.getbasetemp()
        if os.fork() == 0:
            try:
                asyncio.run(make_migrated_data(folders))
            finally:
                # Where it failed, whoever needs it makes it.
                os._exit(0)


def pytest_unconfigure() -> None:
    COMMANDS.end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first; within a file the order stays."""
    tests = config.rootpath / "tests"

    def rank(item: pytest.Item) -> tuple[int, int]:
        folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
        return place_in(LONGEST_FILES, item.path.name), place_in(LONGEST_FOLDERS, folder)

    items.sort(key=rank)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the things that nearly every worker needs, before it is forked, and let the garbage collector run from here on."""
    if number_of_workers(session.config.getoption("--workers", "0")):
        # The first card that is judged loads it.
        import_module("a2a.client.card_resolver")
        for route in service_routes().routes:
            # The framework builds it now.
            getattr(route, "dependant", None)
        for template in rendering._PAGES.list_templates():
            rendering._PAGES.get_template(template)
        write_the_description_of_the_api()
    gc.freeze()
    gc.enable()


def write_the_description_of_the_api() -> None:
    """Build the description like the first registry of a process that a client asks for it; this one never serves."""
    with tempfile.TemporaryDirectory() as directory:
        settings = settings_of("postgresql://nowhere", Path(directory))
        build_app(runtime_on(Database("postgresql://nowhere"), settings)).openapi()


def place_in(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else len(names)


@pytest.fixture(scope="session", autouse=True)
def hash_passwords_with_little_work() -> None:
    """In this process; whatever tests start as a process of its own hashes with all the work."""
    passwords._hasher = LIGHT_HASHER


@pytest.fixture(scope="session", autouse=True)
def seal_key_files_with_little_work() -> None:
    """Seal key files with little work in this process, which reads the files that forked commands write."""
    key_bundle.SCRYPT_COST = SCRYPT_COST


@pytest.fixture
def unknown_paths_expected() -> Iterator[None]:
    """For tests of paths that no route has."""
    with unknown_paths():
        yield


@pytest.fixture
def hash_passwords_with_all_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash with all the work, for tests of the cost of a password."""
    monkeypatch.setattr(passwords, "_hasher", HASHER)


@pytest.fixture(scope="session")
async def migrated_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose database has the schema, and nothing else: a registry with any settings can be founded in it."""
    return await make_migrated_data(tmp_path_factory)


async def make_migrated_data(factory: pytest.TempPathFactory) -> Path:
    with made_once(factory, "migrated") as (directory, is_missing):
        if is_missing:
            server = EmbeddedPostgres(directory / "data")
            await migrate(await server.start())
            await server.stop()
            make_small(directory / "data")
    return directory / "data"


@pytest.fixture(scope="session")
async def postgres(migrated_data: Path) -> AsyncIterator[str]:
    """The DSN of a server with rights to create databases: DATABASE_URL where set, else an embedded one."""
    os.environ.pop("DATABASE_URL", None)
    if GIVEN_DATABASE:
        yield GIVEN_DATABASE
        return
    with tempfile.TemporaryDirectory(prefix="hansa-test-") as directory:
        shutil.copytree(migrated_data, directory, symlinks=True, dirs_exist_ok=True)
        server = EmbeddedPostgres(Path(directory))
        dsn = await server.start()
        await care_for_no_crash(dsn)
        yield dsn
        await server.stop()


@pytest.fixture(scope="session")
async def database_farm(postgres: str) -> AsyncIterator[DatabaseFarm]:
    """Makes fresh migrated databases quickly, from a template."""
    farm = DatabaseFarm(postgres)
    await farm.prepare(has_schema=GIVEN_DATABASE is None)
    founded = founded_by(farm)
    yield farm
    await founded.clear()
    await farm.clear()


@pytest.fixture(scope="session")
def founded_registries(database_farm: DatabaseFarm) -> FoundedRegistries:
    """Return the founded registries that the registries of this run are copies of."""
    return founded_by(database_farm)


@pytest.fixture
async def start_registry(
    database_farm: DatabaseFarm, founded_registries: FoundedRegistries, tmp_path: Path
) -> AsyncIterator[StartRegistry]:
    """Start a registry in process with these settings, on a database of its own: `await start_registry(name=value)`."""
    registries = RegistriesOfATest(database_farm, founded_registries, tmp_path)
    yield registries.start
    await registries.end()


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A freshly founded registry in process, with the usual settings."""
    return await start_registry()
