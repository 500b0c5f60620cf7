"""Slow, obvious twins of the fast paths, one function each, for tests to compare with.

Folders with many twins keep theirs in ``tests/<folder>/naive_<topic>.py``; this file holds those of
the method itself.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

if TYPE_CHECKING:
    from alora_ts.network import ALoRaT

Array = NDArray[np.floating]


def pairs(values: Array, limit: int) -> list[tuple[int, int]]:
    """Rank all pairs by |rho|, undefined as 0, ties by index."""

    def strength(pair: tuple[int, int]) -> float:
        i, j = pair
        if np.ptp(values[:, i]) == 0 or np.ptp(values[:, j]) == 0:
            return 0.0
        return round(abs(float(stats.spearmanr(values[:, i], values[:, j]).statistic)), 9)

    everything = itertools.combinations(range(values.shape[1]), 2)
    return sorted(everything, key=lambda pair: (-strength(pair), pair))[:limit]


def geman(matrix: Array, kept: int) -> float:
    """Eq. 7, one matrix."""
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return float(sum(s / (s + 1) for s in sigma[kept:]))


def geman_gradient(matrix: Array, kept: int) -> Array:
    """The gradient of Eq. 7, one matrix without singular values near zero."""
    u, sigma, v = np.linalg.svd(matrix)
    gradient = np.zeros_like(matrix)
    for i in range(kept, len(sigma)):
        gradient += np.outer(u[:, i], v[i]) / (sigma[i] + 1) ** 2
    return gradient


def embed(network: ALoRaT, window: Array) -> Array:
    """Eq. 1 with loops: window (T, d) to (T, D)."""
    steps = len(window)
    weights = network.embed.lag_weights().detach().numpy()
    reach = (len(weights) - 1) // 2
    embedded = np.zeros((steps, weights.shape[2]))
    for t in range(steps):
        for lag in range(len(weights)):
            source = t + lag - reach
            if network.embed.padding == "circular":
                source %= steps
            elif network.embed.padding == "reflect":
                if source < 0:
                    source = min(-source, steps - 1)
                elif source >= steps:
                    source = max(2 * (steps - 1) - source, 0)
            else:
                source = min(max(source, 0), steps - 1)
            embedded[t] += window[source] @ weights[lag]
    return embedded


def forward(network: ALoRaT, window: Array) -> tuple[Array, Array]:
    """Eqs. 1, 2, 3, 6 for one window and a default layer: reconstruction, last mean attention."""
    z = embed(network, window)
    mean = np.empty(0)
    for layer in network.blocks:
        joint, bias = layer.query_key_value.weight.detach().numpy(), layer.query_key_value.bias
        projected = z @ joint.T + bias.detach().numpy()
        width = projected.shape[1] // 3 // layer.heads
        query, key, value = np.split(projected, 3, axis=1)
        matrices, mixed = [], []
        for head in range(layer.heads):
            part = slice(head * width, (head + 1) * width)
            scores = query[:, part] @ key[:, part].T / np.sqrt(width)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            matrices.append(weights)
            mixed.append(weights @ value[:, part])
        mean = np.mean(matrices, axis=0)
        project = layer.project
        z = z + np.hstack(mixed) @ project.weight.detach().numpy().T + project.bias.detach().numpy()
    decode = network.decode
    return z @ decode.weight.detach().numpy().T + decode.bias.detach().numpy(), mean


def attend(
    query: Array, key: Array, value: Array, *, scale: float, causal: bool
) -> tuple[Array, Array]:
    """Eq. 2 for one head, entry by entry: the matrix, and what it makes of the values."""
    matrix = np.zeros((len(query), len(key)))
    mixed = np.zeros((len(query), value.shape[1]))
    for t, q in enumerate(query):
        seen = [s for s in range(len(key)) if not causal or s <= t]
        scores = [
            scale * sum(float(a) * float(b) for a, b in zip(q, key[s], strict=True)) for s in seen
        ]
        grown = [np.exp(score - max(scores)) for score in scores]
        for s, each in zip(seen, grown, strict=True):
            matrix[t, s] = each / sum(grown)
            mixed[t] += matrix[t, s] * value[s]
    return matrix, mixed


def product(left: Array, right: Array) -> Array:
    """A matrix product, entry by entry, in double precision."""
    found = np.zeros((left.shape[0], right.shape[1]))
    for i, j, k in itertools.product(*map(range, (*found.shape, left.shape[1]))):
        found[i, j] += float(left[i, k]) * float(right[k, j])
    return found


def localization(error: Array, c: Array, form: str, top: int) -> list[float]:
    """The forms of ALoRa-Loc for one row, entry by entry."""
    d = len(error)
    size = np.abs(c)

    def largest(row: Array) -> list[int]:
        return sorted(range(d), key=lambda j: (-row[j], j))[:top]

    kept = np.zeros((d, d))
    for i in range(d):
        for j in largest(size[i]):
            kept[i, j] = size[i, j]
        kept[i] /= kept[i].sum()
    absolute = [sum(size[i, j] * error[j] for j in range(d)) for i in range(d)]
    forms = {
        "paper": [sum(c[i, j] * error[j] for j in range(d)) for i in range(d)],
        "paper-top-k": [sum(c[i, j] * error[j] for j in largest(c[i])) for i in range(d)],
        "error": list(error),
        "absolute": absolute,
        "normalised": [absolute[i] / size[i].sum() for i in range(d)],
        "authors": [sum(error[j] * kept[j, i] for j in range(d)) for i in range(d)],
        "blend": [(error[i] / sum(error) + absolute[i] / sum(absolute)) / 2 for i in range(d)],
    }
    return forms[form]


def affected(
    values: Array,
    expected: Array,
    *,
    warm_up: int,
    weights: Array,
    offset: Array,
    centre: Array,
    normal: tuple[Array, Array, Array],
    cap: float,
    memory: int,
) -> Array:
    """Localization "affected" of rows without gaps, cell by cell."""
    n, d = values.shape
    blame = np.zeros((n, d))
    for t in range(n):
        for i in range(d):
            foretold = offset[i] + sum(
                weights[lag][j, i] * values[t - lag - 1, j]
                for lag in range(len(weights))
                for j in range(d)
                if t >= warm_up
            )
            surprise = values[t, i] - foretold if t >= warm_up else 0.0
            away = (values[t, i] - expected[t, i], surprise, values[t, i] - centre[i])
            for one, usual in zip(away, normal, strict=True):
                blame[t, i] += min(one**2 / (usual[i] + 0.3 * usual.mean()), cap)
    means = np.zeros((n, d))
    for t in range(n):
        first = 0 if t < warm_up else warm_up  # no mean reaches back into warm-up rows
        means[t] = blame[max(t - memory + 1, first) : t + 1].mean(0)
    return means


def rank(matrix: Array, level: float) -> int:
    """Eq. 10, one matrix, in double precision."""
    sigma = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
    return int(sum(s > level for s in sigma))


def covering_mean(score: Array, window: int, segments: NDArray[np.integer] | None) -> Array:
    """The mean over the windows that hold a row; each window has its last row's score."""
    held: list[list[float]] = [[] for _ in score]
    for last in range(len(score)):
        for row in range(max(last - window + 1, 0), last + 1):
            between = None if segments is None else segments[row : last + 1]
            if between is None or len(set(between.tolist())) == 1:
                held[row].append(float(score[last]))
    return np.array([np.mean(own) for own in held])


