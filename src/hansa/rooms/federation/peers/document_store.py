"""The statement about the own documents that peers compare."""

from typing import NamedTuple

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.charter import GRACE

_OWN = """
SELECT (SELECT card_etag FROM federation_registry_card_version ORDER BY version DESC LIMIT 1) AS card_etag,
  (SELECT registry_id || '#' || sequence FROM federation_registry_key WHERE retired_at IS NULL) AS kid,
  ARRAY(SELECT registry_id || '#' || sequence FROM federation_registry_key
    WHERE retired_at IS NULL OR retired_at > now() - $2::interval ORDER BY sequence DESC) AS kids,
  (SELECT own_sequence FROM federation_trust WHERE own_sha256 = $1) AS bundle_sequence
"""


class LocalDocuments(NamedTuple):
    """The entity tag of the newest card, the present key, and the sequence of the bundle; each None where there is none.

    `kids` are the keys of the key set, the newest first.
    """

    card_etag: str | None
    kid: str | None
    kids: list[str]
    bundle_sequence: int | None


async def own_documents(tx: Tx, bundle_sha256: str) -> LocalDocuments:
    """The own documents as they are now; the sequence of the bundle with this thumbprint, if it is the one counted last."""
    row = await tx.fetchrow(_OWN, bundle_sha256, GRACE)
    assert row is not None
    return LocalDocuments(**row)
