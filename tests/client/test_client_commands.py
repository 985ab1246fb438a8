"""`hansa-client` as its user runs it, in an environment of its own."""

import asyncio
import json
import os
import shutil
import signal
import stat
from asyncio.subprocess import PIPE
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.client.terminal import END_SECONDS, Terminal, logged_in
from tests.operation.registry_process import COMMAND
from tests.registry import PASSWORD, TestRegistry

KEYRING = """
import json, os
from keyring.backend import KeyringBackend

class FileKeyring(KeyringBackend):
    priority = 5
    file = os.environ["KEYRING_FILE"]

    def read(self):
        return json.load(open(self.file)) if os.path.exists(self.file) else {}

    def write(self, secrets):
        json.dump(secrets, open(self.file, "w"))

    def get_password(self, service, username):
        return self.read().get(f"{service} {username}")

    def set_password(self, service, username, password):
        self.write({**self.read(), f"{service} {username}": password})

    def delete_password(self, service, username):
        secrets = self.read()
        secrets.pop(f"{service} {username}", None)
        self.write(secrets)
"""


async def test_the_present_terms_are_accepted_by_a_command(
    terminal: Callable[..., Terminal], address: str, registry: TestRegistry
):
    at = terminal()
    await logged_in(at, address)
    version = registry.settings.tos_version
    assert await at.run("accept-terms", version) == f"Version {version} of the terms is accepted.\n"
    assert (await at.json("accept-terms", version))["tos_accepted_at"]
    refused = await at.run("accept-terms", "0.9", code=1)
    assert "TOS_VERSION_NOT_PRESENT" in refused


async def test_a_user_registers_creates_agents_and_sends_units(
    terminal: Callable[..., Terminal], address: str, registry: TestRegistry
):
    at = terminal()
    await logged_in(at, address)
    customer = (await at.json("agent", "create", "--name", "Customer"))["agent_did"]
    painter = (await at.json("agent", "create", "--name", "Painter", "--price", "0.05"))["agent_did"]
    await registry.indexed()
    assert await at.run("find", "painter", "--pricing", "paid") == f"Painter  0.05 AVT  {painter}\n"
    assert await at.run("find", "locksmith") == "No agents found.\n"
    shown = await at.run("agent", "show", painter)
    assert "0.05 AVT per call" in shown
    assert await at.run("agent", "list") == f"* Customer  active  {customer}\n  Painter  active  {painter}\n"
    planned = await at.json("send", painter, "10", "--dry-run")
    assert planned["status"] == "dry_run"
    for _ in range(2):
        await at.run("send", painter, "10", "--key", "rent-1", "--message", "For the picture")
    assert await at.run("balance") == "89.95\n"
    await at.run("agent", "use", "Painter")
    assert await at.json("balance") == {"agent_id": painter, "balance": "10"}
    await registry.transactions_ended()
    listed = [json.loads(line) for line in (await at.run("events", "--json")).splitlines()]
    assert "TokensTransferred" in [event["event_type"] for event in listed]
    assert await at.run("events", "--after", listed[-1]["position"]) == ""
    assert "amount=10" in await at.run("events")