def causal_mean(series: Array, width: int, segments: NDArray[np.integer] | None) -> Array:
    """Mean of a row and the rows before it in its segment, row by row."""
    means = []
    for t in range(len(series)):
        past = [series[t]]
        while len(past) < width and t - len(past) >= 0:
            if segments is not None and segments[t - len(past)] != segments[t]:
                break
            past.append(series[t - len(past)])
        means.append(np.mean(np.array(past, dtype=np.float64), axis=0))
    return np.array(means)


def evidence(
    network: ALoRaT, values: Array, segments: NDArray[np.integer], level: float
) -> tuple[Array, list[int], list[bool]]:
    """Expected value, rank and warm-up of every row, one row at a time.

    A row is judged by the window that ends at it; the first rows of a segment by its first
    window; a segment shorter than a window is continued to the left with its first row.
    """
    width = network.window
    expected, ranks, warm_up = [], [], []
    for t in range(len(values)):
        start = t
        while start > 0 and segments[start - 1] == segments[t]:
            start -= 1
        stop = t
        while stop + 1 < len(values) and segments[stop + 1] == segments[t]:
            stop += 1
        end = min(max(t, start + width - 1), stop)
        rows = [max(row, start) for row in range(end - width + 1, end + 1)]
        reconstruction, attention = forward(network, values[rows])
        expected.append(reconstruction[width - 1 - (end - t)])
        ranks.append(rank(attention, level))
        warm_up.append(t - start < width - 1)
    return np.array(expected), ranks, warm_up


