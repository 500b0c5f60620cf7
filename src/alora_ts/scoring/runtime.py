"""The folded pass as an ONNX graph, run by ONNX Runtime where it is installed (extra ``onnx``).

The same products in the same order as :class:`~alora_ts.scoring.folded.FoldedNetwork`. The runtime
lays the weights out for its products once, where torch does so at every call, and spends less time
between them; for a single window, as in a stream, that is half of all time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alora_ts.scoring.folded import Affine, FoldedNetwork, LastRow

__all__ = ["Runtime"]

_OPSET = 17


class Runtime:
    """A folded network in ONNX Runtime; call it as the folded network itself.

    Parameters
    ----------
    folded : FoldedNetwork
    variables : int
        d.

    Notes
    -----
    A session uses one thread, and several threads may use it at once. Copies, and what pickle
    brings back, open a session of their own.
    """

    def __init__(self, folded: FoldedNetwork, variables: int) -> None:
        import onnxruntime

        self._made_of = folded, variables
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            _write(folded, variables), options, providers=["CPUExecutionProvider"]
        )

    def __reduce__(self) -> tuple[type[Runtime], tuple[FoldedNetwork, int]]:
        return Runtime, self._made_of

    @staticmethod
    @cache
    def installed() -> bool:
        """Whether this machine has what it takes."""
        try:
            import onnx  # noqa: F401  (imported, not looked up: a broken installation has no use)
            import onnxruntime  # noqa: F401
        except ImportError:
            return False
        return True

    def __call__(self, windows: Tensor) -> LastRow:
        """Expected last rows and last attention of windows (B, T, d)."""
        expected, attention = self._session.run(None, {"windows": windows.numpy()})
        return LastRow(torch.from_numpy(expected), torch.from_numpy(attention))


def _write(folded: FoldedNetwork, variables: int) -> bytes:
    """The pass as a serialised ONNX model: ``windows`` (B, T, d) to (B, d) and (B, T, T)."""
    graph = _Graph(folded.window, causal=folded.causal)
    lags = [graph.apply("MatMul", graph.weight(each), "windows") for each in folded.neighbours]
    width = variables * len(lags)
    f = graph.flat(lags[0] if len(lags) == 1 else graph.join(lags, axis=2), width)
    for mixing in folded.narrow:
        by_window = graph.windows(f, width)
        query = graph.shaped(graph.affine(f, mixing.query), -1, folded.window * mixing.heads, width)
        key = graph.turned(by_window, 0, 2, 1)
        attention = graph.softmax(graph.apply("MatMul", query, key), by_step=mixing.heads)
        mixed = graph.flat(graph.apply("MatMul", attention, by_window), mixing.heads * width)
        f = graph.join([f, mixed], axis=1)
        width *= 1 + mixing.heads
    query_key, features = [folded.last_inner] * 2, [(f, width)]
    for number, valued in enumerate(folded.wide):
        inner = valued.inner
        before_last = number + 1 == len(folded.wide)
        carry = query_key if before_last else [valued.mix.shape[1]]
        query, key, value, *carried = graph.affines(f, valued.joint, [inner] * 3 + carry)
        attention = graph.attend(query, key, valued.heads, inner)
        by_head = graph.turned(graph.heads(value, valued.heads, inner), 0, 2, 1, 3)
        mixed = graph.turned(graph.apply("MatMul", attention, by_head), 0, 2, 1, 3)
        mixed = graph.flat(mixed, inner)
        mixes = torch.split(valued.mix, carry, dim=1)
        carried = [
            graph.apply("Gemm", mixed, graph.weight(mix), name)
            for mix, name in zip(mixes, carried, strict=True)
        ]
        if before_last:
            features.append((mixed, inner))
        else:
            (f,), features = carried, [(carried[0], carry[0])]
    query, key = carried if folded.wide else graph.affines(f, folded.first, query_key)
    attention = graph.attend(query, key, folded.heads, folded.last_inner)
    graph.apply("ReduceMean", attention, axes=[1], keepdims=0, into="attention")
    # Of the last layer: the last row itself, then what each head gathers for it.
    total = sum(columns for _, columns in features)
    seen = graph.windows(graph.join([name for name, _ in features], axis=1), total)
    last = graph.whole([folded.window - 1])
    itself = graph.apply("Gather", seen, last, axis=1)
    rows = graph.shaped(graph.apply("Gather", attention, last, axis=2), 0, folded.heads, -1)
    gathered = graph.join([itself, graph.apply("MatMul", rows, seen)], axis=1)
    flat = graph.shaped(gathered, -1, (1 + folded.heads) * total)
    graph.affine(flat, folded.decode, into="expected")
    return graph.serialised(variables)


class _Graph:
    """An ONNX graph in the making. Names stand for tensors; rows of windows lie flat, (B·T, ·)."""

    def __init__(self, window: int, *, causal: bool) -> None:
        self._window = window
        self._later = np.triu(np.full((window, window), -np.inf, dtype=np.float32), 1)
        self._causal = causal
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def apply(self, kind: str, *inputs: str, into: str | None = None, **attributes: Any) -> str:
        """Add a node with one output and give the output's name."""
        name = f"t{len(self._nodes)}" if into is None else into
        self._add(kind, inputs, [name], **attributes)
        return name

    def affines(self, rows: str, given: Affine, sizes: Sequence[int]) -> list[str]:
        """The columns of a map in several parts; one product to be cut up would be copied."""
        weights = torch.split(given.weight, list(sizes), dim=1)
        biases = torch.split(given.bias, list(sizes))
        parts = [Affine(*each) for each in zip(weights, biases, strict=True)]
        return [self.affine(rows, part) for part in parts]

    def affine(self, rows: str, given: Affine, into: str | None = None) -> str:
        return self.apply(
            "Gemm", rows, self.weight(given.weight), self.weight(given.bias), into=into
        )

    def shaped(self, name: str, *shape: int) -> str:
        return self.apply("Reshape", name, self.whole(shape))

    def flat(self, name: str, columns: int) -> str:
        return self.shaped(name, -1, columns)

    def windows(self, name: str, columns: int) -> str:
        return self.shaped(name, -1, self._window, columns)

    def turned(self, name: str, *order: int) -> str:
        return self.apply("Transpose", name, perm=list(order))

    def join(self, names: Sequence[str], *, axis: int) -> str:
        return self.apply("Concat", *names, axis=axis)

    def heads(self, name: str, heads: int, inner: int) -> str:
        """Flat rows of all heads as (B, T, H, D/H)."""
        return self.shaped(name, -1, self._window, heads, inner // heads)

    def attend(self, query: str, key: str, heads: int, inner: int) -> str:
        """Attention matrices (B, H, T, T) of flat queries and keys, already scaled."""
        left = self.turned(self.heads(query, heads, inner), 0, 2, 1, 3)
        right = self.turned(self.heads(key, heads, inner), 0, 2, 3, 1)
        return self.softmax(self.apply("MatMul", left, right))

    def softmax(self, scores: str, *, by_step: int = 1) -> str:
        """Rows that sum to one; of ``by_step`` rows in turn each belongs to the same step."""
        if self._causal:
            later = torch.from_numpy(np.repeat(self._later, by_step, axis=0))
            scores = self.apply("Add", scores, self.weight(later))
        return self.apply("Softmax", scores, axis=-1)

    def weight(self, tensor: Tensor) -> str:
        return self._constant(tensor.detach().numpy().astype(np.float32))

    def whole(self, numbers: Sequence[int]) -> str:
        return self._constant(np.array(numbers, dtype=np.int64))

    def serialised(self, variables: int) -> bytes:
        from onnx import TensorProto, helper

        def declared(name: str, *shape: int | str) -> Any:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        graph = helper.make_graph(
            self._nodes,
            "alora",
            [declared("windows", "batch", self._window, variables)],
            [
                declared("expected", "batch", variables),
                declared("attention", "batch", self._window, self._window),
            ],
            self._constants,
        )
        # The oldest format that has all these operators: older runtimes read it too.
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
        made.ir_version = 8
        written: bytes = made.SerializeToString()
        return written

    def _add(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def _constant(self, array: np.ndarray[Any, Any]) -> str:
        from onnx import numpy_helper

        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
