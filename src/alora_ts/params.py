"""Constructor parameters in scikit-learn's style, without scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from alora_ts.errors import AloraError, nearest

__all__ = ["Parameters"]


class Parameters:
    """Mixin: ``get_params``, ``set_params``, ``clone`` and a short ``repr``.

    The constructor of a subclass takes keyword arguments only and stores each under its own name;
    whatever ``fit`` learns goes into attributes that end in ``_``.

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

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        signature = inspect.signature(cls.__init__)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  (sklearn passes it)
        """The constructor's arguments and their values."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **values: Any) -> Self:
        """Change constructor arguments; takes effect at the next ``fit``."""
        known = self._defaults()
        for name, value in values.items():
            if name not in known:
                raise AloraError(
                    f"{type(self).__name__} has no parameter {name!r}{nearest(name, known)}"
                )
            setattr(self, name, value)
        return self

    def clone(self) -> Self:
        """A new, unfitted object with the same parameters."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {
            name: value for name, value in self.get_params().items() if value != defaults[name]
        }
        inside = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        return f"{type(self).__name__}({inside})"
