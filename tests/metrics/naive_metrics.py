"""Slow, obvious twins: every definition as its paper states it, one threshold at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

Ranges = list[tuple[int, int]]


def ranges(mask: Sequence[int]) -> Ranges:
    """Half-open ranges of ones."""
    found = []
    start = None
    for row, value in enumerate([*mask, 0]):
        if value and start is None:
            start = row
        if not value and start is not None:
            found.append((start, row))
            start = None
    return found


def f1(pair: tuple[float, float]) -> float:
    return 2 * pair[0] * pair[1] / sum(pair) if sum(pair) > 0 else 0.0


def _integral(f: Callable[[float], float], low: float, high: float, kinks: list[float]) -> float:
    """Of a piecewise linear function with known kinks and jumps, from two points between them."""
    points = [low, *sorted(k for k in kinks if low < k < high), high]
    total = 0.0
    for a, b in itertools.pairwise(points):
        inset = (b - a) * 0.25  # two inner points fix a line, and jumps at the ends do not matter
        total += (b - a) * (f(a + inset) + f(b - inset)) / 2
    return total


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    return max(0.0, min(a[1], b[1]) - max(a[0], b[0]))


def affiliation(label: Sequence[int], alarm: Sequence[int]) -> tuple[float, float]:
    """Zone by zone: probabilities by measuring intervals, integrals piece by piece."""
    events, episodes, n = ranges(label), ranges(alarm), len(label)
    borders = [0.0, *((a[1] + b[0]) / 2 for a, b in itertools.pairwise(events)), float(n)]
    precisions, recalls = [], []
    for (s, e), low, high in zip(events, borders[:-1], borders[1:], strict=True):
        pieces = [(max(a, low), min(b, high)) for a, b in episodes if min(b, high) > max(a, low)]
        if not pieces:
            recalls.append(0.0)
            continue

        def alarm_worth(
            x: float, s: int = s, e: int = e, low: float = low, high: float = high
        ) -> float:
            d = max(s - x, x - e, 0.0)
            if d == 0:
                return 1.0
            return 1.0 - _overlap((s - d, e + d), (low, high)) / (high - low)

        # The worth bends where the grown event meets the nearer border of the zone.
        room = min(s - low, high - e)
        kinks = [s, e, s - room, e + room]
        covered = sum(b - a for a, b in pieces)
        precisions.append(sum(_integral(alarm_worth, a, b, kinks) for a, b in pieces) / covered)

        def event_worth(
            y: float,
            pieces: list[tuple[float, float]] = pieces,
            low: float = low,
            high: float = high,
        ) -> float:
            d = min(max(a - y, y - b, 0.0) for a, b in pieces)
            return 1.0 - _overlap((y - d, y + d), (low, high)) / (high - low)

        edges = [edge for piece in pieces for edge in piece]
        middles = [(a[1] + b[0]) / 2 for a, b in itertools.pairwise(pieces)]
        meets = [(edge + border) / 2 for edge in edges for border in (low, high)]
        recalls.append(_integral(event_worth, s, e, edges + middles + meets) / (e - s))
    precision = sum(precisions) / len(precisions) if precisions else 0.0
    return precision, sum(recalls) / len(recalls)


def range_based(
    label: Sequence[int],
    alarm: Sequence[int],
    alpha: float = 0.0,
    bias: str = "flat",
    cardinality: str = "reciprocal",
) -> tuple[float, float]:
    def weight(position: int, length: int) -> float:
        return {
            "flat": 1,
            "front": length - position + 1,
            "back": position,
            "middle": position if position <= length / 2 else length - position + 1,
        }[bias_used]

    def reward(of: Ranges, by: Ranges, alpha: float) -> float:
        total = 0.0
        for s, e in of:
            weights = {row: weight(row - s + 1, e - s) for row in range(s, e)}
            overlapping = [(a, b) for a, b in by if a < e and b > s]
            if not overlapping:
                continue
            cover = sum(weights[row] for a, b in overlapping for row in range(a, b) if s <= row < e)
            factor = 1 / len(overlapping) if cardinality == "reciprocal" else 1.0
            total += alpha + (1 - alpha) * factor * cover / sum(weights.values())
        return total / len(of)

    events, episodes = ranges(label), ranges(alarm)
    if not episodes:
        return 0.0, 0.0
    bias_used = "flat"
    precision = reward(episodes, events, 0.0)
    bias_used = bias
    return precision, reward(events, episodes, alpha)


def tsb_range(label: Sequence[int], alarm: Sequence[int]) -> tuple[float, float]:
    return range_based(label, alarm, alpha=0.2)


def point(label: Sequence[int], alarm: Sequence[int]) -> tuple[float, float]:
    hits = sum(1 for a, b in zip(label, alarm, strict=True) if a and b)
    return (hits / sum(alarm) if sum(alarm) else 0.0), hits / sum(label)


def point_adjusted(label: Sequence[int], alarm: Sequence[int]) -> tuple[float, float]:
    adjusted = list(alarm)
    for s, e in ranges(label):
        if any(alarm[s:e]):
            adjusted[s:e] = [1] * (e - s)
    return point(label, adjusted)


def event_based(label: Sequence[int], alarm: Sequence[int]) -> tuple[float, float]:
    events = ranges(label)
    return point(label, alarm)[0], sum(any(alarm[s:e]) for s, e in events) / len(events)


ONCE: dict[str, Callable[[Sequence[int], Sequence[int]], tuple[float, float]]] = {
    "affiliation": affiliation,
    "range": tsb_range,
    "point": point,
    "point-adjusted": point_adjusted,
    "event": event_based,
}


def curve(
    label: Sequence[int], score: Sequence[float], metric: str
) -> list[tuple[float, tuple[float, float]]]:
    """Every distinct score as the least one that alarms, highest first."""
    return [
        (level, ONCE[metric](label, [int(value >= level) for value in score]))
        for level in sorted(set(score), reverse=True)
    ]


def auc_roc(label: Sequence[int], score: Sequence[float]) -> float:
    pairs = [
        (a, b) for i, a in enumerate(score) if label[i] for j, b in enumerate(score) if not label[j]
    ]
    return sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs)


def auc_pr(label: Sequence[int], score: Sequence[float]) -> float:
    total = previous = 0.0
    for _, (precision, recall) in curve(label, score, "point"):
        total += (recall - previous) * precision
        previous = recall
    return total


def range_auc(
    label: Sequence[int], score: Sequence[float], window: int, thresholds: int
) -> tuple[float, float]:
    """One window: grow the events, then walk down the thresholds."""
    n, h, events = len(label), window // 2, ranges(label)
    grown = [float(value) for value in label]
    for s, e in events:
        for d in range(1, h + 1):
            for row in (s - d, e - 1 + d):
                if 0 <= row < n:
                    grown[row] += math.sqrt(1 - d / window)
    grown = [min(1.0, value) for value in grown]
    zones: list[list[int]] = []
    for s, e in events:
        if zones and s - h <= zones[-1][1]:
            zones[-1][1] = e - 1 + h
        else:
            zones.append([s - h, e - 1 + h])
    levels = sorted(score, reverse=True)
    tpr, fpr, precision = [0.0], [0.0], []
    for k in range(thresholds):
        level = levels[int(k * (n - 1) / (thresholds - 1))]
        alarm = [value >= level for value in score]
        true = sum(g for g, a in zip(grown, alarm, strict=True) if a)
        beyond = sum(g for g, a, y in zip(grown, alarm, label, strict=True) if a and not y)
        expected = (sum(label) + sum(label) + beyond) / 2
        touched = sum(any(alarm[max(s, 0) : e + 1]) for s, e in zones) / len(zones)
        tpr.append(min(true / expected, 1.0) * touched)
        fpr.append((sum(alarm) - true) / (n - expected))
        precision.append(true / sum(alarm))
    pr = sum((b - a) * p for a, b, p in zip(tpr[:-1], tpr[1:], precision, strict=True))
    tpr.append(1.0)
    fpr.append(1.0)
    roc = sum((fpr[i + 1] - fpr[i]) * (tpr[i + 1] + tpr[i]) / 2 for i in range(len(tpr) - 1))
    return roc, pr


def naive_period_window(series: Sequence[float]) -> int:
    """TSB-AD's window: every lag summed up, then the highest local maximum."""
    rows = [float(value) for value in series][:20_000]
    n = len(rows)
    mean = sum(rows) / n
    power = sum((value - mean) ** 2 for value in rows)
    if power == 0:
        return 125
    lags = [
        sum((rows[t] - mean) * (rows[t + lag] - mean) for t in range(n - lag)) / power
        for lag in range(3, min(n, 401))
    ]
    peaks = [i for i in range(1, len(lags) - 1) if lags[i] > max(lags[i - 1], lags[i + 1])]
    highest = max(peaks, key=lambda i: lags[i], default=0)
    return highest + 3 if 3 <= highest <= 300 else 125


