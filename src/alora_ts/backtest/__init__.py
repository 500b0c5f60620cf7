"""Replays history as it would have happened in production: fit, score onward, fit again."""

from __future__ import annotations

from alora_ts.backtest.replay import backtest
from alora_ts.backtest.result import Backtest, Round

__all__ = ["Backtest", "Round", "backtest"]
