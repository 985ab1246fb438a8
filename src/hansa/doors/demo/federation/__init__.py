"""Three registries on one machine that become peers and pay each other: `hansa demo --federation`."""

from hansa.doors.demo.federation.story import run_federation_demo

__all__ = ["run_federation_demo"]
