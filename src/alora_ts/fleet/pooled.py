"""The pooled model: what many entities have in common, learned once for all to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from alora_ts.data import Preparation, Table
from alora_ts.data.record import Part
from alora_ts.errors import AloraError, DataError
from alora_ts.fast.threads import use_threads
from alora_ts.fleet.entities import Entity
from alora_ts.fleet.settings import Settings, WarmStart, combined_digest
from alora_ts.fleet.storage import Store, fetched
from alora_ts.fleet.work import POOLED, read_entity
from alora_ts.model.fit import take_cycle_off

__all__ = ["PoolOrder", "draw_sample", "fit_pooled"]

_DIGEST = "pooled.json"


@dataclass(frozen=True)
class PoolOrder:
    """The pooled model's work.

    Attributes
    ----------
    sample : tuple of Entity
    root : str
        The fleet's store.
    settings : Settings
    """

    sample: tuple[Entity, ...]
    root: str
    settings: Settings


def draw_sample(entities: Sequence[Entity], warm: WarmStart, *, seed: int) -> tuple[Entity, ...]:
    """The entities to learn the pooled model from, in their order.

    Examples
    --------
    >>> machines = [Entity(f"m{number}", ()) for number in range(100)]
    >>> len(draw_sample(machines, WarmStart(sample=8), seed=0))
    8
    """
    count = min(warm.sample, len(entities))
    chosen = np.random.default_rng(seed).choice(len(entities), count, replace=False)
    return tuple(entities[at] for at in np.sort(chosen))


def fit_pooled(order: PoolOrder) -> str:
    """Fit the pooled model unless the same was done before; return the digest of its file.

    Each entity is scaled by itself before its rows join the others', as it will be later, so that
    the pooled model learns shapes and relations and not the machines' different levels.
    """
    store, settings, warm = Store(order.root), order.settings, order.settings.warm_start
    assert warm is not None
    files = [url for entity in order.sample for url in entity.files]
    with fetched(files) as paths, use_threads(1):
        digest = combined_digest({"pooled": settings.to_dict()}, paths)
        before = store.read(_DIGEST)
        found = store.digest(POOLED)
        if before is not None and before.decode() == digest and found is not None:
            return found
        parts, taken = list[tuple[str, NDArray[np.float32]]](), 0
        for entity in order.sample:
            own = paths[taken : taken + len(entity.files)]
            taken += len(entity.files)
            try:
                table = read_entity(own, settings)
                options = settings.estimator().fit_options()
                _, rest = take_cycle_off(table, options)
                fitting = Preparation(**asdict(options.preparation))
                prepared = fitting.fit(rest).apply(rest)
            except AloraError:
                continue  # its own fit says what is wrong with it
            for values in _unbroken(prepared.values, prepared.segments):
                parts.append((entity.name, values[-warm.rows :]))
            variables = table.variables
        share = settings.estimator().training.validation_share
        if not parts:
            raise DataError("no entity of the sample can be read, so there is no pooled model")
        cuts = [round(len(values) * (1 - share)) for _, values in parts]
        early = [(name, values[:cut]) for (name, values), cut in zip(parts, cuts, strict=True)]
        late = [(name, values[cut:]) for (name, values), cut in zip(parts, cuts, strict=True)]
        # Rows are prepared already; what is left to the pooled fit is a scaling near one.
        plain = settings.estimator().set_params(
            preparation__gap=None,
            preparation__resample=None,
            preparation__downsample=None,
            preparation__missing="hold",
            preparation__calendar="off",
            preparation__missing_limit=None,
        )
        plain.fit(_joined(early, variables), validation=_joined(late, variables), progress=False)
        with store.writing(POOLED) as path:
            plain.save(path)
    store.write(digest.encode(), _DIGEST)
    made = store.digest(POOLED)
    assert made is not None
    return made


def _unbroken(
    values: NDArray[np.float32], segments: NDArray[np.integer]
) -> list[NDArray[np.float32]]:
    return np.split(values, np.flatnonzero(np.diff(segments)) + 1)


def _joined(parts: Sequence[tuple[str, NDArray[np.float32]]], variables: tuple[str, ...]) -> Table:
    """One table whose parts windows never cross."""
    starts = np.cumsum([0, *(len(values) for _, values in parts)]).tolist()
    named = [
        Part(start, name)
        for start, (name, values) in zip(starts, parts, strict=False)
        if len(values)
    ]
    together = np.concatenate([values for _, values in parts])
    return Table(together, variables, parts=tuple(named))