async def test_no_secret_is_printed_and_files_are_for_the_user_alone(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter", "--json")
    exported = at.home / "painter.json"
    await at.run("agent", "export", str(exported))
    await at.run("profile", "list", "--json")
    await at.run("login", "--json")
    secrets = json.loads((at.directory / "credentials.json").read_text())
    assert len(secrets) == 5
    credentials = json.loads(exported.read_text())
    assert credentials["client_secret"] in secrets.values()
    assert credentials["private_key_pem"].startswith("-----BEGIN PRIVATE KEY")
    keys = (at.home / "recovery-keys").read_text().split()
    private = [secret for name, secret in secrets.items() if "expiry" not in name]
    assert [secret for secret in (*private, *keys, PASSWORD) if secret in at.said] == []
    for file in (exported, at.home / "recovery-keys", *at.directory.glob("*.json")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert "cannot be written" in await at.run("agent", "export", str(exported), code=1)


async def test_where_the_system_has_a_keyring_secrets_are_in_no_file(
    terminal: Callable[..., Terminal], address: str, tmp_path: Path
):
    (tmp_path / "file_keyring.py").write_text(KEYRING)
    kept = tmp_path / "kept"
    at = terminal(
        PYTHONPATH=str(tmp_path), PYTHON_KEYRING_BACKEND="file_keyring.FileKeyring", KEYRING_FILE=str(kept)
    )
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Painter")
    assert await at.run("balance") == "100\n"
    assert not (at.directory / "credentials.json").exists()
    held = json.loads(kept.read_text())
    assert any(name.startswith("hansa-client default/secret of did:") for name in held)
    await at.run("logout")
    assert not any("token" in name for name in json.loads(kept.read_text()))


async def test_an_ended_access_token_is_refreshed_and_both_commands_of_one_moment_succeed(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    file = at.directory / "credentials.json"
    secrets = json.loads(file.read_text())
    secrets["default/expiry"] = "2020-01-01T00:00:00+00:00"
    file.write_text(json.dumps(secrets))
    await asyncio.gather(*(at.run("agent", "list") for _ in range(3)))
    assert json.loads(file.read_text())["default/refresh token"] != secrets["default/refresh token"]


async def test_events_are_followed_until_the_user_ends_it(
    terminal: Callable[..., Terminal], address: str, registry: TestRegistry
):
    at = terminal()
    await logged_in(at, address)
    did = (await at.json("agent", "create", "--name", "Painter"))["agent_did"]
    payer = await registry.agent()
    await registry.transactions_ended()
    position = json.loads((await at.run("events", "--json")).splitlines()[-1])["position"]
    process = await at.start("events", "--follow", "--json", "--after", position)
    assert process.stdout
    assert (await payer.transfer(did, "2")).status_code == 200
    async with asyncio.timeout(END_SECONDS):
        received = [json.loads(await process.stdout.readline())["event_type"] for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
    assert received == ["LedgerBalanceChanged", "TokensTransferred"]


async def test_a_command_that_fails_says_why_in_one_line(terminal: Callable[..., Terminal], address: str):
    at = terminal()
    assert await at.run("balance", code=1) == (
        "hansa-client: There is no profile default. Create it with `login URL`.\n"
    )
    assert "AUTH_FAILED" in await at.run("login", address, "--email", "nobody@example.org", code=1)
    assert "http or https" in await at.run("login", "ftp://x", "--email", "a@example.org", code=1)
    at.environment["HANSA_CLIENT_PASSWORD"] = "Short-1"
    named = ("--name", "Ada", "--email", "ada@example.org", "--recovery-keys", str(at.home / "keys"))
    refused = await at.run("register", address, *named, "--accept-terms", code=1)
    assert "password: at least 12 characters" in refused
    at.environment.pop("HANSA_CLIENT_PASSWORD")
    await logged_in(at, address)
    assert "no agent yet" in await at.run("balance", code=1)
    await at.run("agent", "create", "--name", "Painter")
    receiver = "did:hansa:hansa.local:00000000-0000-4000-8000-000000000000"
    assert "ACCOUNT_UNKNOWN" in await at.run("send", receiver, "1", code=1)
    assert "decimal number" in await at.run("send", receiver, "much", code=1)
    assert "exactly one of" in await at.run("agent", "create", code=1)
    assert "not stored" in await at.run("balance", "--agent", "Somebody", code=1)
    assert "No such option" in await at.run("balance", "--everything", code=2)


async def test_profiles_are_several_registries_or_developers(
    terminal: Callable[..., Terminal], address: str, registry: TestRegistry
):
    at = terminal()
    await logged_in(at, address)
    key = (await (await registry.developer("Bea")).api_key("*")).token
    at.environment["HANSA_CLIENT_API_KEY"] = key
    await at.run("login", address, "--api-key", "--profile", "work")
    assert key not in at.said
    assert (await at.run("profile", "list")).splitlines()[1].startswith("* work")
    assert (await at.json("agent", "create", "--name", "Clerk", "--profile", "work"))["name"] == "Clerk"
    await at.run("profile", "use", "default")
    assert await at.run("agent", "list") == "\n"


async def test_the_server_has_the_same_commands(address: str, registry: TestRegistry):
    await registry.indexed()
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "find", "painter", "--url", address, "--json"),
        stdout=PIPE,
        stderr=PIPE,
        env={"PATH": os.defpath, "HOME": "/nonexistent"},
    )
    output, complaint = await process.communicate()
    assert (process.returncode, complaint) == (0, b"")
    assert json.loads(output)["results"] == []


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)])
async def test_the_shell_completes_commands(terminal: Callable[..., Terminal], shell: str):
    asking = {
        "bash": "source <(hansa-client completion bash); COMP_WORDS=(hansa-client ba); COMP_CWORD=1;"
        ' _hansa_client_completion hansa-client; printf "%s\\n" "${COMPREPLY[@]}"',
        "zsh": 'compdef() {}; _arguments() { print -r -- "$@" }; source <(hansa-client completion zsh);'
        " words=(hansa-client ba); CURRENT=2; _hansa_client_completion",
        "fish": "hansa-client completion fish | source; complete -C 'hansa-client ba'",
    }
    at = terminal()
    process = await asyncio.create_subprocess_exec(
        *(shell, "-c", asking[shell]),
        stdout=PIPE,
        stderr=PIPE,
        env={"PATH": f"{at.programs}:{os.environ['PATH']}", "HOME": str(at.home)},
    )
    output, complaint = await process.communicate()
    assert complaint == b""
    assert b"balance" in output
    assert b"tokens" not in output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_completion_script_is_printed_for_each_shell(terminal: Callable[..., Terminal], shell: str):
    assert "_HANSA_CLIENT_COMPLETE" in await terminal().run("completion", shell)


