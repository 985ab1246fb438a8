"""Agent builder: a project of an agent that runs and is paid, made of templates and of the owner's texts."""

from .archive import PROJECT_FILE, PROJECT_TYPE
from .building import build_project
from .routes import router
from .schemas import AgentProjectIn

__all__ = ["PROJECT_FILE", "PROJECT_TYPE", "AgentProjectIn", "build_project", "router"]
