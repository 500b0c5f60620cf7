"""Rows made of signals that arrive one by one."""

from alora_ts.serve.assemble.assembler import Assembler
from alora_ts.serve.assemble.grid import Grid, Sample
from alora_ts.serve.assemble.journal import Journal, Keeper
from alora_ts.serve.assemble.silence import SilenceWatch

__all__ = ["Assembler", "Grid", "Journal", "Keeper", "Sample", "SilenceWatch"]
