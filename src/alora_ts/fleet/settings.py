"""Every choice that decides an entity's results, and the digest that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alora_ts.artifact import FORMAT_VERSION
from alora_ts.data.form import FileForm
from alora_ts.errors import ArtifactError
from alora_ts.fleet.storage import Store, digest_file
from alora_ts.version import __version__

if TYPE_CHECKING:
    from alora_ts.estimator import ALoRa

__all__ = ["FLEET_FILE", "Settings", "WarmStart", "combined_digest"]

FLEET_FILE = "fleet.json"


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Begin each entity's fit with a model of many.

    Attributes
    ----------
    sample : int
        How many entities to learn the pooled model from, drawn by the estimator's seed.
    rows : int
        Most rows taken of each of them, the last ones.
    epochs : int
        Epochs of each individual fit, instead of the estimator's.
    """

    sample: int = 8
    rows: int = 10_000
    epochs: int = 1


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every worker receives.

    Attributes
    ----------
    parameters : dict
        Of the estimator, as :meth:`~alora_ts.ALoRa.plain_params` gives them.
    time : str or None
    columns : tuple of str or None
    ignore : tuple of str
        As for :meth:`alora_ts.ALoRa.fit`.
    label : str or None
    form : FileForm or None
        As for :meth:`alora_ts.ALoRa.fit`.
    expected : tuple of str or None
        The columns that every entity must have, in the order all models take them; None where
        any will do.
    warm_start : WarmStart or None
    pooled : str or None
        Digest of the pooled model's file.
    """

    parameters: Mapping[str, Any]
    time: str | None = None
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    label: str | None = None
    form: FileForm | None = None
    expected: tuple[str, ...] | None = None
    warm_start: WarmStart | None = None
    pooled: str | None = None

    def estimator(self) -> ALoRa:
        """A new estimator with the parameters."""
        from alora_ts.estimator import ALoRa

        return ALoRa.from_params(self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """In a form JSON can hold.

        What a fleet does not say is left out, so that digests of earlier releases stay right.
        """
        plain = asdict(self) | {"form": None if self.form is None else self.form.to_dict()}
        later = ("label", "form")
        return {name: value for name, value in plain.items() if value or name not in later}

    def save(self, store: Store) -> None:
        """Write the fleet's description."""
        described = {"format": FORMAT_VERSION, "version": __version__, "settings": self.to_dict()}
        text = json.dumps(described, sort_keys=True, indent=1)
        store.write(text.encode("utf-8"), FLEET_FILE)

    @classmethod
    def load(cls, store: Store) -> Settings:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ArtifactError
            When there is no fleet, or one of another format.
        """
        content = store.read(FLEET_FILE)
        if content is None:
            raise ArtifactError(
                f"{store.url} holds no fleet ({FLEET_FILE}); give a folder that `alora-ts fleet "
                "fit` or Fleet.save wrote"
            )
        try:
            described = json.loads(content)
            found = described["format"]
            saved = described["settings"]
            if saved.get("form") is not None:
                saved["form"] = FileForm.from_dict(saved["form"])
            settings = cls(**saved) if found == FORMAT_VERSION else None
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{store.url}/{FLEET_FILE} is damaged ({error})") from error
        if settings is None:
            raise ArtifactError(
                f"{store.url} has format version {found}, but this alora-ts reads version "
                f"{FORMAT_VERSION}; fit the fleet again"
            )
        warm = settings.warm_start
        return replace(
            settings,
            columns=None if settings.columns is None else tuple(settings.columns),
            ignore=tuple(settings.ignore),
            expected=None if settings.expected is None else tuple(settings.expected),
            warm_start=WarmStart(**warm) if isinstance(warm, dict) else None,
        )


def combined_digest(choices: Mapping[str, Any], paths: Iterable[Path]) -> str:
    """SHA-256 of choices and of the content of files, in their order.

    Examples
    --------
    >>> combined_digest({"window": 5}, []) == combined_digest({"window": 5}, [])
    True
    >>> combined_digest({"window": 5}, []) == combined_digest({"window": 6}, [])
    False
    """
    text = json.dumps({"alora-ts": __version__, **choices}, sort_keys=True)
    digests = [hashlib.sha256(text.encode()).hexdigest(), *map(digest_file, paths)]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()
