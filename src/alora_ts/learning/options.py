"""What can be chosen about training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from alora_ts.errors import AloraError, nearest
from alora_ts.params import Options

__all__ = ["Training"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Training(Options):
    """How a network is trained, but for how long.

    Why these defaults: docs/decisions/0002-training-budget.md.

    Attributes
    ----------
    batch_size : int
        Windows per step.
    learning_rate : float
        Adam's step size at its highest.
    rate : {"falling", "constant"}
        "falling" rises over the first steps and falls to zero over the epochs (half a cosine);
        "constant" stays, so that training ends only when it no longer gets better.
    low_rank_weight : float
        λ of Eq. 8; the penalty is a mean over windows.
    error : {"mean", "sum"}
        The error that λ is weighed against: a mean over the T·d entries of a window, as in the
        authors' program, or their sum, which is Eq. 8 to the letter and makes the same λ count T·d
        times less.
    placement : {"mean", "heads"}
        Penalise the mean attention matrix of a layer, or each head's and take the mean.
    penalty : {"paper", "authors"}
        "authors" is what the authors' program computes instead of Eq. 7: all singular values of
        all windows but the first of the batch, summed over windows, averaged over layers.
    gradient_clip : float
        Largest norm of the gradient.
    patience : int
        Epochs without improvement on the validation windows before stopping.
    validation_share : float
        Share of the training rows, in blocks spread over all of them, held back for early
        stopping and for the alarm level.

    Examples
    --------
    >>> Training.paper()
    Training(batch_size=128, learning_rate=0.0001, rate='constant')
    """

    batch_size: int = 32
    learning_rate: float = 1e-3
    rate: Literal["falling", "constant"] = "falling"
    low_rank_weight: float = 10.0
    error: Literal["mean", "sum"] = "mean"
    placement: Literal["mean", "heads"] = "mean"
    penalty: Literal["paper", "authors"] = "paper"
    gradient_clip: float = 5.0
    patience: int = 2
    validation_share: float = 0.2

    def __post_init__(self) -> None:
        """Refuse a word that is none of the choices."""
        for name, kind in get_type_hints(type(self)).items():
            given, choices = getattr(self, name), get_args(kind)
            if choices and given not in choices:
                raise AloraError(f"unknown {name}={given!r}{nearest(str(given), choices)}")

    @classmethod
    def paper(cls) -> Training:
        """The paper's steps; it takes ten epochs of them over every window."""
        return cls(batch_size=128, learning_rate=1e-4, rate="constant")

    @property
    def per_head(self) -> bool:
        """Whether the penalty needs the matrices of each head."""
        return self.placement == "heads" and self.penalty == "paper"
