"""The paper's equations as pure torch, one file a section; no I/O, no training."""

from alora_ts.network.alora_t import ALoRaT, Encoding
from alora_ts.network.architecture import Architecture
from alora_ts.network.contributions import (
    Contributions,
    contribution_weights,
    relative_contributions,
    window_contributions,
)
from alora_ts.network.pairs import choose_pairs
from alora_ts.network.penalty import low_rank_penalty
from alora_ts.network.star import constant_part, star_terms

__all__ = [
    "ALoRaT",
    "Architecture",
    "Contributions",
    "Encoding",
    "choose_pairs",
    "constant_part",
    "contribution_weights",
    "low_rank_penalty",
    "relative_contributions",
    "star_terms",
    "window_contributions",
]
