"""New recovery keys, when the old ones are used up, lost or seen by somebody."""

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.plumbing.web.entity_tags import require_version
from hansa.foundation.values.errors import ReplacedMeanwhile
from hansa.rooms.people import mails, recovery_keys, two_factor

from . import store


async def renew_keys(
    tx: Tx, seal: Seal, developer: Developer, code: str | None, if_match: str | None = None
) -> list[str] | None:
    """Replace the recovery keys and return the new ones, shown once.

    None when two-factor login asks for a code and this is none: the caller commits that it was tried, and refuses then.

    Of two at once one is refused: its keys would be dead when they are shown. With `if_match` the keys must be those whose
    version the caller has read.

    Raises: CodesPaused, ReplacedMeanwhile, PreconditionFailed.
    """
    former = await recovery_keys.fingerprints_of(tx, developer.id)
    await store.lock_developer(tx, developer.id)
    if not await recovery_keys.fingerprints_of(tx, developer.id) <= former:
        raise ReplacedMeanwhile
    require_version(if_match, recovery_keys.version_of_keys(former))
    if await two_factor.is_on(tx, developer.id) and not (
        code and await two_factor.take_code(tx, seal, developer.id, code)
    ):
        return None
    await mails.notify(tx, seal, developer.id, mails.recovery_keys_renewed)
    return await recovery_keys.renew(tx, developer.id)
