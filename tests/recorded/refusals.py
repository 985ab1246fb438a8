"""Recorded: public information about the registry, and refusals that belong to no room."""

from tests.recorded.parties import Parties
from tests.recorded.recorder import ANYONE, Caller, Recorder


async def record_public(record: Recorder, by: Parties) -> None:
    """Record the public readings of the registry."""
    await record.ask("GET", "/public/registry-config")
    with record.masking("version"):
        for path in ("health", "livez", "readyz"):
            await record.ask("GET", f"//{path}")


async def record_refusals(record: Recorder, by: Parties) -> None:
    """Requests that reach no route, or reach it with a credential or a body that it does not take."""
    for method, path in (
        ("GET", "/nothing"), ("GET", "//nothing"), ("DELETE", "/teg/balance"), ("PATCH", "/agents/me"),
        ("PUT", "/teg/transfer"), ("GET", "/teg/balance%00"), ("GET", "/agents/%2e%2e%2fme"), ("GET", "/agents/%ff"),
        ("GET", "/agents/me/"), ("GET", "/teg//balance"), ("GET", "/teg/balance%0A"),
    ):  # fmt: skip
        await record.ask(method, path, by.alice)
    await record.ask("GET", f"/teg/balance?as_of={'x' * 9000}", by.alice)
    for header in ("Bearer", "Bearer not.a.token", "Basic YTpi", "Bearer eyJhbGciOiJub25lIn0.e30.", ""):
        for path in ("/teg/balance", "/auth/profile", "/agents/me"):
            await record.ask("GET", path, Caller(f"credential {header!r}", {"Authorization": header}))
    both = {**by.alice.headers, "X-Internal-Key": "k" * 32}
    await record.ask("GET", "/events/", Caller("agent and wrong internal key", both))
    json = {"Content-Type": "application/json"}
    deep = b"[" * 2000 + b"]" * 2000
    for content in (
        b"{}",
        b'{"amount": NaN}',
        b"[1]",
        deep,
        b'"' + b"x" * 70_000 + b'"',
        b'{"a": "\\ud800"}',
    ):
        await record.ask("POST", "/staking/unstake", by.alice, headers=json, content=content)
    for media_type in ("application/xml", "application/json; charset=latin-1", "multipart/form-data"):
        kind = {"Content-Type": media_type}
        await record.ask("POST", "/staking/stake", by.alice, headers=kind, content=b'{"amount": "1"}')
    await record.ask("POST", "/auth/login", ANYONE, headers=json, content=b'{"username": "a"}')
    for _ in range(2):
        # The window of this limit is full: it slides by time, so that filling it by requests could take too long.
        await _fill_window(record, "login:198.51.100.7", 10)
        headers = {"X-Forwarded-For": "198.51.100.7"}
        await record.ask("POST", "/auth/login", headers=headers, data={"username": "a", "password": "b"})


async def _fill_window(record: Recorder, bucket: str, count: int) -> None:
    await record.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO plumbing_rate_limit (bucket, admitted)"
            " VALUES ($1, array_fill(clock_timestamp() + interval '1 hour', ARRAY[$2::int]))"
            " ON CONFLICT (bucket) DO NOTHING",
            bucket,
            count,
        )
    )
