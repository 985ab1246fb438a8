"""Tools of the registry for models and their clients (Model Context Protocol, specification 8, section 2).

- A tool is a row of a table (`tools`): a name, a scope, arguments, and a route that is called within the process.
- The skills of a local agent are tools too, made of its card at each request (`agent_tools`, decision 0231).
- `protocol` alone imports the SDK, after the start (`loading`); `routes` judges origin, credential, message and scope before it.
"""

from .loading import PROTOCOL, loading_after_start
from .routes import router

__all__ = ["PROTOCOL", "loading_after_start", "router"]
