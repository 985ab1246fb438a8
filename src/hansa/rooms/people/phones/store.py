"""Every statement on people_phone_account, people_phone_device, people_phone_login and people_passkey_challenge.

Locked in this order: the developer, the partial token, the account's row here, the phone, the login.
"""

from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx

from .records import Device, Passkey, PhoneLogin
from .rules import COOKIE_DAYS, LOGINS_PER_HOUR, PAUSE_MINUTES, REFUSALS_MAX, WAITING_SECONDS

_DEVICE = "d.id, d.developer_id, d.name, d.created_at, d.last_used_at, d.credential_id"
_PASSKEY = f"{_DEVICE}, d.public_key, d.sign_count"

_WITH_COOKIE = (
    "FROM people_phone_device d JOIN people_developer p ON p.id = d.developer_id AND p.closed_at IS NULL"
)

_OF_COOKIE = f"""
SELECT {_DEVICE} {_WITH_COOKIE} WHERE d.cookie_hash = $1 AND d.cookie_ends_at > clock_timestamp()
"""

_ENROL = f"""
INSERT INTO people_phone_device AS d (developer_id, name, credential_id, public_key, sign_count, cookie_hash, cookie_ends_at)
VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(days => {COOKIE_DAYS}))
ON CONFLICT (credential_id) DO NOTHING RETURNING {_DEVICE}
"""  # noqa: S608

_ASK = f"""
INSERT INTO people_phone_login (developer_id, token_hash, challenge, number, address, user_agent, expires_at)
SELECT a.developer_id, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(secs => {WAITING_SECONDS})
FROM people_phone_account a WHERE a.developer_id = $1
  AND (a.paused_until IS NULL OR a.paused_until <= clock_timestamp())
  AND NOT EXISTS (SELECT FROM people_phone_login l WHERE l.developer_id = $1 AND l.status = 'pending')
  AND (SELECT count(*) FROM people_phone_login l
    WHERE l.developer_id = $1 AND l.asked_at > clock_timestamp() - interval '1 hour') < {LOGINS_PER_HOUR}
  AND EXISTS (SELECT FROM people_phone_device d WHERE d.developer_id = $1 AND d.cookie_ends_at > clock_timestamp())
RETURNING true
"""  # noqa: S608

_COUNT_REFUSAL = f"""
UPDATE people_phone_account SET
  refusals = CASE WHEN refusals + 1 >= {REFUSALS_MAX} THEN 0 ELSE refusals + 1 END,
  paused_until = CASE WHEN refusals + 1 >= {REFUSALS_MAX}
    THEN clock_timestamp() + make_interval(mins => {PAUSE_MINUTES}) ELSE paused_until END
WHERE developer_id = $1 RETURNING refusals = 0
"""  # noqa: S608

_LOGIN = (
    "l.id, l.developer_id, l.challenge, l.number, l.address, l.user_agent, l.asked_at, l.expires_at, l.status"
)


async def lock_account(tx: Tx, developer_id: int) -> bool:
    """Lock the row of the account; False where no phone was ever enrolled."""
    found = await tx.fetchval(
        "SELECT true FROM people_phone_account WHERE developer_id = $1 FOR NO KEY UPDATE", developer_id
    )
    return found is not None


async def user_handle_of(tx: Tx, developer_id: int, fresh: bytes) -> bytes:
    """The name of the account at authenticators; `fresh` becomes it at the first request. The row stays locked."""
    user_handle: bytes = await tx.fetchval(
        "INSERT INTO people_phone_account AS a (developer_id, user_handle) VALUES ($1, $2)"
        " ON CONFLICT (developer_id) DO UPDATE SET user_handle = a.user_handle RETURNING user_handle",
        developer_id,
        fresh,
    )
    return user_handle


async def has_devices(tx: Tx, developer_id: int) -> bool:
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM people_phone_device WHERE developer_id = $1)", developer_id
    )
    return found


async def devices_of(tx: Tx, developer_id: int) -> list[Device]:
    """The phones of an account, the newest first."""
    rows = await tx.fetch(
        f"SELECT {_DEVICE} FROM people_phone_device d WHERE developer_id = $1 ORDER BY created_at DESC, id",  # noqa: S608
        developer_id,
    )
    return [Device(**row) for row in rows]


