"""One settings file for the service and for every command beside it; variables of the environment win."""

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from hansa.foundation.plumbing.settings import BadSetting, read_settings_file
from tests.data_directories import copy_data_directory
from tests.operation.conftest import end_postgres
from tests.operation.registry_process import START_SECONDS, STOP_SECONDS, free_port, launch, run
from tests.registry import PASSWORD


def written(directory: Path, text: str) -> Path:
    file = directory / "hansa.env"
    file.write_text(text)
    return file


def test_a_settings_file_is_read_as_systemd_reads_an_environment_file(tmp_path: Path):
    text = """
# a comment
; another one
REGISTRY_NAME=example
  TRUST_DOMAIN=  registry.example
"""
    text += (
        "MAIL_FROM='registry@example.org'\nSECURITY_CONTACT=\"mailto:a=b#c@example.org\"\nDID_NAMESPACE=\n"
    )
    assert read_settings_file(written(tmp_path, text)) == {
        "REGISTRY_NAME": "example",
        "TRUST_DOMAIN": "registry.example",
        "MAIL_FROM": "registry@example.org",
        "SECURITY_CONTACT": "mailto:a=b#c@example.org",
        "DID_NAMESPACE": "",
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("REGISTRY_NAME example", "line 1: expected NAME=value"),
        ("\nexport PORT=8000", "line 2: expected NAME=value"),
        ("PORT = 8000", "line 1: expected NAME=value"),
        ("PORT=8000\nPORT=8001", "line 2: PORT is set twice"),
        ("SMTP_URL=a\\\nb", "line 1: the value of SMTP_URL has a backslash"),
        ("MAIL_FROM='open", "line 1: the value of MAIL_FROM has an open quote"),
        ("MAIL_FROM='a'b'", "line 1: the value of MAIL_FROM has an open quote"),
        ("DATABSE_URL=postgresql://localhost/hansa", "DATABSE_URL is no setting; is DATABASE_URL meant?"),
        ("HANSA_CONFIG=other.env", "line 1: a settings file names no other settings file"),
        ("A=" + "a" * (1 << 16), "it has more than 65536 bytes"),
    ],
)
def test_a_settings_file_of_another_form_is_refused_with_its_line(tmp_path: Path, text: str, sentence: str):
    file = written(tmp_path, text)
    with pytest.raises(BadSetting) as refused:
        read_settings_file(file)
    assert str(file) in str(refused.value)
    assert sentence in str(refused.value)


async def command(shell: dict[str, str], *arguments: str, **more: str) -> str:
    """Output of a command that succeeds, with nothing but this environment."""
    process = await launch(*arguments, environment={**shell, **more}, stderr=PIPE)
    output, complaint = await asyncio.wait_for(process.communicate(), START_SECONDS)
    assert await process.wait() == 0, complaint.decode()
    return output.decode()


async def test_the_service_and_every_command_read_the_same_file(tmp_path: Path, migrated_data: Path):
    data, port = tmp_path / "data", free_port()
    copy_data_directory(migrated_data, data)
    stated = {
        "HANSA_DATA_DIR": str(data),
        "PORT": str(port),
        "FEDERATION_PORT": str(free_port()),
        "REGISTRY_NAME": "example",
        "TRUST_DOMAIN": "registry.example",
    }
    file = written(tmp_path, "".join(f"{name}={value}\n" for name, value in stated.items()))
    shell = {"PATH": os.defpath, "HOME": str(tmp_path), "HANSA_CONFIG": str(file)}
    with (tmp_path / "log").open("wb") as log:
        service = await launch("serve", environment=shell, stderr=log.fileno())
    try:
        assert service.stdout is not None
        line = (await asyncio.wait_for(service.stdout.readline(), START_SECONDS)).decode()
        assert line == f"ready http://127.0.0.1:{port}\n"
        assert json.loads(await command(shell, "status", "--json"))["processes"]
        await command(
            shell,
            *("admin", "create", "--name", "Ops", "--email", "ops@example.org"),
            HANSA_ADMIN_PASSWORD=PASSWORD,
        )
        invited = json.loads(await command(shell, "peer", "invite", "--json"))
        assert invited["invitation"]
        await command(shell, "stop")
        await asyncio.wait_for(service.wait(), STOP_SECONDS)
    finally:
        if service.returncode is None:
            os.kill(service.pid, signal.SIGKILL)
        await end_postgres(data)


@pytest.mark.parametrize("at", ["before", "behind"])
async def test_the_option_stands_before_or_behind_the_command(tmp_path: Path, at: str):
    file = written(tmp_path, "DID_METHOD=Hansa\n")
    arguments = ["--config", str(file), "status"] if at == "before" else ["status", f"--config={file}"]
    ended = await run(*arguments, data_dir=tmp_path / "data")
    assert (ended.code, ended.output) == (1, "")
    assert ended.complaint.startswith("hansa: DID_METHOD='Hansa'")


async def test_a_variable_of_the_environment_wins(tmp_path: Path):
    file = written(tmp_path, "DID_METHOD=Hansa\n")
    ended = await run("status", data_dir=tmp_path / "data", HANSA_CONFIG=str(file), DID_METHOD="hansa")
    assert "DID_METHOD" not in ended.complaint


async def test_a_file_that_cannot_be_read_ends_a_command_in_one_line(tmp_path: Path):
    ended = await run("status", data_dir=tmp_path / "data", HANSA_CONFIG=str(tmp_path / "none.env"))
    assert ended.code == 1
    assert ended.complaints == [
        f"hansa: the settings file {tmp_path / 'none.env'} cannot be read: No such file or directory"
    ]
