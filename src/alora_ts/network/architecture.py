"""What shapes the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from alora_ts.network.attention import Activation
from alora_ts.network.embedding import Kernel, Padding
from alora_ts.network.pairs import Correlation
from alora_ts.params import Options

__all__ = ["Architecture"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Architecture(Options):
    """Every choice that shapes the network but the window T and the number of pairs K.

    Attributes
    ----------
    layers, heads : int
        L and H. Where there are fewer embedded series than heads, fewer heads are used.
    correlation : {"spearman", "pearson"}
        What ranks the pairs, see :func:`~alora_ts.network.choose_pairs`.
    embedding : {"pairs", "dense"}
        LightMTS-Embed, or the standard convolution over all series.
    kernel, kernel_width, padding
        See :class:`~alora_ts.network.embedding.PairEmbedding`.
    skip, feed_forward, activation, time_norm, causal
        See :class:`~alora_ts.network.attention.ALoRaLayer`. ``time_norm`` also normalises the
        features after the last layer, as the authors' program does.
    positional : bool
        Add the sinusoidal positions to the embedding.
    input_limit : float
        The network sees scaled values within ± this many standard deviations, so that one wild
        variable cannot drown the others.

    Examples
    --------
    >>> Architecture.paper()
    Architecture(layers=3, padding='circular', input_limit=1000000.0)
    """

    layers: int = 2
    heads: int = 8
    correlation: Correlation = "spearman"
    embedding: Literal["pairs", "dense"] = "pairs"
    kernel: Kernel = "average"
    kernel_width: int = 3
    padding: Padding = "reflect"
    skip: bool = True
    feed_forward: bool = False
    activation: Activation = "none"
    time_norm: bool = False
    causal: bool = False
    positional: bool = False
    input_limit: float = 10.0

    @classmethod
    def paper(cls) -> Architecture:
        """The paper's equations: windows padded circularly, values as they are."""
        return cls(layers=3, padding="circular", input_limit=1e6)

    @classmethod
    def authors(cls) -> Architecture:
        """What the authors' program does where it differs from the paper's equations."""
        return cls(layers=3, padding="circular", input_limit=1e6, time_norm=True, positional=True)
