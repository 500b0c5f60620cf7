"""Constructor parameters in scikit-learn's style, without scikit-learn."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Self

from alora_ts.errors import AloraError, nearest

__all__ = ["Options", "Parameters"]

_JOIN = "__"


class Options:
    """Base of frozen dataclasses that group choices: their ``repr`` shows what was changed.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True, repr=False)
    ... class Shape(Options):
    ...     layers: int = 3
    ...     heads: int = 8
    >>> Shape(heads=2)
    Shape(heads=2)
    """

    def __repr__(self) -> str:
        known = fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
        own = {each.name: getattr(self, each.name) for each in known}
        return _call(self, own, {each.name: each.default for each in known})


class Parameters:
    """Mixin: ``get_params``, ``set_params``, ``clone`` and a short ``repr``.

    The constructor of a subclass takes keyword arguments only and stores each under its own name;
    whatever ``fit`` learns goes into attributes that end in ``_``. A parameter may be a group of
    :class:`Options`, whose fields are addressed as ``group__field``.

    Examples
    --------
    >>> class Detector(Parameters):
    ...     def __init__(self, *, window=20, seed=0):
    ...         self.window, self.seed = window, seed
    >>> Detector(seed=3)
    Detector(seed=3)
    >>> Detector(seed=3).set_params(window=5).clone().get_params()
    {'window': 5, 'seed': 3}
    """

    _moved: ClassVar[Mapping[str, str]] = {}
    """Parameters of an earlier release, and where they are now: ``{"heads": "shape"}``."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        signature = inspect.signature(cls.__init__)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @classmethod
    def _groups(cls) -> dict[str, list[str]]:
        """The fields of each parameter that is a group."""
        return {
            name: [each.name for each in fields(default)]
            for name, default in cls._defaults().items()
            if isinstance(default, Options) and is_dataclass(default)
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments and their values; deep, those of groups one by one too."""
        found = {name: getattr(self, name) for name in self._defaults()}
        return found | self._grouped() if deep else found

    def plain_params(self) -> dict[str, Any]:
        """Every choice by itself, ``group__field`` for those in groups, as JSON can hold them."""
        groups = self._groups()
        flat = self.get_params(deep=False)
        return {name: flat[name] for name in flat if name not in groups} | self._grouped()

    def _grouped(self) -> dict[str, Any]:
        return {
            f"{group}{_JOIN}{name}": getattr(getattr(self, group), name)
            for group, names in self._groups().items()
            for name in names
        }

    def set_params(self, **values: Any) -> Self:
        """Change constructor arguments, or fields of groups; takes effect at the next ``fit``.

        ``set_params(architecture__heads=4)`` changes one field and leaves the others.
        """
        return self._set(values, warn=True)

    @classmethod
    def from_params(cls, saved: Mapping[str, Any]) -> Self:
        """Make one from what :meth:`plain_params` gave, also in an earlier release."""
        return cls()._set(saved, warn=False)

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Refuse names that :meth:`set_params` would not take."""
        for name in names:
            cls._place(name, warn=False)

    def _set(self, values: Mapping[str, Any], *, warn: bool) -> Self:
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            group, field = self._place(name, warn=warn)
            if group is None:
                setattr(self, field, value)
            else:
                changes.setdefault(group, {})[field] = value
        for group, default in self._defaults().items():
            kind = type(default)
            if isinstance(default, Options) and not isinstance(getattr(self, group), kind):
                raise AloraError(
                    f"{group}= takes {kind.__name__}(…), not {getattr(self, group)!r}; single "
                    f"fields are changed with set_params({group}{_JOIN}…=…)"
                )
        # A group given as a whole comes first, and all changes of one are checked together.
        for group, own in changes.items():
            setattr(self, group, replace(getattr(self, group), **own))
        return self

    @classmethod
    def _place(cls, name: str, *, warn: bool) -> tuple[str | None, str]:
        """The group (None where there is none) and the name of a choice in it."""
        known, groups = cls._defaults(), cls._groups()
        if name in known:
            return None, name
        group, joined, field = name.partition(_JOIN)
        if joined and field in groups.get(group, ()):
            return group, field
        if name in cls._moved:
            group = cls._moved[name]
            if warn:
                kind = type(known[group]).__name__
                warnings.warn(
                    f"{name}= of {cls.__name__} has moved to {group}={kind}({name}=…), or "
                    f"set_params({group}{_JOIN}{name}=…); the old name will be refused in 0.3",
                    FutureWarning,
                    stacklevel=_outside(),
                )
            return group, name
        raise AloraError(f"{cls.__name__} has no parameter {name!r}{cls._meant(name)}")

    @classmethod
    def _meant(cls, name: str) -> str:
        """Which parameter was probably meant; in groups too, but those are not all listed."""
        known, groups = list(cls._defaults()), cls._groups()
        group = name.partition(_JOIN)[0]
        if group in groups:
            return nearest(name, [f"{group}{_JOIN}{field}" for field in groups[group]])
        whole = {field: f"{group}{_JOIN}{field}" for group in groups for field in groups[group]}
        close = difflib.get_close_matches(name, [*known, *whole], n=1)
        if close and close[0] in whole:
            return f"; did you mean {whole[close[0]]!r}? Known: {', '.join(sorted(known))}"
        return nearest(name, known)

    def clone(self) -> Self:
        """A new, unfitted object with the same parameters."""
        return type(self)(**self.get_params(deep=False))

    def __repr__(self) -> str:
        return _call(self, self.get_params(deep=False), self._defaults())


def _call(given: object, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """A call that would make the same object, without what is as it comes."""
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    inside = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    return f"{type(given).__name__}({inside})"


def _outside() -> int:
    """How far up the calls the first one outside the package is, for a warning to point at."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("alora_ts"):
        frame, level = frame.f_back, level + 1
    return level