def test_programs_are_those_of_the_clean_environment(programs: Path):
    assert (programs / "hansa-client").is_file()
    assert not (programs / "hansa").exists()


async def test_what_strangers_wrote_does_not_act_on_the_terminal(
    terminal: Callable[..., Terminal], address: str, registry: TestRegistry
):
    at = terminal()
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Customer")
    painter = (await at.json("agent", "create", "--name", "Painter"))["agent_did"]
    await at.run("send", painter, "1", "--message", "rent\x1b[2J\u202epaid\nNothing is due.")
    await registry.transactions_ended()
    lines = (await at.run("events", "--agent", "Painter")).splitlines()
    assert [line.partition("message=")[2] for line in lines if "amount=1 " in line] == [
        "rent\\x1b[2J\\u202epaid Nothing is due."
    ]


async def test_a_failure_is_printed_as_json_where_json_was_asked_for(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Customer")
    failed = json.loads(await at.run("send", "did:hansa:nobody", "1", "--json", code=1))
    assert (failed["code"], failed["status"]) == ("ACCOUNT_UNKNOWN", 404)
    assert failed["error"].endswith("(ACCOUNT_UNKNOWN)")
    failed = json.loads(await at.run("pay", "nowhere", "--max-amount", "1", "--json", code=1))
    assert failed == {"error": "the target is an http or https address or a DID, got 'nowhere'"}


async def test_a_transfer_that_the_user_interrupted_names_the_key_to_repeat_it_with(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Customer")
    is_connected = asyncio.Event()

    async def accept(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        is_connected.set()

    silent = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    profiles = at.directory / "profiles.json"
    profiles.write_text(profiles.read_text().replace(address, f"http://127.0.0.1:{port}"))
    async with asyncio.timeout(END_SECONDS), silent:
        process = await at.start("send", "did:hansa:somebody", "1", "--key", "rent-1")
        await is_connected.wait()
        process.send_signal(signal.SIGINT)
        output, complaint = await process.communicate()
    assert (process.returncode, output) == (130, b"")
    assert "with --key rent-1: it takes effect once" in complaint.decode()


async def test_a_price_is_on_the_card_as_it_was_typed_or_refused(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    assert "at most 40 digits" in await at.run(
        "agent", "create", "--name", "Costly", "--price", "1e400", code=1
    )
    made = (await at.json("agent", "create", "--name", "Exact", "--price", "0.12345678"))["agent_did"]
    assert (await at.json("agent", "show", made))["card_data"]["pricing"]["base_rate"] == "0.12345678"


async def test_a_file_that_cannot_be_used_is_named(terminal: Callable[..., Terminal], address: str):
    at = terminal()
    await logged_in(at, address)
    await at.run("agent", "create", "--name", "Customer")
    journal = at.home / ".local" / "share" / "hansa" / "payments.db"
    journal.parent.mkdir(parents=True)
    journal.write_text("no database, and longer than its header")
    for command in (("pending", "list"), ("receipt", "1")):
        assert f"The journal of payments, {journal}, cannot be used: file is not a database" in await at.run(
            *command, code=1
        )
    absent, page = str(at.home / "absent.json"), at.home / "page.json"
    page.write_text("<html>")
    for command in (("agent", "create", "--card"), ("send-many",)):
        assert f"{absent}: No such file" in await at.run(*command, absent, code=1)
        assert f"{page} does not hold what is expected: JSON is malformed" in await at.run(
            *command, str(page), code=1
        )


async def test_the_card_of_a_named_agent_has_its_address_and_nothing_of_the_example(
    terminal: Callable[..., Terminal], address: str
):
    at = terminal()
    await logged_in(at, address)
    options = ("--price", "0.05", "--url", "https://painter.example/a2a")
    made = (await at.json("agent", "create", "--name", "Painter", *options))["agent_did"]
    card = (await at.json("agent", "show", made))["card_data"]
    assert [one["url"] for one in card["supportedInterfaces"]] == ["https://painter.example/a2a"]
    assert "example.com" not in json.dumps(card)
    (extension,) = card["extensions"]
    assert extension["required"] is True
    assert "created with --name" in await at.run(
        "agent", "create", "--card", "card.json", "--price", "1", code=1
    )


async def test_damaged_credentials_are_named(terminal: Callable[..., Terminal], address: str):
    at = terminal()
    await logged_in(at, address)
    (at.directory / "credentials.json").write_text("nothing")
    assert "credentials.json is not a file of credentials" in await at.run("agent", "list", code=1)


async def test_a_usage_error_names_the_help_of_its_command(terminal: Callable[..., Terminal]):
    at = terminal()
    assert await at.run("find", "words", "--pricing", "cheap", code=2) == (
        "hansa-client: Invalid value for '--pricing': 'cheap' is not one of 'free', 'paid'. "
        "See `hansa-client find --help`.\n"
    )
    assert await at.run("--version") == f"hansa-client {version('hansa')}\n"
    assert "http or https URL" in await at.run("login", "http://[::1", "--email", "a@example.org", code=1)
