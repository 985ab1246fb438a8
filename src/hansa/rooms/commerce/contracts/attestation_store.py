"""SQL of the contracts that anyone may see: those of the type attestation.

Each side of a contract has an index of its own for them, so that an agent with many other contracts is looked up as quickly.
"""

from hansa.foundation.plumbing.storage.page_states import PageState

_OF_ONE_SIDE = """
(SELECT c.id, c.xmin::text AS row_version FROM commerce_contract c
  WHERE c.contract_type = 'attestation' AND c.{side} = asked.did ORDER BY c.id DESC LIMIT {limit})
"""
_SIDES = ("contractor_did", "provider_did")


def attestations_state(limit: int) -> PageState:
    """The newest attestation contracts of an agent, `limit` of each side (`public_contracts_of`)."""
    each = " UNION ALL ".join(_OF_ONE_SIDE.format(side=side, limit=limit) for side in _SIDES)
    return PageState(
        f"SELECT string_agg(one.id || ':' || one.row_version, ' ' ORDER BY one.id) FROM ({each}) one"  # noqa: S608
    )
