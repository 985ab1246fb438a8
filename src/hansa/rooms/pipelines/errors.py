"""Refusals of pipelines."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, QuotaReached


class PipelineUnknown(NotFound):
    """The agent has no pipeline with this id."""

    code = "PIPELINE_UNKNOWN"
    sentence = "This agent has no pipeline with this id."


class RunUnknown(NotFound):
    """The pipeline has no run with this id, or the run has no step with this id."""

    code = "PIPELINE_RUN_UNKNOWN"
    sentence = "This pipeline has no run, or the run no step, with this id."


class TemplateUnknown(NotFound):
    """No template has this id."""

    code = "PIPELINE_TEMPLATE_UNKNOWN"
    sentence = "No template has this id."


class DefinitionInvalid(Invalid):
    """The steps of the pipeline do not fit together."""

    code = "PIPELINE_INVALID"
    sentence = "The steps of the pipeline do not fit together."


class PipelineRunning(Conflict):
    """A run of the pipeline has not ended."""

    code = "PIPELINE_RUNNING"
    sentence = "A run of this pipeline has not ended; the pipeline was not deleted."
    remedy = "Cancel its runs, or wait until they have ended."


class RunStateRefuses(Conflict):
    """The state of the run, or of its step, does not allow this act."""

    code = "PIPELINE_RUN_STATE"
    remedy = "Read the run, then decide."


class RunOfAnother(Forbidden):
    """A connected client resumes only the runs that it started, which bear its limits."""

    code = "PIPELINE_RUN_OF_ANOTHER"
    sentence = "This connection did not start the run; its agent or owner resumes it."


class RunPastDeadline(Conflict):
    """The deadline of the run has passed, so that it does not go on."""

    code = "PIPELINE_RUN_PAST_DEADLINE"
    sentence = "The deadline of this run has passed; start another run."


class BudgetTooLow(Conflict):
    """The budget of a run is never lowered."""

    code = "PIPELINE_BUDGET_TOO_LOW"
    sentence = "The budget of a run is raised, never lowered."


class PipelineQuota(QuotaReached):
    """The agent has as many pipelines, or runs, as it may have."""
