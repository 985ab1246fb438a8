"""A bad setting stops the start with one line that names the variable, the value and the allowed values."""

import json
import socket
from pathlib import Path

import pytest

from hansa.foundation.plumbing.settings import BadSetting, misspelt_settings, read_settings
from tests.operation.registry_process import run

PROFILE = {
    "name": "Example Land",
    "version": "1",
    "declared_at": "2026-01-31T12:00:00Z",
    "denied_features": [],
    "regulated_actions": ["fiat.lane"],
}

REFUSED = [
    ("DID_NAMESPACE", "other.example", "empty or equal to TRUST_DOMAIN (hansa.local)"),
    ("TRUST_DOMAIN", "Not A Domain", "lower-case letters, digits, dots and hyphens"),
    ("TRUST_DOMAIN", "treasury", "not a reserved word"),
    ("DID_METHOD", "Hansa", "^[a-z0-9]+$"),
    ("PUBLIC_BASE_URL", "ftp://registry.example", "an http or https address"),
    ("PUBLIC_BASE_URL", "http://[::1", "an http or https address"),
    ("SETTLEMENT_CURRENCY", "euro", "^[A-Z]{2,8}$"),
    ("GENESIS_SUPPLY", "1e6", "a whole number of units, at most 90000000000"),
    ("GENESIS_SUPPLY", "90000000001", "a whole number of units, at most 90000000000"),
    ("GENESIS_GRANT_AMOUNT", "-1", "a plain decimal with at most 8 fraction digits"),
    ("GENESIS_GRANT_ENABLED", "perhaps", "true or false"),
    ("EMAIL_VERIFICATION_REQUIRED", "", "true or false"),
    ("PORT", "70000", "less than or equal to 65535"),
    ("PORT", "http", "a whole number"),
    ("RATE_LIMIT_READS", "plenty", "a whole number of requests a minute, or off"),
    ("RATE_LIMIT_WRITES", "1e3", "a whole number of requests a minute, or off"),
    ("RATE_LIMIT_READS", "-1", "a whole number of requests a minute, or off"),
    ("DATABASE_POOL_SIZE", "0", "greater than or equal to 2"),
    ("DATABASE_URL", "mysql://localhost/hansa", "postgresql://user:password@host:port/name"),
    ("DATABASE_URL", "postgresql://localhost:port/hansa", "postgresql://user:password@host:port/name"),
    ("DATABASE_URL", "postgresql://one:5432,two:0/hansa", "several as host:port,host:port"),
    ("SMTP_URL", "localhost", "smtp://user:password@host:port"),
    ("METRICS_TOKEN_FILE", "/nowhere/metrics-token", "a file that can be read (No such file or directory)"),
    ("METRICS_TOKEN_FILE", "/dev/null", "a file with 16 to 256 visible ASCII characters"),
    ("AGENT_RBAC_MODE", "strict", "'off', 'shadow' or 'enforce'"),
    ("AGENT_RBAC_DEFAULT_ROLES", "trader,king", "some of trader, client, staker, governor, service-provider"),
    ("TRUSTED_PROXIES", "proxy.example", "IPv4 or IPv6 addresses"),
    ("TRUSTED_PROXIES", "10.1.2.3/16", "networks such as 10.1.0.0/16"),
    ("TRUSTED_PROXIES", "0.0.0.0/0", "networks such as 10.1.0.0/16"),
    ("OUTGOING_ALLOW_HOSTS", "cards.local", "host:port pairs"),
    ("OUTGOING_ALLOW_HOSTS", "::1:8080", "brackets around a host with colons"),
    ("ACCESS_TOKEN_EXPIRE_MINUTES", "0", "greater than or equal to 1"),
    ("LOG_LEVEL", "loud", "'debug', 'info', 'warning' or 'error'"),
    ("LOG_FORMAT", "xml", "'console' or 'json'"),
    ("HANSA_DATA_DIR", "", "a directory"),
    ("HANSA_HOST", "no host", "an IPv4 or IPv6 address or a host name"),
    ("MAIL_FROM", "registry", "one e-mail address"),
    ("GOVERNANCE_WEIGHT_MODE", "heavy", "'off' or 'lock'"),
    ("FEDERATION_PORT", "0", "greater than or equal to 1"),
    ("FEDERATION_PORT", "mtls", "a whole number"),
    ("FEDERATION_BASE_URL", "http://registry.example:8443", "https://host:port"),
    ("FEDERATION_BASE_URL", "https://registry.example/federation", "https://host:port"),
    ("FEDERATION_BASE_URL", "https://régistre.example:8443", "the host in ASCII"),
]