def origin_scores(
    window: Array, weights: Array, offset: Array, size: Array, usual: Array
) -> list[float]:
    """Divergence of each variable's surprises from the normal ones, for one window."""
    lags, d, _ = weights.shape
    found = []
    for j in range(d):
        surprises = []
        for t in range(lags, len(window)):
            predicted = offset[j]
            for lag in range(1, lags + 1):
                for i in range(d):
                    predicted += weights[lag - 1, i, j] * window[t - lag, i]
            surprises.append((window[t, j] - predicted) / size[j])
        m = len(surprises)
        mean = sum(surprises) / m
        variance = sum((one - mean) ** 2 for one in surprises) / m
        excess = mean**2 + variance - 1 - np.log(max(variance, 0.01))
        found.append(float(m / 2 * excess / usual[j]))
    return found


def drift_factors(
    raw: np.ndarray, warm_up: np.ndarray, normal: np.ndarray, memory: int
) -> np.ndarray:
    """How many times the median of the last scores is that of normal ones, from 1 to 10."""
    if memory == 0:
        return np.ones(len(raw))
    places = np.linspace(0, 1, memory + 2)[1:-1]
    past = np.interp(places, np.linspace(0, 1, len(normal)), normal)
    at = int(0.5 * memory)
    usual = max(np.sort(past)[at], 1e-12)
    past = list(past[np.random.default_rng(0).permutation(memory)])
    factors = []
    for score, early in zip(raw, warm_up, strict=True):
        factors.append(min(max(1.0, np.sort(past)[at] / usual), 10.0))
        if not early:
            past = [*past[1:], score]
    return np.array(factors)


def cluster_peaks(scores: Array, blocks: Array, gap: int) -> list[float]:
    """The highest score, those near it gone, the highest of the rest, and so on."""
    left = list(range(len(scores)))
    found = []
    while left:
        at = max(left, key=lambda row: (scores[row], -row))
        found.append(float(scores[at]))
        left = [row for row in left if not _same_stretch(blocks, at, row) or abs(row - at) > gap]
    return found


def _same_stretch(blocks: Array, one: int, other: int) -> bool:
    low, high = sorted((one, other))
    return all(blocks[row] == blocks[one] for row in range(low, high + 1))


