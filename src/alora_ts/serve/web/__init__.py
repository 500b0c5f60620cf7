"""The dashboard: static pages that talk to the service's HTTP API."""

from alora_ts.serve.web.mount import mount_dashboard

__all__ = ["mount_dashboard"]
