"""Files of `deploy/ha` for the database: nothing that a failover loses is acknowledged, and health checks ask for the process alone."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from hansa.doors.commands.program import app
from tests import debian_packages
from tests.high_availability import __main__ as high_availability
from tests.operation.proxies import DEPLOYED


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOYED / name).read_text()))


def test_patroni_replicates_synchronously_and_without_exception():
    [patroni] = documents("patroni.yml")
    shared = patroni["bootstrap"]["dcs"]
    assert (shared["synchronous_mode"], shared["synchronous_mode_strict"]) == (True, True)
    assert shared["postgresql"]["parameters"]["synchronous_commit"] == "on"
    # The bound that Patroni states; below it a leader gives up for one slow answer of etcd.
    assert shared["ttl"] >= shared["loop_wait"] + 2 * shared["retry_timeout"]


def test_cloudnativepg_replicates_synchronously_and_without_exception():
    cluster, *_ = documents("cloudnativepg.yaml")
    postgresql = cluster["spec"]["postgresql"]
    assert postgresql["synchronous"] == {"method": "any", "number": 1, "dataDurability": "required"}
    assert postgresql["parameters"]["synchronous_commit"] == "on"


def test_the_machines_on_kubernetes_run_commands_that_exist_and_are_not_taken_out_with_the_database():
    _, deployment, _ = documents("cloudnativepg.yaml")
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [keys] = pod["initContainers"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] == "/livez"
    assert keys["env"] == container["env"]
    commands = get_command(app).commands
    for program, first, *arguments in (container["command"], keys["command"]):
        assert program == "hansa"
        shown = commands[first]
        if arguments[0] in getattr(shown, "commands", {}):
            shown = shown.commands[arguments[0]]
        options = {name for parameter in shown.params for name in parameter.opts}
        assert {one for one in arguments if one.startswith("--")} <= options


def test_the_program_with_the_cluster_says_in_one_line_which_packages_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def unreachable(*command: str, **_: object) -> None:
        raise subprocess.CalledProcessError(100, command)

    monkeypatch.setattr(debian_packages, "UNPACKED", tmp_path / "unpacked")
    monkeypatch.setattr(debian_packages.subprocess, "run", unreachable)
    monkeypatch.setattr(high_availability.lowest_postgresql, "get", lambda: tmp_path)
    monkeypatch.setattr("sys.argv", ["high_availability"])
    assert high_availability.main() == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("make test-ha needs Debian's packages patroni, ")
    assert list((tmp_path / "unpacked").glob("[0-9a-f]*")) == []
