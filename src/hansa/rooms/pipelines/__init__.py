"""Pipelines: chains of paid calls with a budget, which go on after a crash."""

from hansa.rooms.pipelines.acting import decide as decide_step
from hansa.rooms.pipelines.definition import STEPS_MAX, Definition, Step
from hansa.rooms.pipelines.descriptor import ROOM
from hansa.rooms.pipelines.errors import PipelineUnknown, RunStateRefuses, RunUnknown, TemplateUnknown
from hansa.rooms.pipelines.machine import ENDED, RESUMABLE, UNDECIDED
from hansa.rooms.pipelines.reading import page_of_runs, read_run
from hansa.rooms.pipelines.records import Pipeline, RunPlace
from hansa.rooms.pipelines.references import names_of_input
from hansa.rooms.pipelines.run_schemas import RunOut, RunSummaryOut
from hansa.rooms.pipelines.saving import page as page_of_pipelines
from hansa.rooms.pipelines.saving import read as read_pipeline
from hansa.rooms.pipelines.schemas import PipelineOut
from hansa.rooms.pipelines.templates import TEMPLATES, Template, template_of

__all__ = [
    "ENDED",
    "RESUMABLE",
    "ROOM",
    "STEPS_MAX",
    "TEMPLATES",
    "UNDECIDED",
    "Definition",
    "Pipeline",
    "PipelineOut",
    "PipelineUnknown",
    "RunOut",
    "RunPlace",
    "RunStateRefuses",
    "RunSummaryOut",
    "RunUnknown",
    "Step",
    "Template",
    "TemplateUnknown",
    "decide_step",
    "names_of_input",
    "page_of_pipelines",
    "page_of_runs",
    "read_pipeline",
    "read_run",
    "template_of",
]
