"""Agents: who they are, how they come to be, how they prove it, how they end."""

from hansa.rooms.agents.acting import ACT_TOKENS, act_token
from hansa.rooms.agents.acting.act import act_as
from hansa.rooms.agents.authz.roles import authz_of, replace_authz
from hansa.rooms.agents.authz.schemas import AuthzIn, AuthzOut
from hansa.rooms.agents.belonging import of_person, require_of_others
from hansa.rooms.agents.bootstrap import ORGANIZATION_AGENTS, OrganizationAgents, issue_bootstrap_token
from hansa.rooms.agents.capabilities import (
    CapabilityBudgetSpent,
    CapabilityEnded,
    CapabilityUnknown,
    CaveatViolated,
    DelegatorMayNot,
)
from hansa.rooms.agents.capabilities.errors import CapabilityAbsent, CapabilityWidened
from hansa.rooms.agents.capabilities.issue import attenuate as attenuate_capability
from hansa.rooms.agents.capabilities.issue import capability_parties, delegations, own_capability
from hansa.rooms.agents.capabilities.issue import issue as issue_capability
from hansa.rooms.agents.capabilities.issue import revoke as revoke_capability
from hansa.rooms.agents.capabilities.schemas import (
    AttenuationIn,
    CapabilityIn,
    CapabilityOut,
    CaveatsIn,
    NarrowerCaveatsIn,
)
from hansa.rooms.agents.capabilities.schemas import IssuedOut as CapabilityIssuedOut
from hansa.rooms.agents.capabilities.use import Presenter as CapabilityPresenter
from hansa.rooms.agents.check import acting_under, active_agent, agent_of_access
from hansa.rooms.agents.collective import (
    are_related,
    close_treasury,
    count_of_organization,
    counts_of_organizations,
    is_of_organization,
    move_to_developer,
    move_to_organization,
    of_organization,
    open_treasury,
    readers_of,
    secrets_seen_by,
)
from hansa.rooms.agents.credentials import new_client_secret, new_identity, own_or_new_key
from hansa.rooms.agents.descriptor import ROOM
from hansa.rooms.agents.errors import (
    AgentOfCaller,
    AgentSuspended,
    AgentUnknown,
    DeveloperUnverified,
    NotTheOwner,
)
from hansa.rooms.agents.keys import keys_of, keys_of_each
from hansa.rooms.agents.keys.held_key import HeldKey
from hansa.rooms.agents.keys.reading import rotate_key
from hansa.rooms.agents.keys.routes import ROTATIONS as KEY_ROTATIONS
from hansa.rooms.agents.keys.schemas import HeldKeyOut, RotateKeyOut
from hansa.rooms.agents.mtls import identities_ended, restore_mtls, revoke_mtls
from hansa.rooms.agents.mtls.enrol import disable_mtls, enable_mtls, enrolment_of
from hansa.rooms.agents.mtls.routes import CERTIFICATES, EnrollingAuthority
from hansa.rooms.agents.mtls.schemas import EnableMtlsOut
from hansa.rooms.agents.onboard import Onboarding, create_agent
from hansa.rooms.agents.payment import (
    PAYMENT_REFUSALS,
    HeldBudget,
    Payment,
    ask_owner,
    clear_payment,
    hold_budget,
    pays_plainly,
    preview_payment,
    return_budget,
)
from hansa.rooms.agents.rights import seen_with
from hansa.rooms.agents.routes import AGENT_TOKENS, CREATIONS
from hansa.rooms.agents.rules import OwnedAgent, require_verified
from hansa.rooms.agents.schemas import CreateAgentOut, OwnAgentOut, RotateSecretOut
from hansa.rooms.agents.secret import rotate_secret, sign_in
from hansa.rooms.agents.spending import (
    Approval,
    ApprovalDecided,
    ApprovalForAnother,
    ApprovalsPending,
    ApprovalUnknown,
    ApprovalUnusable,
    Clearance,
    OverDayLimit,
    OverPaymentLimit,
    PayeeNotAllowed,
)
from hansa.rooms.agents.spending.approvals import (
    approval_inbox,
    approvals_of,
    find_approval,
    own_approval,
    usable_approvals,
)
from hansa.rooms.agents.spending.approvals import decide as decide_approval
from hansa.rooms.agents.spending.schemas import SpendApprovalOut, SpendPolicyIn
from hansa.rooms.agents.spending.store import APPROVALS_WAITING
from hansa.rooms.agents.status import (
    REQUIRE_UNBOUND,
    RequireUnbound,
    active_dids_of,
    currently_named,
    end_own_agent,
    find_agents,
    lock_status,
    lock_statuses,
    of_developer,
    oldest_of_developer,
    own_agent,
    owner_of,
    owners_of,
    ownerships_of,
    page_of_developer,
    readable_among,
    reinstate,
    revoke,
    statuses_of,
    suspend,
)
from hansa.rooms.agents.wallets import (
    Wallet,
    WalletsOut,
    find_wallet,
    hold_wallet,
    own_wallets,
    payee_of_address,
    receive_address,
)

