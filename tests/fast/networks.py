"""Small networks of many shapes."""

from __future__ import annotations

import torch

from alora_ts.network import ALoRaT, Architecture

SHAPES = {
    "default": (6, 40, {}),
    "wide enough to stay folded": (3, 100, {"heads": 2}),
    "learned lags": (5, 30, {"kernel": "learned"}),
    "learned lags, wide kernel": (4, 30, {"kernel": "learned", "kernel_width": 5}),
    "no neighbours": (5, 30, {"kernel_width": 1}),
    "edge padding": (5, 30, {"padding": "edge"}),
    "reflect padding": (5, 30, {"padding": "reflect"}),
    "reflect padding, wide kernel": (5, 30, {"padding": "reflect", "kernel_width": 5}),
    "reflect padding, window of two": (
        5,
        30,
        {"padding": "reflect", "kernel_width": 5, "window": 2},
    ),
    "circular padding": (5, 30, {"padding": "circular"}),
    "edge padding, learned": (5, 30, {"padding": "edge", "kernel": "learned"}),
    "dense embedding": (5, 30, {"embedding": "dense"}),
    "heads do not divide the width": (5, 29, {"heads": 4}),
    "one head": (5, 30, {"heads": 1}),
    "fewer embedded series than heads": (5, 3, {}),
    "one layer": (5, 30, {"layers": 1}),
    "two layers": (5, 30, {"layers": 2}),
    "five layers": (5, 30, {"layers": 5}),
    "causal": (5, 30, {"causal": True}),
    "more variables than embedded series": (40, 16, {}),
    "one variable": (1, 16, {"heads": 2}),
    "window of two": (5, 30, {"window": 2}),
}

NARROW = {
    "default": (3, 60, {"heads": 4}),
    "two layers": (3, 60, {"heads": 4, "layers": 2}),
    "five layers": (3, 60, {"heads": 4, "layers": 5}),
    "learned lags": (3, 60, {"heads": 4, "kernel": "learned"}),
    "edge padding": (3, 60, {"heads": 4, "padding": "edge"}),
    "dense embedding": (3, 60, {"heads": 4, "embedding": "dense"}),
    "causal": (3, 60, {"heads": 4, "causal": True}),
    "heads do not divide the width": (3, 62, {"heads": 4}),
    "widths that need no rounding": (8, 128, {"heads": 8}),
    "one head": (3, 60, {"heads": 1}),
    "one variable": (1, 16, {"heads": 2}),
    "window of one": (3, 60, {"heads": 4, "window": 1}),
}
"""Networks with ends narrow enough for training to fold them."""

NOT_FOLDED = {
    "positions": {"positional": True},
    "feed-forward": {"feed_forward": True},
    "activation": {"activation": "gelu"},
    "time norm": {"time_norm": True},
    "no skip": {"skip": False},
}


def build(d: int, embedded: int, **how: object) -> ALoRaT:
    """A network with sharp attention, so that windows and heads differ visibly."""
    torch.manual_seed(d * 1000 + embedded)
    pairs = torch.randint(0, d, (embedded, 2))
    window = how.pop("window", 7)
    assert isinstance(window, int)
    architecture = Architecture(**how)  # type: ignore[arg-type]
    network = ALoRaT(pairs, variables=d, window=window, architecture=architecture).eval()
    with torch.no_grad():
        for layer in network.blocks:
            layer.query_key_value.weight *= 2.5
            layer.query_key_value.bias.uniform_(-0.5, 0.5)
            layer.project.bias.uniform_(-0.5, 0.5)
    return network


ODD = ("constant", "huge", "zero", "one window", "not contiguous")


def odd_windows(kind: str) -> torch.Tensor:
    """Windows of 7 rows and 6 variables of one of the ODD kinds."""
    return {
        "constant": torch.full((2, 7, 6), 3.0),
        "huge": 1e3 * torch.randn(2, 7, 6),
        "zero": torch.zeros(2, 7, 6),
        "one window": torch.randn(1, 7, 6),
        "not contiguous": torch.randn(2, 6, 7).transpose(1, 2),
    }[kind]