@pytest.mark.parametrize(("variable", "value", "allowed"), REFUSED)
async def test_a_bad_value_stops_the_start_in_one_line(
    tmp_path: Path, variable: str, value: str, allowed: str
):
    ended = await run("serve", data_dir=tmp_path / "data", **{variable: value})
    assert ended.code == 1
    assert ended.output == ""
    [line] = ended.complaints
    assert line.startswith(f"hansa: {variable}=")
    assert value in line
    assert allowed in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("ENFORCEMENT_PROPAGATION_MODE", "loud", "'off', 'shadow' or 'enforce'"),
        ("TEG_CROSS_FRAME_BACKEND", "queue", "'sync' or 'async'"),
        ("FX_RATE_MODE", "market", "'fixed' or 'pool'"),
        ("IS_CENTRAL_REGISTRY", "perhaps", "true or false"),
        ("ZKP_DISPUTE_SLASH_REDUCTION", "0.6", "a plain decimal from 0 to 0.5"),
        ("FEDERATION_SYNC_INTERVAL_SECONDS", "0", "greater than or equal to 1"),
        ("FEDERATION_LICENCES", "maybe", "'auto', 'required' or 'off'"),
        ("FEDERATION_ROOT_HASH", "abc", "a SHA-256 in 64 hexadecimal digits"),
        ("SOVEREIGN_MAINFRAMES", "one.example,Two", "lower-case letters"),
        ("LICENSING_MODE", "on", "'off', 'manual' or 'automatic'"),
        ("OPERATOR_PLAN", "Gold Plan", "lower-case letters, digits and hyphens"),
        ("OPERATOR_TERM_DAYS", "0", "greater than or equal to 1"),
        ("OPERATOR_DIDS_MAX", "0", "greater than or equal to 1"),
        ("FRAME_ROSTER_MAX_AGE_HOURS", "169", "less than or equal to 168"),
        ("LICENCE_LIST_MAX_AGE", "7d", "a whole number"),
        ("REGISTRY_TIER", "regional-mainframe", "'standalone', 'sandbox' or 'cloud-operator'"),
        ("JURISDICTION_PROFILE", "/nonexistent.json", "a JSON file with name, version, declared_at"),
        ("JURISDICTION_PROFILE", "/dev/zero", "(more than 65536 bytes)"),
        ("PEER_TRUST_MODE", "shadow", "'off', 'observe' or 'enforce'"),
        ("PEER_TRUST_MIN_INTERACTIONS", "0", "greater than or equal to 1"),
        ("PEER_TRUST_WARN_BELOW", "1.1", "a plain decimal from 0 to 1"),
        ("PEER_TRUST_RESTRICT_BELOW", "-0.1", "a plain decimal from 0 to 1"),
        ("PEER_TRUST_SUSPEND_BELOW", "40%", "a plain decimal from 0 to 1"),
        ("PEER_TRUST_RECOVER_MARGIN", "1e-2", "a plain decimal from 0 to 1"),
        ("MARK_MIN_FEE", "-1", "a plain decimal with at most 8 fraction digits"),
        ("OAUTH_AUTHORIZATION_SERVER_URL", "login", "an http or https address"),
        ("SECURITY_CONTACT", "me", "an https address, or mailto:"),
        ("SECURITY_POLICY_URL", "ftp://x", "an http or https address"),
        ("DISPUTE_WINDOW_HOURS", "0", "greater than or equal to 1"),
        ("MAIL_FROM", "a@example.org, b@example.org", "one e-mail address"),
        ("MAIL_FROM", "a@example.org\nBcc: b@example.org", "one e-mail address"),
    ],
)
def test_a_setting_is_judged_although_its_feature_is_not_built(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, allowed: str
):
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSetting) as refused:
        read_settings()
    assert str(refused.value).startswith(f"{variable}={value!r} is refused; allowed is ")
    assert allowed in str(refused.value)


