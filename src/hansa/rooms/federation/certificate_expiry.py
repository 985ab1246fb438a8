"""Measurement of the certificates of the registry: the time from which each is in force, and its end.

- `authority`: the root with which the registry certifies others. `registry`: the certificate that its frame or a SPIRE agent issued to
  it. `service`: the certificate of a service that ends first, of those that no later one replaced.
- A registry that certifies itself renews its own certificate each half day; that one is not measured.
"""

from math import inf

from cryptography import x509

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.telemetry.metrics import certificate_begins, certificate_expires
from hansa.foundation.values.errors import Refused

from .identity import LOCAL_IDENTITY
from .workloads import first_to_end

MEASURE_SECONDS = 60.0
FIRST_SECONDS = 0.1


async def measure_certificates(runtime: Runtime) -> None:
    """Set the gauges of the certificates that this registry has or issued."""
    if runtime.authority is not None:
        _show("authority", runtime.authority.certificate)
        await _measure_services(runtime)
    elif runtime.settings.has_identity:
        try:
            svid = await LOCAL_IDENTITY.of(runtime).svid()
        except Refused:
            # Not certified yet, or no longer: an end in the past.
            certificate_begins.labels("registry").set(0)
            certificate_expires.labels("registry").set(0)
        else:
            _show("registry", x509.load_pem_x509_certificate(svid.certificate_pem.encode()))


async def _measure_services(runtime: Runtime) -> None:
    window = await runtime.database.query(first_to_end)
    begins, ends = (0.0, inf) if window is None else (moment.timestamp() for moment in window)
    certificate_begins.labels("service").set(begins)
    certificate_expires.labels("service").set(ends)


def _show(name: str, certificate: x509.Certificate) -> None:
    certificate_begins.labels(name).set(certificate.not_valid_before_utc.timestamp())
    certificate_expires.labels(name).set(certificate.not_valid_after_utc.timestamp())


MEASURE_CERTIFICATES = PeriodicTask(
    "federation: measure certificates", FIRST_SECONDS, measure_certificates, lambda _: MEASURE_SECONDS
)
