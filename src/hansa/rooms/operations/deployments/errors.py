"""Refusals of deployments."""

from hansa.foundation.values.errors import Conflict, NotFound, QuotaReached

DEPLOYMENTS_A_DAY = 100


class DeploymentUnknown(NotFound):
    """The agent has no deployment with this id."""

    code = "DEPLOYMENT_UNKNOWN"
    sentence = "The agent has no deployment with this id."


class DeploymentUnderWay(Conflict):
    """Another deployment of the agent is being checked."""

    code = "DEPLOYMENT_UNDER_WAY"
    sentence = "Another deployment of the agent is being checked."
    remedy = "Wait until it is active or failed, then send the request again."


class DeploymentNotActive(Conflict):
    """The deployment is not the active one, so there is nothing to roll back."""

    code = "DEPLOYMENT_NOT_ACTIVE"
    sentence = "Only the active deployment can be rolled back."


class NothingBefore(Conflict):
    """No deployment was active before this one."""

    code = "NOTHING_BEFORE"
    sentence = "No deployment was active before this one; deploy a version at the address that you want."
    remedy = "Deploy a version at the address that you want."


class DeploymentsTooMany(QuotaReached):
    """The agent has had the maximum number of deployments of a day."""

    sentence = f"An agent has at most {DEPLOYMENTS_A_DAY} deployments a day."
    remedy = "Wait until a day has passed since the first of them."
