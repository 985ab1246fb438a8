"""Check of the licence key that a request presents, made for every request that presents one."""

import re

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.caller import LicenceSuspended
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint

from . import store

KEY_PREFIX = "hfl_v1_"

_KEY = re.compile(KEY_PREFIX + "[0-9a-f]{64}", re.ASCII)


async def check_licence(runtime: Runtime, key: str) -> None:
    """The key is that of a registry which is admitted now. Raises: Unauthorized, LicenceSuspended."""
    if not _KEY.fullmatch(key):
        raise Unauthorized("This is not a federation licence key.")
    shown = await runtime.database.query(lambda tx: store.find_presented(tx, fingerprint(key)))
    if shown is not None and shown.status == "suspended":
        raise LicenceSuspended
    if shown is None or shown.status != "active":
        raise Unauthorized("This federation licence key is unknown, revoked or expired.")
    if shown.is_use_due:
        await runtime.database.transaction(lambda tx: store.note_use(tx, shown.id))