def localized(truth: Sequence[int], scores: Sequence[float], percent: int) -> tuple[float, float]:
    """Hit rate and NDCG of one row: the mean over every order of the ties."""
    d, g = len(truth), sum(truth)
    k = min(d, math.ceil(g * percent / 100 - 1e-9))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(g))
    hits, gains, orders = 0.0, 0.0, 0
    for order in itertools.permutations(range(d)):
        if any(scores[a] < scores[b] for a, b in itertools.pairwise(order)):
            continue
        orders += 1
        hits += sum(truth[j] for j in order[:k]) / g
        gains += sum(truth[j] / math.log2(rank + 2) for rank, j in enumerate(order[:k])) / ideal
    return hits / orders, gains / orders


def incidents(alarm: Sequence[bool], gap: int) -> list[tuple[int, int]]:
    """Alarming rows with at most ``gap`` quiet ones between them, as half-open ranges."""
    found: list[tuple[int, int]] = []
    for row in (at for at, on in enumerate(alarm) if on):
        if found and row - found[-1][1] <= gap:
            found[-1] = (found[-1][0], row + 1)
        else:
            found.append((row, row + 1))
    return found


def judged_incidents(
    label: Sequence[bool], alarm: Sequence[bool], gap: int, widening: int
) -> tuple[int, int, int, int, float | None]:
    """Incidents, true ones, events found, normal rows in incidents, mean delay."""
    near = [any(label[max(0, row - widening) : row + widening + 1]) for row in range(len(label))]
    found = incidents(alarm, gap)
    true = [(s, e) for s, e in found if 2 * sum(near[s:e]) >= e - s]
    delays = []
    for first, last in incidents(label, 0):
        begins = [s for s, e in true if s < last and e > first]
        if begins:
            delays.append(max(min(begins) - first, 0))
    normal = sum(not label[row] for s, e in found for row in range(s, e))
    mean = sum(delays) / len(delays) if delays else None
    return len(found), len(true), len(delays), normal, mean
