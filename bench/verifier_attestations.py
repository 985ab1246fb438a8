"""verifier/attestations: a chain of supply attestations judged by the offline verifier, beside its bare signatures."""

import json
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.figures import Figures
from hansa_verify import AuditorKey, decoded, encoded, verify_attestations

RECORDS = 5_000
RECORDS_FULL = 100_000
PERIODIC_TASKS = 3
EVERY = timedelta(minutes=1)
FRAME = "bench.example"
# Amounts are JSON numbers with eight places, which `json` does not write: they are put in place of these strings.
AMOUNTS = {'"circulating"': "90000000000.00000000", '"zero"': "0.00000000"}


async def run(*, full: bool) -> Figures:
    figures = Figures()
    count = RECORDS_FULL if full else RECORDS
    key = Ed25519PrivateKey.generate()
    public = key.public_key()
    known = AuditorKey(sha256(public.public_bytes_raw()).hexdigest()[:16], public.public_bytes_raw())
    records = _chain(key, known.kid, count)
    signed = [(decoded(record["signature"]), record["payload"].encode()) for record in records]
    chains, signatures = [], []
    for _ in range(PERIODIC_TASKS):
        started = time.perf_counter()
        for signature, payload in signed:
            public.verify(signature, payload)
        signatures.append(time.perf_counter() - started)
        started = time.perf_counter()
        verdict = verify_attestations(records, [known], exact=True)
        chains.append(time.perf_counter() - started)
        figures.books_are_sound = figures.books_are_sound and verdict.code == "verified"
    of_signatures = figures.add(f"{count:,} signatures alone", "s", signatures)
    of_chain = figures.add(f"{count:,} records, every check, exact", "s", chains)
    per_record = 1e6 * of_chain / count
    figures.notes.append(
        f"{of_chain / of_signatures:.2f} x the signatures alone, {per_record:.0f} us per record"
    )
    figures.notes.append("target: 100,000 records in 20 s")
    return figures


def _chain(key: Ed25519PrivateKey, kid: str, count: int) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    digest, timestamp = "0" * 64, datetime.now(UTC) - count * EVERY
    for number in range(1, count + 1):
        content = _content(number, digest, (timestamp + number * EVERY).isoformat(timespec="microseconds"))
        payload = json.dumps(content, sort_keys=True, separators=(",", ":"))
        for name, amount in AMOUNTS.items():
            payload = payload.replace(f":{name}", f":{amount}")
        digest = sha256(payload.encode()).hexdigest()
        envelope = {member: content[member] for member in ("frame", "ts", "kind", "prev_hash")}
        signature = encoded(key.sign(payload.encode()))
        records.append(
            {
                "id": number,
                **envelope,
                "payload": payload,
                "digest": digest,
                "signature": signature,
                "kid": kid,
            }
        )
    return records


def _content(number: int, prev_hash: str, ts: str) -> dict[str, Any]:
    checks = ("supply", "per_user", "staked_guard", "escrow", "transactions")
    return {
        "standard": "SA-1.0",
        "kind": "audit",
        "frame": FRAME,
        "ts": ts,
        "prev_hash": prev_hash,
        "as_of_event_seq": 7 * number,
        "terms": {
            "issued": "circulating",
            "destroyed": "zero",
            "transit_net": "zero",
            "net_supply": "circulating",
            "circulating": "circulating",
        },
        "delta": "zero",
        "status": "OK",
        "live_status": "OK",
        "native": {"basis": "verified", "ok": True, "gap": "zero", "gap_rebased": None},
        "gap": None,
        "checks": dict.fromkeys(checks, "OK"),
        "liabilities": {"root": "ab" * 32, "total": "90000000000", "accounts": 5_000},
    }