@pytest.mark.parametrize(
    ("variables", "refused"),
    [
        ({"WARN_BELOW": "0.4"}, "PEER_TRUST_WARN_BELOW='0.4', PEER_TRUST_RESTRICT_BELOW='0.50', "),
        (
            {"SUSPEND_BELOW": "0.7"},
            "PEER_TRUST_SUSPEND_BELOW='0.7' are refused; allowed are numbers of which none",
        ),
        (
            {"RECOVER_MARGIN": "0.5"},
            "PEER_TRUST_RECOVER_MARGIN='0.5' are refused; allowed is a sum of less than 1",
        ),
    ],
)
def test_thresholds_of_peer_trust_that_contradict_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], refused: str
):
    for name, value in variables.items():
        monkeypatch.setenv(f"PEER_TRUST_{name}", value)
    with pytest.raises(BadSetting, match="are refused; allowed ") as error:
        read_settings()
    assert refused in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"regulated_actions": ["fiat.lane", "fiat"]},
            "(regulated_actions: 1: Input should be 'exchange.listing', ",
        ),
        ({"declared_at": "2026-01-31T12:00:00"}, "(declared_at: Input should have timezone info)"),
        ({"declared_at": 1769860800}, "(declared_at: must be an ISO 8601 time, "),
        ({"denied_features": "exchange"}, "(denied_features: Input should be a valid array)"),
        ({"name": ""}, "(name: String should have at least 1 character)"),
        ({"valid_until": None}, "(valid_until: Extra inputs are not permitted)"),
    ],
)
def test_a_jurisdiction_profile_is_refused_with_the_member_that_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: dict[str, object], reason: str
):
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE | change))
    monkeypatch.setenv("JURISDICTION_PROFILE", str(tmp_path / "profile.json"))
    with pytest.raises(BadSetting, match=r"^JURISDICTION_PROFILE='") as error:
        read_settings()
    assert reason in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_jurisdiction_profile_without_a_member_or_of_another_form_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("JURISDICTION_PROFILE", str(tmp_path / "profile.json"))
    for content in (b"", b"[]", b"{}", b"{", b"\xff"):
        (tmp_path / "profile.json").write_bytes(content)
        with pytest.raises(BadSetting, match="is refused; allowed is a JSON file with "):
            read_settings()


def test_the_jurisdiction_profile_of_the_guide_is_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "settings.md").read_text()
    (tmp_path / "profile.json").write_text(guide.partition("```json\n")[2].partition("```")[0])
    monkeypatch.setenv("JURISDICTION_PROFILE", str(tmp_path / "profile.json"))
    assert read_settings().jurisdiction_profile == tmp_path / "profile.json"


