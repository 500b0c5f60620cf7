"""Whether a service could start with some settings, without starting it."""

from __future__ import annotations

import ssl
from pathlib import Path

from sqlalchemy import inspect

from alora_ts.errors import AloraError, nearest
from alora_ts.serve.models.cache import read_model
from alora_ts.serve.notify import build_channels
from alora_ts.serve.settings import Settings
from alora_ts.serve.store.engines import make_engines, store_url
from alora_ts.serve.store.sources import all_sources

__all__ = ["check_certificate", "check_settings"]


def check_settings(settings: Settings) -> None:
    """Raise where a model cannot be used or a connector feeds a source that does not exist.

    Sources are those with a model in the settings, those that are to collect, and those that the
    store knows.
    """
    for name, path in settings.models.items():
        try:
            read_model(path.read_bytes())
        except OSError as error:
            raise AloraError(f"the model of {name!r}, {path}, {error.strerror}") from error
        except AloraError as error:
            raise AloraError(str(error).replace("the file", str(path))) from error
    check_certificate(settings)
    build_channels(settings.notify)
    known = {*settings.models, *settings.collect, *_stored(settings)}
    connect, notify = settings.connect, settings.notify
    asked = [(one.name, source) for one in connect.sections() for source in one.sources()] + [
        (one.name, source) for one in notify.channels() for source in one.sources
    ]
    for section, source in asked:
        if source not in known:
            raise AloraError(
                f"{section!r} names the source {source!r}, which is not there"
                f"{nearest(source, known)}; add it to [models] or to `collect`"
            )


def check_certificate(settings: Settings) -> None:
    """Raise where the certificate or its key cannot be used."""
    if settings.tls_cert is None or settings.tls_key is None:
        return
    for path in (settings.tls_cert, settings.tls_key):
        try:
            path.read_bytes()
        except OSError as error:
            raise AloraError(f"cannot read {path}: {error.strerror}") from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            settings.tls_cert,
            settings.tls_key,
            # A question on the terminal would wait for ever.
            password=lambda: b"",
        )
    except OSError as error:
        raise AloraError(
            f"the certificate {settings.tls_cert} and the key {settings.tls_key} are no pair that "
            f"can be used ({getattr(error, 'reason', None) or 'not PEM'}); the key must be PEM "
            "without a password"
        ) from error


def _stored(settings: Settings) -> list[str]:
    """The sources of the store, if there is one already."""
    url = store_url(settings.address)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        return []
    writer, reader = make_engines(url)
    try:
        with reader.connect() as connection:
            if not inspect(connection).has_table("sources"):
                return []
            return [record.name for record in all_sources(connection)]
    finally:
        writer.dispose()
        reader.dispose()