async def enrol(
    tx: Tx,
    developer_id: int,
    *,
    name: str,
    credential_id: bytes,
    public_key: bytes,
    sign_count: int,
    cookie_hash: bytes,
) -> Device | None:
    """A new phone; None where the passkey is enrolled already."""
    row = await tx.fetchrow(_ENROL, developer_id, name, credential_id, public_key, sign_count, cookie_hash)
    return Device(**row) if row else None


async def remove_device(tx: Tx, developer_id: int, device_id: UUID) -> bool:
    removed = await tx.fetchval(
        "DELETE FROM people_phone_device WHERE developer_id = $1 AND id = $2 RETURNING true",
        developer_id,
        device_id,
    )
    return removed is not None


async def forget_devices(tx: Tx, developer_id: int) -> bool:
    """Delete every phone of an account; return whether there was one."""
    rows = await tx.fetch(
        "DELETE FROM people_phone_device WHERE developer_id = $1 RETURNING id", developer_id
    )
    return bool(rows)


async def device_of_cookie(tx: Tx, cookie_hash: bytes) -> Device | None:
    """The phone with this cookie, while the cookie is good and the account open."""
    row = await tx.fetchrow(_OF_COOKIE, cookie_hash)
    return Device(**row) if row else None


async def lock_device(tx: Tx, device: Device) -> Passkey | None:
    """The passkey of a phone, which stays; None where the phone was removed meanwhile."""
    row = await tx.fetchrow(
        f"SELECT {_PASSKEY} FROM people_phone_device d WHERE d.id = $1 FOR NO KEY UPDATE",  # noqa: S608
        device.id,
    )
    return Passkey(**row) if row else None


async def lock_passkey(tx: Tx, developer_id: int, credential_id: bytes) -> Passkey | None:
    """A passkey of the account, by the id that an answer names."""
    row = await tx.fetchrow(
        f"SELECT {_PASSKEY} FROM people_phone_device d WHERE d.developer_id = $1 AND d.credential_id = $2 FOR NO KEY UPDATE",  # noqa: S608
        developer_id,
        credential_id,
    )
    return Passkey(**row) if row else None


async def note_use(tx: Tx, device_id: UUID, sign_count: int, *, extends_cookie: bool) -> None:
    """Keep the counter of a locked passkey that was used, and let its cookie last from now."""
    await tx.execute(
        "UPDATE people_phone_device SET sign_count = $2, last_used_at = now(),"
        " cookie_ends_at = CASE WHEN $3 THEN now() + make_interval(days => $4) ELSE cookie_ends_at END WHERE id = $1",
        device_id,
        sign_count,
        extends_cookie,
        COOKIE_DAYS,
    )


async def expire_logins(tx: Tx, developer_id: int) -> None:
    """Mark a login that no phone answered in time."""
    await tx.execute(
        "UPDATE people_phone_login SET status = 'expired', decided_at = clock_timestamp()"
        " WHERE developer_id = $1 AND status = 'pending' AND expires_at <= clock_timestamp()",
        developer_id,
    )


async def ask(
    tx: Tx,
    developer_id: int,
    *,
    token_hash: bytes,
    challenge: bytes,
    number: str,
    address: str,
    user_agent: str,
) -> bool:
    """A login that waits for a phone; False while one waits or phones are paused, after five in an hour, and without a phone that can answer.

    The caller holds the account's row.
    """
    asked = await tx.fetchval(_ASK, developer_id, token_hash, challenge, number, address, user_agent)
    return asked is not None


async def waiting_login(tx: Tx, developer_id: int) -> PhoneLogin | None:
    """The login that waits for a phone of this account."""
    row = await tx.fetchrow(
        f"SELECT {_LOGIN} FROM people_phone_login l"  # noqa: S608
        " WHERE l.developer_id = $1 AND l.status = 'pending' AND l.expires_at > clock_timestamp()",
        developer_id,
    )
    return PhoneLogin(**row) if row else None


async def login_of(tx: Tx, developer_id: int, login_id: UUID) -> PhoneLogin | None:
    row = await tx.fetchrow(
        f"SELECT {_LOGIN} FROM people_phone_login l WHERE l.id = $2 AND l.developer_id = $1",  # noqa: S608
        developer_id,
        login_id,
    )
    return PhoneLogin(**row) if row else None


