"""Refusals of the treasury room."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound


class BudgetUnknown(NotFound):
    """The organization has no budget with this id, or the agent has none."""

    code = "BUDGET_UNKNOWN"
    sentence = "There is no such budget."


class BudgetExceeded(Forbidden):
    """The amount exceeds the rest of the budget."""

    code = "BUDGET_EXCEEDED"
    sentence = "The amount exceeds the rest of the budget."
    remedy = "Pay a smaller amount, wait for the next month, or ask an admin for another budget."


class BudgetOfOthers(Forbidden):
    """The budget is for the members of a team of which the caller is none, or for an agent."""

    code = "BUDGET_OF_OTHERS"
    sentence = "The budget is for the members of its team, or for its agent."
    remedy = "Use a budget of an own team, or ask an admin for the payment."


class AgentHasBudget(Conflict):
    """An agent has at most one budget."""

    code = "AGENT_HAS_BUDGET"
    sentence = "The agent has a budget; change that one."


class TreasuryDayLimit(Forbidden):
    """The amount exceeds the rest of the organization's daily limit (UTC)."""

    code = "TREASURY_OVER_PER_DAY_MAX"
    sentence = "The amount exceeds the rest of the daily limit (UTC) of the organization."
    remedy = "Wait until midnight UTC, pay a smaller amount, or change the rules of the treasury."


class TreasuryPayeeNotAllowed(Forbidden):
    """The receiver is not in the allowlist of the organization."""

    code = "TREASURY_PAYEE_NOT_ALLOWED"
    sentence = "The receiver is not in the allowlist of the organization."
    remedy = "Pay an agent of the allowlist, or change the rules of the treasury."


class RulesInvalid(Invalid):
    """The rules of the treasury contradict each other."""

    code = "RULES_INVALID"


class RulesOutdated(Conflict):
    """A team that the requested rules name has other members than when they were requested."""

    code = "RULES_OUTDATED"
    sentence = "A team that these rules name has got members since they were requested."
    remedy = "Cancel the request and make it anew."


class ContractNotFunded(Invalid):
    """A treasury proposes funded contracts to a provider alone."""

    code = "CONTRACT_NOT_FUNDED"
    sentence = "A contract of a treasury is funded and names its provider."


class InArrears(Conflict):
    """The organization owes the holders of its points a share of its revenue. Until it is paid nothing leaves the treasury."""

    code = "IN_ARREARS"
    sentence = "The organization is in arrears with the holders of its points; nothing leaves its treasury until they are paid."
    remedy = "Pay `arrears` units to the treasury; they are taken from there within minutes."