__all__ = [
    "ACT_TOKENS",
    "AGENT_TOKENS",
    "APPROVALS_WAITING",
    "CERTIFICATES",
    "CREATIONS",
    "KEY_ROTATIONS",
    "ORGANIZATION_AGENTS",
    "PAYMENT_REFUSALS",
    "REQUIRE_UNBOUND",
    "ROOM",
    "AgentOfCaller",
    "AgentSuspended",
    "AgentUnknown",
    "Approval",
    "ApprovalDecided",
    "ApprovalForAnother",
    "ApprovalUnknown",
    "ApprovalUnusable",
    "ApprovalsPending",
    "AttenuationIn",
    "AuthzIn",
    "AuthzOut",
    "CapabilityAbsent",
    "CapabilityBudgetSpent",
    "CapabilityEnded",
    "CapabilityIn",
    "CapabilityIssuedOut",
    "CapabilityOut",
    "CapabilityPresenter",
    "CapabilityUnknown",
    "CapabilityWidened",
    "CaveatViolated",
    "CaveatsIn",
    "Clearance",
    "CreateAgentOut",
    "DelegatorMayNot",
    "DeveloperUnverified",
    "EnableMtlsOut",
    "EnrollingAuthority",
    "HeldBudget",
    "HeldKey",
    "HeldKeyOut",
    "NarrowerCaveatsIn",
    "NotTheOwner",
    "Onboarding",
    "OrganizationAgents",
    "OverDayLimit",
    "OverPaymentLimit",
    "OwnAgentOut",
    "OwnedAgent",
    "PayeeNotAllowed",
    "Payment",
    "RequireUnbound",
    "RotateKeyOut",
    "RotateSecretOut",
    "SpendApprovalOut",
    "SpendPolicyIn",
    "Wallet",
    "WalletsOut",
    "act_as",
    "act_token",
    "acting_under",
    "active_agent",
    "active_dids_of",
    "agent_of_access",
    "approval_inbox",
    "approvals_of",
    "are_related",
    "ask_owner",
    "attenuate_capability",
    "authz_of",
    "capability_parties",
    "clear_payment",
    "close_treasury",
    "count_of_organization",
    "counts_of_organizations",
    "create_agent",
    "currently_named",
    "decide_approval",
    "delegations",
    "disable_mtls",
    "enable_mtls",
    "end_own_agent",
    "enrolment_of",
    "find_agents",
    "find_approval",
    "find_wallet",
    "hold_budget",
    "hold_wallet",
    "identities_ended",
    "is_of_organization",
    "issue_bootstrap_token",
    "issue_capability",
    "keys_of",
    "keys_of_each",
    "lock_status",
    "lock_statuses",
    "move_to_developer",
    "move_to_organization",
    "new_client_secret",
    "new_identity",
    "of_developer",
    "of_organization",
    "of_person",
    "oldest_of_developer",
    "open_treasury",
    "own_agent",
    "own_approval",
    "own_capability",
    "own_or_new_key",
    "own_wallets",
    "owner_of",
    "owners_of",
    "ownerships_of",
    "page_of_developer",
    "payee_of_address",
    "pays_plainly",
    "preview_payment",
    "readable_among",
    "readers_of",
    "receive_address",
    "reinstate",
    "replace_authz",
    "require_of_others",
    "require_verified",
    "restore_mtls",
    "return_budget",
    "revoke",
    "revoke_capability",
    "revoke_mtls",
    "rotate_key",
    "rotate_secret",
    "secrets_seen_by",
    "seen_with",
    "sign_in",
    "statuses_of",
    "suspend",
    "usable_approvals",
]