async def login_of_token(tx: Tx, token_hash: bytes) -> PhoneLogin | None:
    """The login of this partial token that a phone was asked about; one that expired has the status `expired`."""
    row = await tx.fetchrow(
        "SELECT l.id, l.developer_id, l.challenge, l.number, l.address, l.user_agent, l.asked_at, l.expires_at,"
        " CASE WHEN l.status = 'pending' AND l.expires_at <= clock_timestamp() THEN 'expired' ELSE l.status END AS status"
        " FROM people_phone_login l JOIN people_partial_token t USING (token_hash)"
        " WHERE l.token_hash = $1 AND t.expires_at > clock_timestamp()",
        token_hash,
    )
    return PhoneLogin(**row) if row else None


async def decide(tx: Tx, login_id: UUID, status: str) -> bool:
    """Decide a login that waits; False when it was decided or has expired."""
    decided = await tx.fetchval(
        "UPDATE people_phone_login SET status = $2, decided_at = clock_timestamp()"
        " WHERE id = $1 AND status = 'pending' AND expires_at > clock_timestamp() RETURNING true",
        login_id,
        status,
    )
    return decided is not None


async def use_approval(tx: Tx, token_hash: bytes) -> bool:
    """Use the approval of the login with this partial token, once."""
    used = await tx.fetchval(
        "UPDATE people_phone_login SET status = 'used' WHERE token_hash = $1 AND status = 'approved' RETURNING true",
        token_hash,
    )
    return used is not None


async def cancel_login(tx: Tx, token_hash: bytes) -> None:
    """No phone decides about the login with this partial token any more."""
    await tx.execute(
        "UPDATE people_phone_login SET status = 'cancelled', decided_at = clock_timestamp()"
        " WHERE token_hash = $1 AND status = 'pending'",
        token_hash,
    )


async def cancel_logins(tx: Tx, developer_id: int) -> None:
    """End every login of the account that waits for a phone or for its browser."""
    await tx.execute(
        "UPDATE people_phone_login SET status = 'cancelled', decided_at = clock_timestamp()"
        " WHERE developer_id = $1 AND status IN ('pending', 'approved')",
        developer_id,
    )


async def count_refusal(tx: Tx, developer_id: int) -> bool:
    """Count a wrong number or a denial as "not me"; return whether logins by phone are paused from now on."""
    is_paused: bool = await tx.fetchval(_COUNT_REFUSAL, developer_id)
    return is_paused


async def forget_refusals(tx: Tx, developer_id: int) -> None:
    await tx.execute("UPDATE people_phone_account SET refusals = 0 WHERE developer_id = $1", developer_id)


async def pose(
    tx: Tx, developer_id: int, *, purpose: str, holder: bytes, challenge: bytes, seconds: int
) -> None:
    """Store a challenge; the former one of the same session or login is good no more."""
    await tx.execute(
        "INSERT INTO people_passkey_challenge (holder, purpose, developer_id, challenge, expires_at)"
        " VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))"
        " ON CONFLICT (holder, purpose) DO UPDATE SET challenge = excluded.challenge, expires_at = excluded.expires_at,"
        " taken_at = NULL",
        holder,
        purpose,
        developer_id,
        challenge,
        seconds,
    )


async def take(tx: Tx, purpose: str, holder: bytes) -> bytes | None:
    """The challenge of this session or login, once; None when it was taken or has expired."""
    challenge: bytes | None = await tx.fetchval(
        "UPDATE people_passkey_challenge SET taken_at = clock_timestamp()"
        " WHERE holder = $1 AND purpose = $2 AND taken_at IS NULL AND expires_at > clock_timestamp() RETURNING challenge",
        holder,
        purpose,
    )
    return challenge


async def is_proved_recently(tx: Tx, developer_id: int, session_id: UUID, minutes: int) -> bool:
    """Return whether the password was given in this session within the last minutes: at its login, or again."""
    found: bool = await tx.fetchval(
        "SELECT EXISTS (SELECT FROM people_session WHERE id = $2 AND developer_id = $1 AND ended_at IS NULL"
        " AND coalesce(proved_at, opened_at) > clock_timestamp() - make_interval(mins => $3))",
        developer_id,
        session_id,
        minutes,
    )
    return found


async def forget_ended(tx: Tx) -> None:
    """Delete expired rows whose loss changes no answer: an hour of logins is counted."""
    await tx.execute("DELETE FROM people_passkey_challenge WHERE expires_at < now()")
    await tx.execute("DELETE FROM people_phone_login WHERE asked_at < now() - interval '1 day'")
