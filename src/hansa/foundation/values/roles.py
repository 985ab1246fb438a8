"""The roles of agents and the permissions each gives. A role that is not in the table does not exist."""

from functools import lru_cache

PERMISSIONS_OF_ROLE = {
    "trader": frozenset(
        {"teg.transfer", "teg.transfer_xreg", "payment.pay", "exchange.trade", "authz.delegate"}
    ),
    "client": frozenset({"teg.transfer", "payment.pay", "authz.delegate", "identity.mtls"}),
    "staker": frozenset({"staking.manage"}),
    "governor": frozenset({"governance.propose", "governance.vote"}),
    "service-provider": frozenset({"authz.delegate", "identity.mtls", "bundle.write", "cicd.version"}),
}


PERMISSIONS = tuple(sorted(frozenset().union(*PERMISSIONS_OF_ROLE.values())))


@lru_cache(maxsize=1024)
def permissions_of(roles: tuple[str, ...]) -> frozenset[str]:
    """Everything that an agent with these roles may do."""
    return frozenset().union(*(PERMISSIONS_OF_ROLE[role] for role in roles))
