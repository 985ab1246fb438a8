"""Models that are built when they are first used.

The framework works out how a model is read and written as soon as its class is made. A process uses few of some six hundred:
their building was an eighth of a start.
"""

import warnings

from pydantic import BaseModel, ConfigDict
from pydantic.warnings import UnsupportedFieldAttributeWarning

# FastAPI gives the parameters of a route an alias, and silences this warning while it makes them. They are built later here.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


class LazyModel(BaseModel):
    """The base of every model of this service."""

    model_config = ConfigDict(defer_build=True)
