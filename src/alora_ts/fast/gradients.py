"""The gradients of the weights, from the rows of a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from alora_ts.fast.batch import BatchRows
from alora_ts.fast.first_fold import FirstFold
from alora_ts.fast.folds import Folds
from alora_ts.fast.last_fold import LastFold
from alora_ts.fast.scratch import Scratch

__all__ = ["weight_gradients"]

_TakeBack = Callable[[Tensor, Tensor], None]


def weight_gradients(folds: Folds, rows: BatchRows) -> list[Callable[[Scratch], None]]:
    """How the gradients of all weights are formed, after the way back; the longest work first.

    Parameters
    ----------
    folds : Folds
    rows : BatchRows
        Of all parts.

    Returns
    -------
    list of callables
        Each gives some of the network's weights their gradients, in memory of its own.
    """
    work: list[Callable[[Scratch], None]] = [partial(_form_last, folds.last, rows)]
    for number, layer in enumerate(folds.middle):
        given, taken = rows.joint[number], rows.z[number]
        work.append(partial(_form, layer.take_back_joint, given, taken))
    work.append(partial(_form_first, folds.first, rows))
    for number, layer in enumerate(folds.middle, start=1):
        given, taken = rows.of_z[number], rows.mixed[number]
        work.append(partial(_form, layer.take_back_project, given, taken))
    return work


def _form(take_back: _TakeBack, given: Tensor, taken: Tensor, scratch: Scratch) -> None:
    """Of a product taken · weightᵀ + bias, whose own gradient is given."""
    take_back(_product("weight", given, taken, scratch), given.sum(0))


def _form_first(first: FirstFold, rows: BatchRows, scratch: Scratch) -> None:
    of_left, of_z = rows.left, rows.of_z[0]
    first.take_back(
        of_scores=_product("scores", rows.u, of_left, scratch),
        of_scores_bias=of_left.sum(0),
        of_basis=_product("basis", rows.u, of_z, scratch),
        of_mixed=_product("mixed", rows.mixed[0], of_z, scratch),
        of_bias=of_z.sum(0),
    )


def _form_last(last: LastFold, rows: BatchRows, scratch: Scratch) -> None:
    of_joint, z = rows.joint[-1], rows.z[-1]
    of_query_key, of_decoded = torch.split(of_joint, [len(last.query_key), len(last.decoded)], 1)
    torch.mm(of_query_key.T, z, out=last.of_query_key)
    last.take_back(_product("decoded", of_decoded, z, scratch), of_joint.sum(0))


def _product(name: str, given: Tensor, taken: Tensor, scratch: Scratch) -> Tensor:
    into = scratch.empty(name, given.shape[1], taken.shape[1], like=given)
    return torch.mm(given.T, taken, out=into)
