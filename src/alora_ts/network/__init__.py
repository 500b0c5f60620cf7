"""The paper's equations as pure torch, one file a section; no I/O, no training."""

from alora_ts.network.alora_t import ALoRaT, Architecture, Encoding
from alora_ts.network.pairs import choose_pairs
from alora_ts.network.penalty import low_rank_penalty

__all__ = ["ALoRaT", "Architecture", "Encoding", "choose_pairs", "low_rank_penalty"]
