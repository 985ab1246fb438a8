"""Findings of `hansa doctor` that a sound registry on a sound machine never shows."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

import hansa
from hansa.doors.commands import inspection
from hansa.doors.diagnosis import Facts, Finding, check
from hansa.doors.diagnosis.durability import Durability
from hansa.doors.diagnosis.facts import Answers, DatabaseFacts, Queue
from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.process.process_files import ServingProcess
from hansa.foundation.plumbing.settings import read_settings
from hansa.foundation.plumbing.storage.backup_record import BackupRecord
from hansa.foundation.plumbing.storage.migrate import LAST_COMMIT_OF_FORMER_CHAIN


@pytest.fixture
def sound(tmp_path: Path) -> Facts:
    """The facts of a registry that runs and lacks nothing."""
    tmp_path.chmod(0o711)
    now = datetime.now(UTC).isoformat()
    presence = ServingProcess(1, 1, now, "http://127.0.0.1:1", hansa.__version__, 1, "embedded")
    audit = {"status": "OK", "delta": "0", "last_cycle": {"checked_at": now}}
    return Facts(
        settings=read_settings(data_dir=tmp_path, email_verification_required=True),
        data_dir=tmp_path,
        processes=[presence],
        answers=Answers(ready=True, trouble=None, audit=audit),
        database=DatabaseFacts("embedded", version="18.6", version_number=180006, schema="0001"),
        newest_schema="0001",
        known_schemas=frozenset({"0000", "0001", "0003"}),
    )


def worst(facts: Facts, subject: str) -> Finding:
    [found] = [one for one in check(facts) if one.subject == subject and one.severity != "ok"]
    assert found.fix
    return found


def with_database(facts: Facts, **changes: Any) -> Facts:
    return replace(facts, database=replace(facts.database, **changes))


def test_a_sound_registry_has_no_finding_but_ok(sound: Facts):
    # How much room the disk of the tests has is not ours to say.
    assert {one.severity for one in check(sound) if one.subject != "disk"} == {"ok"}


def test_grants_to_unverified_addresses_are_a_warning(sound: Facts):
    unverified = replace(sound, settings=read_settings(data_dir=sound.data_dir))
    assert worst(unverified, "grants").severity == "warning"
    without = read_settings(data_dir=sound.data_dir, genesis_grant_enabled=False)
    assert [one.severity for one in check(replace(sound, settings=without)) if one.subject == "grants"] == [
        "ok"
    ]


@pytest.mark.parametrize(
    ("taken_hours_ago", "failed_hours_ago", "hours_max", "severity"),
    [
        (1, None, 48, "ok"),
        (49, None, 48, "warning"),
        (49, None, 0, "ok"),
        (None, None, 100, "note"),
        (None, None, 48, "warning"),
        (None, None, 0, "note"),
        (2, 1, 48, "warning"),
        (1, 2, 48, "ok"),
        (2, 1, 0, "warning"),
    ],
)
def test_an_old_a_missing_and_a_failed_backup_are_warnings(
    sound: Facts, taken_hours_ago: int | None, failed_hours_ago: int | None, hours_max: int, severity: str
):
    def ago(hours: int | None) -> datetime | None:
        return None if hours is None else datetime.now(UTC) - timedelta(hours=hours)

    record = BackupRecord(
        taken_at=ago(taken_hours_ago),
        age_seconds=(taken_hours_ago or 49) * 3600.0,
        failed_at=ago(failed_hours_ago),
        failure=None if failed_hours_ago is None else "No space left on device",
    )
    assert sound.settings is not None
    settings = sound.settings.model_copy(update={"backup_max_age_hours": hours_max})
    facts = replace(with_database(sound, backup=record), settings=settings)
    [found] = [one for one in check(facts) if one.subject == "backup"]
    assert found.severity == severity
    assert bool(found.fix) is (severity != "ok")


def test_a_breach_of_the_supply_is_a_problem(sound: Facts):
    audit = {"status": "BREACH", "delta": "0.5", "last_cycle": None}
    breached = replace(sound, answers=Answers(ready=True, trouble=None, audit=audit))
    assert worst(breached, "audit").severity == "problem"


def test_an_audit_of_long_ago_is_a_problem(sound: Facts):
    cycle = {"checked_at": "2020-01-01T00:00:00Z"}
    old = replace(
        sound,
        answers=replace(sound.answers, audit={"status": "OK", "delta": "0", "last_cycle": cycle}),
    )
    assert worst(old, "audit").severity == "problem"


def test_background_work_that_fails_is_a_problem_with_its_error(sound: Facts):
    job = {"name": "sweep x", "since": "2026-11-23T10:00:00+00:00", "failures": 3, "error": "TimeoutError"}
    failing = replace(sound, answers=replace(sound.answers, failing_jobs=[job]))
    found = worst(failing, "background")
    assert found.severity == "problem"
    assert "sweep x failed 3 times" in found.message
    state = inspection._state_of(failing)
    assert state["failing_jobs"] == [job]
    shown = "failing job     sweep x: 3 failures since 2026-11-23T10:00:00+00:00, TimeoutError"
    assert shown in inspection._lines(state)


def test_a_registry_that_is_not_ready_is_a_problem(sound: Facts):
    silent = replace(sound, answers=Answers(ready=False, trouble="no answer", audit=None))
    assert "no answer" in worst(silent, "readiness").message


@pytest.mark.parametrize(
    ("changes", "subject", "severity"),
    [
        ({"version": None, "trouble": "refused"}, "database", "problem"),
        ({"version": "14.1", "version_number": 140001}, "database", "problem"),
        ({"schema": "0000"}, "schema", "warning"),
        # It was applied before the newest one, though its number is higher.
        ({"schema": "0003"}, "schema", "warning"),
        ({"schema": "2026112902"}, "schema", "problem"),
        ({"schema": None}, "schema", "problem"),
        ({"clock_difference_seconds": 30.0}, "clock", "warning"),
        ({"signing_key_trouble": "does not open"}, "signing key", "problem"),
        ({"queues": [Queue("mail", 4, oldest_seconds=7200.0)]}, "queue", "warning"),
        ({"queues": [Queue("reactor x", 4, failures=2)]}, "queue", "warning"),
        ({"queues": [Queue("reactor x", 0, given_up=1)]}, "queue", "warning"),
    ],
    ids=str,
)
def test_what_is_wrong_with_the_database_is_found(
    sound: Facts, changes: dict[str, Any], subject: str, severity: str
):
    assert worst(with_database(sound, **changes), subject).severity == severity


def test_a_schema_from_before_the_baseline_is_a_problem_that_names_the_commit_to_pass_through(sound: Facts):
    found = worst(with_database(sound, schema="0257"), "schema")
    assert found.severity == "problem"
    assert LAST_COMMIT_OF_FORMER_CHAIN in found.fix


def test_a_process_of_another_version_is_a_warning(sound: Facts):
    old = replace(sound, processes=[replace(sound.processes[0], version="0.0.1")])
    assert worst(old, "version").fix == "restart the registry"


def test_a_federation_port_on_which_nothing_listens_is_a_problem(sound: Facts):
    listening = replace(sound, settings=sound.settings.model_copy(update={"federation_port": 1}))
    assert worst(listening, "federation").severity == "problem"


def test_a_data_directory_that_others_can_write_to_is_a_problem(sound: Facts):
    sound.data_dir.chmod(0o777)
    assert worst(sound, "permissions").severity == "problem"


@pytest.mark.parametrize(("free", "severity"), [(200 << 20, "problem"), (1 << 30, "warning")])
def test_a_disk_with_little_space_is_found(
    sound: Facts, monkeypatch: pytest.MonkeyPatch, free: int, severity: str
):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert worst(sound, "disk").severity == severity


def test_peers_on_which_there_is_evidence_are_to_be_acted_on(sound: Facts):
    shadow = with_database(sound, trust_of_peers=["unmeasured"])
    assert worst(shadow, "peers").fix == "set ENFORCEMENT_PROPAGATION_MODE=enforce"
    assert not [one for one in check(shadow) if one.subject == "peer trust"]
    observed = with_database(sound, trust_of_peers=["unmeasured", "warn"])
    found = worst(observed, "peer trust")
    assert (found.severity, found.fix) == ("note", "set PEER_TRUST_MODE=enforce")
    acting = {"peer_trust_mode": "enforce", "enforcement_propagation_mode": "enforce"}
    enforced = replace(observed, settings=sound.settings.model_copy(update=acting))
    assert not [one for one in check(enforced) if one.subject in {"peer trust", "peers"}]


SAFE = Durability("on", "on", "on", "standby", 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fsync": "off"}, "fsync is off"),
        ({"full_page_writes": "off"}, "full_page_writes is off"),
        ({"synchronous_commit": "off"}, "a crash loses acknowledged operations"),
        ({"synchronous_commit": "local"}, "a failover can lose acknowledged operations"),
        ({"synchronous_commit": "remote_write"}, "a failover can lose acknowledged operations"),
        ({"synchronous_standby_names": ""}, "2 standbys follow without synchronous replication"),
    ],
)
def test_a_database_that_can_lose_an_acknowledged_operation_is_a_problem(
    sound: Facts, changes: dict[str, str], said: str
):
    found = worst(with_database(sound, durability=replace(SAFE, **changes)), "durability")
    assert found.severity == "problem"
    assert said in found.message


def test_a_database_that_loses_nothing_is_sound(sound: Facts):
    alone = Durability("on", "on", "on", "", 0)
    for durability in (SAFE, alone, replace(alone, synchronous_commit="local")):
        findings = check(with_database(sound, durability=durability))
        assert [one.severity for one in findings if one.subject == "durability"] == ["ok"]


def test_a_pooler_that_drops_settings_is_a_warning_with_the_statements_of_the_role(sound: Facts):
    found = worst(with_database(sound, settings_not_in_effect={"jit": "on"}), "pooler")
    assert found.severity == "warning"
    assert found.fix == "ALTER ROLE CURRENT_USER SET jit = 'off'"


def test_a_value_of_governance_is_named_with_its_source_and_its_pending_change(sound: Facts):
    at = datetime(2026, 12, 1, tzinfo=UTC)
    bounds = parameters.Bounds("decimal", "0", "2")
    governed = parameters.Parameter("fee_base_rate_percent", "1", "governance", bounds, None)
    pending = parameters.Parameter(
        "bond_minimum", "100", "environment", bounds, parameters.Scheduled("40", at)
    )
    found = [
        one
        for one in check(with_database(sound, governed=[governed, pending]))
        if one.subject == "governance"
    ]
    assert [(one.severity, one.message) for one in found] == [
        ("ok", "FEE_BASE_RATE_PERCENT is 1, by governance, whatever the environment states"),
        (
            "ok",
            "BOND_MINIMUM is 100, by the environment, 40 from 2026-12-01T00:00:00+00:00 on, by governance",
        ),
    ]