def followed(
    scores: Array,
    warm_up: Array,
    before: Array,
    usual: float,
    usual_spread: float,
    *,
    memory: int,
    level: float,
    each: float | None,
    gap: int,
) -> Array:
    """What scores are divided by beside the level; everything is worked out anew for each row."""
    factors, seen, rows = [], list(before), []
    clusters: list[list[tuple[int, float]]] = []
    storm, changed, spread, low, first_shift, alarming = 1.0, False, 1.0, 0, 0.0, 0
    for raw, early in zip(scores.tolist(), warm_up.tolist(), strict=True):
        first, last = (clusters[-1][0][0], clusters[-1][-1][0]) if clusters else (0, 0)
        pause = max(gap, alarming // 50)
        if not early and memory and clusters and len(rows) - last == gap + 1:
            since = seen[first - len(rows) :][-memory:]
            ending = np.mean(since[-max(gap, 1) :]) - first_shift
            enough = max(0.1 * memory, 0.4 * len(seen[-memory:]))
            if last + 1 - first >= enough and ending > level:
                seen, changed, low = since, True, 0
                middle, high = np.quantile(since, [0.5, 0.75])
                spread = min(max((high - middle) / max(usual_spread, 1e-12), 1.0), 100.0)
        recent = sorted(seen[-memory:]) if memory else []
        shift = 0.0
        if memory:
            shift = min(max(_at(recent, 0.5) - usual, 0.0), 10 * level * spread)
        own = max(raw - shift, 0.01 * raw) / spread
        if not early:
            at = len(rows)
            rows.append(own)
            if own / level > 1:
                if not clusters or at - last > pause + 1:
                    first_shift = shift
                    recent_peaks = [
                        max(score for _, score in cluster)
                        for cluster in clusters
                        if each is not None and cluster[-1][0] >= at - 7.5 * each
                    ]
                    worst = sorted(recent_peaks, reverse=True)
                    storm = min(worst[4], 10.0) if len(worst) >= 5 else 1.0
                    clusters.append([])
                    alarming = 0
                clusters[-1].append((at, own / level))
                alarming += own / level > storm
            seen.append(raw)
            if changed:
                low = low + 1 if raw < _at(sorted(seen[-memory:]), 0.1) else 0
                if low >= 100:
                    seen, changed, spread = list(before), False, 1.0
        score = own / level
        if 0.9 < score <= storm:
            score = 0.9 + 0.1 * (score - 0.9) / (storm - 0.9)
        factors.append(raw / (level * score) if score > 1e-12 else 1.0)
    return np.array(factors)


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def novelty(learned, values, segments):
    """:meth:`alora_ts.scoring.novelty.Novelty.of`, a row and a length at a time."""
    found = np.zeros(len(values))
    for row in range(len(values)):
        begin = row
        while begin > 0 and (segments is None or segments[begin - 1] == segments[row]):
            begin -= 1
        for at, length in enumerate(learned.lengths):
            if row - begin + 1 < length:
                continue
            stretch = np.asarray(values[row - length + 1 : row + 1], dtype=np.float64)
            seen = np.r_[stretch.mean(0), stretch.std(0)]
            apart = (seen - learned.center[at]) * learned.unit[at] - learned.stretches[at]
            nearest = np.square(apart, dtype=np.float64).mean(1).min()
            unlike = min(np.log(nearest + 1e-6) - learned.usual[at], 8.0)
            found[row] += unlike / len(learned.lengths)
    return found


def beyond(low, high, deviation, observed, *, rows, segments):
    """:meth:`alora_ts.scoring.bounds.Bounds.of`, a row and a signal at a time."""
    found = np.zeros(len(rows))
    for row in range(2, len(rows)):
        last = range(row - 2, row + 1)
        if segments is not None and len({segments[one] for one in last}) > 1:
            continue
        for at in range(rows.shape[1]):
            if observed[at] < 10 or not deviation[at] > 0:
                continue
            away = [max(rows[one, at] - high[at], low[at] - rows[one, at]) for one in last]
            said = (min(away) / deviation[at] - 4) / 4
            found[row] = max(found[row], min(max(said, 0.0), 10.0))
    return found


def cycle_shares(rows, place, moments):
    """Shares of :class:`alora_ts.data.cycle.Cycle`, a cell and a repetition at a time."""
    width = max(moments // 60, 1) | 1
    near = [range(-(width // 2), width // 2 + 1)] * moments
    layers = sorted({at // moments for at in place})
    shares = []
    for column in rows.T:
        sums = {layer: np.zeros(moments) for layer in layers}
        counts = {layer: np.zeros(moments) for layer in layers}
        for value, at in zip(column, place, strict=True):
            if not np.isnan(value):
                sums[at // moments][at % moments] += value
                counts[at // moments][at % moments] += 1
        missed = spread = 0.0
        for layer in layers:
            others = [one for one in layers if one != layer]
            total, count = np.zeros(moments), np.zeros(moments)
            for at in range(moments):
                for by in near[at]:
                    total[at] += sum(sums[one][(at + by) % moments] for one in others)
                    count[at] += sum(counts[one][(at + by) % moments] for one in others)
            middle = total.sum() / max(count.sum(), 1e-9)
            for at in np.flatnonzero(counts[layer]):
                told = total[at] / count[at] if count[at] else middle
                mean = sums[layer][at] / counts[layer][at]
                missed += counts[layer][at] * (mean - told) ** 2
                spread += counts[layer][at] * (mean - middle) ** 2
        share = 1 - missed / spread if spread > 0 else 0.0
        shares.append(share if share >= 0.05 else 0.0)
    return np.array(shares)