@pytest.fixture
def without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account as in a container: no HOME, and no entry in the list of accounts."""

    def unknown(_: object) -> None:
        raise KeyError

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("HANSA_DATA_DIR", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)


@pytest.mark.usefixtures("without_home")
def test_an_account_without_a_home_is_asked_for_a_data_directory(tmp_path: Path):
    with pytest.raises(
        BadSetting, match=r"^HANSA_DATA_DIR is not set, and .*; set HANSA_DATA_DIR or HOME, or give"
    ):
        read_settings()
    with pytest.raises(BadSetting, match=r"^HANSA_DATA_DIR='~/data' is refused; allowed is a directory"):
        read_settings(data_dir="~/data")
    assert read_settings(data_dir=tmp_path).data_dir == tmp_path


def test_a_tilde_in_the_data_directory_is_the_home(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("HANSA_DATA_DIR", "~/data")
    assert read_settings().data_dir == Path("/home/ada/data")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DATABSE_URL", "DATABASE_URL"),
        ("LOG_LEVL", "LOG_LEVEL"),
        ("EMAIL_VERIFICATION_REQIURED", "EMAIL_VERIFICATION_REQUIRED"),
        ("HANSA_DATADIR", "HANSA_DATA_DIR"),
        ("FX_RATE_MOD", "FX_RATE_MODE"),
    ],
)
def test_a_name_close_to_a_setting_is_taken_for_a_misspelling(name: str, meant: str):
    assert misspelt_settings({name: "x"}) == {name: meant}


@pytest.mark.parametrize(
    "name",
    ["HOME", "PATH", "HOST", "LOGNAME", "REPORT", "DATABASE_HOST", "HANSA_KEY_AGENT_TOKEN", "LOG_LEVEL"],
)
def test_names_of_other_programs_and_of_settings_are_no_misspellings(name: str):
    assert misspelt_settings({name: "x"}) == {}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "mysql://hansa:Secret@db.example/hansa"),
        ("DATABASE_URL", "postgresql://hansa:Secret@db.example:port/hansa"),
        ("DATABASE_URL", "hansa:Secret@db.example"),
        ("DATABASE_URL", "host=db.example password=Secret"),
        ("DATABASE_URL", "mysql://db.example/hansa?password=Secret"),
        ("SMTP_URL", "http://hansa:Secret@mail.example"),
        ("SMTP_URL", "smtp:/hansa:Sec@Secret@mail.example"),
    ],
)
async def test_a_refused_address_does_not_show_the_password_in_it(tmp_path: Path, variable: str, value: str):
    ended = await run("serve", data_dir=tmp_path / "data", **{variable: value})
    [line] = ended.complaints
    assert line.startswith(f"hansa: {variable}=")
    assert "Sec" not in line


async def test_a_federation_listener_without_an_identity_stops_the_start(tmp_path: Path):
    ended = await run(
        "serve", data_dir=tmp_path / "data", FEDERATION_PORT="8443", AGENT_IDENTITY_ISSUER="none"
    )
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert line.startswith("hansa: FEDERATION_PORT=8443 is refused")
    assert "AGENT_IDENTITY_ISSUER" in line


async def test_a_federation_port_that_is_taken_stops_the_start(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = await run("serve", "--port=0", data_dir=tmp_path / "data", FEDERATION_PORT=port)
    assert (ended.code, ended.output) == (1, "")
    [line] = ended.complaints
    assert line == (
        f"hansa: HANSA_HOST='127.0.0.1', FEDERATION_PORT={port}: cannot bind: address already in use"
    )


async def test_a_federation_port_that_is_the_public_one_stops_the_start(tmp_path: Path):
    ended = await run("serve", data_dir=tmp_path / "data", PORT="8443", FEDERATION_PORT="8443")
    assert (ended.code, ended.output) == (1, "")
    assert ended.complaints == [
        "hansa: FEDERATION_PORT=8443 is refused: PORT is the same; allowed is another port"
    ]


async def test_a_bad_key_stops_the_start_in_one_line_that_does_not_show_it(operated, tmp_path: Path):
    ended = await run("serve", "--port=0", data_dir=tmp_path / "data", HANSA_KEY_AGENT_TOKEN="not-a-key")
    assert ended.code == 1
    assert ended.complaints == [
        "hansa: HANSA_KEY_AGENT_TOKEN is refused; allowed is an unencrypted Ed25519 private key in PEM"
    ]


async def test_a_data_directory_that_cannot_be_made_stops_the_start_in_one_line(tmp_path: Path):
    (tmp_path / "file").touch()
    ended = await run("serve", "--port=0", data_dir=tmp_path / "file" / "data")
    assert ended.code == 1
    [line] = ended.complaints
    assert (
        line == f"hansa: HANSA_DATA_DIR={str(tmp_path / 'file' / 'data')!r} cannot be used: not a directory"
    )
