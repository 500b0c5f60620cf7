"""What all tests of the service share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine may take any time for one example; that is no finding.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
