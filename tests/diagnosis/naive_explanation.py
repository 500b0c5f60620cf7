"""Explanations the slow way: loops over signals and rows, regressions solved one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import chi2

from alora_ts.diagnosis.explanation import Judge
from alora_ts.diagnosis.usual import Usual


def observations(column: list[float], segments: list[int]) -> float:
    """Independent observations of one signal."""
    n = len(column)
    changes = sum(
        column[t] != column[t - 1] and segments[t] == segments[t - 1] for t in range(1, n)
    )
    if changes == 0:
        return 0.0
    mean = sum(column) / n
    centred = [value - mean for value in column]

    def product(lag: int) -> float:
        return math.fsum(centred[t] * centred[t + lag] for t in range(n - lag))

    time = 1.0
    for lag in range(1, n):
        if product(lag) <= 1e-9 * product(0):
            break
        time += 2 * product(lag) / product(0)
    return max(min(changes, n / time), 1.0)


def widening(k: float) -> float:
    """How much wider a spread from k observations may be."""
    return 1.0 if math.isinf(k) else math.sqrt(k / chi2.ppf(0.005, k))


def plain_scale(usual: Usual, j: int) -> float:
    """One deviation of a signal from its usual level."""
    k = usual.observed[j]
    return float(usual.spread[j] * widening(k)) if k > 0 else 1.0


def judged(
    usual: Usual, row: list[float], aside: list[bool], j: int, limit: float
) -> tuple[float, float]:
    """What a signal of one row would have been, by a regression, and one deviation from it."""
    d = len(row)
    covariance = usual.covariance.astype(float)

    def regress(others: list[int]) -> tuple[Any, float]:
        matrix = covariance[np.ix_(others, others)] + usual.ridge[0] * np.eye(len(others))
        weights = np.linalg.solve(matrix, covariance[others, j])
        return weights, covariance[j, j] + usual.ridge[0] - float(weights @ covariance[others, j])

    judges = [i for i in range(d) if not aside[i]]
    if not usual.known[0] or not judges:
        return float(usual.centre[j]), plain_scale(usual, j)
    others = [i for i in judges if i != j]
    weights, left_open = regress(others)
    seen = [min(max(row[i], -limit), limit) - usual.centre[i] for i in others]
    level = float(usual.centre[j] + usual.trust[j] * np.dot(weights, seen))
    _, by_all = regress([i for i in range(d) if i != j])
    size = usual.size[j] * math.sqrt(max(left_open / by_all, 1.0))
    size = min(size, max(usual.spread[j], usual.size[j]))
    k = usual.observed[j]
    return level, float(size * widening(k)) if k > 0 else 1.0


def explain(
    judge: Judge, values: np.ndarray, surprise: np.ndarray | None, part: float = 0.0
) -> dict[str, Any]:
    """Culprits, shares, who was set aside, and certainties."""
    usual, d = judge.usual, values.shape[1]
    rows = judge.standardiser.apply(values).astype(float).tolist()
    n, known = len(rows), bool(usual.known[0])
    moved = [k > 0 for k in usual.observed]

    def beyond(j: int) -> bool:
        furthest = max(max(row[j] - usual.high[j], usual.low[j] - row[j]) for row in rows)
        return bool(furthest > (2 * usual.spread[j] if moved[j] else 0.05))

    left = [beyond(j) for j in range(d)]
    aside = [
        sum(abs(row[j] - usual.centre[j]) for row in rows) / n / plain_scale(usual, j) > 1.5
        if moved[j]
        else left[j]
        for j in range(d)
    ]

    def look() -> tuple[list[list[float]], list[float]]:
        told = [[judged(usual, row, aside, j, judge.limit) for j in range(d)] for row in rows]
        off = [
            [value - wanted for value, (wanted, _) in zip(row, one, strict=True)]
            for row, one in zip(rows, told, strict=True)
        ]
        return off, [deviation for _, deviation in told[0]]

    def size(j: int) -> float:
        return math.sqrt(sum((row[j] / scale[j]) ** 2 for row in off) / n)

    off, scale = look()
    for _ in range(10 if known else 0):
        sizes = {j: size(j) for j in range(d) if moved[j] and not aside[j]}
        strongest = max(sizes.values(), default=0.0)
        more = [j for j, own in sizes.items() if own > max(3, part * strongest)]
        if not more:
            break
        for j in more:
            aside[j] = True
        off, scale = look()
    evidence = []
    for j in range(d):
        column = [row[j] for row in off]
        level = sum(abs(one) for one in column) / n
        spread = min(np.std(column[: n - n // 2]), np.std(column[n // 2 :]))
        evidence.append(math.log1p(level / scale[j]) + math.log1p(spread / scale[j]) / 2)
    peers = [evidence[j] for j in range(d) if left[j] and moved[j]]
    as_peers = float(np.median(peers)) if peers else math.log1p(3)
    for j in range(d):
        if not moved[j]:
            outside = [max(row[j] - usual.high[j], usual.low[j] - row[j]) > 0.05 for row in rows]
            evidence[j] = as_peers * sum(outside) / n
    guilty = [aside[j] and (left[j] or (known and size(j) > 3)) for j in range(d)]
    weight, normal = evidence, 1.8 * math.sqrt(2)
    if known and judge.mechanisms is not None and surprise is not None:
        weight = []
        for j in range(d):
            steps = min(judge.window - judge.mechanisms.lags, len(surprise))
            unlike = 0.0
            for first in range(len(surprise) - steps + 1):
                column = surprise[first : first + steps, j]
                excess = column.mean() ** 2 + column.var() - 1
                excess -= math.log(max(column.var(), 0.01))
                unlike += steps / 2 * excess / (len(surprise) - steps + 1)
            unlike = max(unlike / judge.mechanisms.usual[j], 0.0)
            weight.append(math.log1p(unlike) + evidence[j] / 2)
        normal = 2 * math.sqrt(normal)
    if known:
        heaviest = max(weight)
        guilty = [
            guilty[j] or (weight[j] > heaviest - 1e-9 and math.exp(weight[j]) > normal)
            for j in range(d)
        ]
    if not any(guilty):
        named = left if any(left) else aside
        guilty = named if any(named) else [one > max(weight) - 1e-9 for one in weight]
    excess = [max(math.exp(one) - normal, 0.0) for one in weight]
    total = sum(excess)
    share = [one / total if total else 1 / d for one in excess]
    named = [guilty[j] and (left[j] or share[j] >= 0.01) for j in range(d)]
    guilty = named if any(named) else guilty
    return {
        "culprits": sorted((j for j in range(d) if guilty[j]), key=lambda j: (-weight[j], j)),
        "share": share,
        "aside": aside,
        "weight": weight,
        "normal": normal,
    }


def certainty(found: dict[str, Any]) -> float:
    """Of the first culprit: against the others, and one signal that behaves."""
    powers = [math.exp(found["weight"][j]) ** 1.5 for j in found["culprits"]]
    return powers[0] / (sum(powers) + found["normal"] ** 1.5)


def beyond(judge: Judge, values: np.ndarray) -> np.ndarray:
    """What lies outside the network's limit, in normal sizes of surprises."""
    assert judge.mechanisms is not None
    rows = judge.standardiser.apply(values).astype(float)
    result = np.zeros(rows.shape)
    for at, row in enumerate(rows):
        for j, value in enumerate(row):
            if abs(value) > judge.limit and judge.usual.observed[j] > 0:
                outside = value - math.copysign(judge.limit, value)
                result[at, j] = outside / judge.mechanisms.size[j]
    return result


def lead(judge: Judge, found: dict[str, Any], values: np.ndarray) -> None:
    """Let the one culprit that was away before all others weigh 1 more, if relations are known."""
    if not judge.usual.known[0]:
        return
    rows = judge.standardiser.apply(values).astype(float).tolist()

    def away(row: list[float], j: int) -> bool:
        wanted, deviation = judged(judge.usual, row, found["aside"], j, judge.limit)
        return abs(row[j] - wanted) / deviation > 3

    since = {}
    for j in found["culprits"]:
        course = [away(row, j) for row in rows]
        lasting = [one and all(course[at : at + 2]) for at, one in enumerate(course)]
        if any(lasting):
            since[j] = lasting.index(True)
    firsts = [j for j, row in since.items() if row == min(since.values())]
    if len(firsts) != 1 or len(found["culprits"]) < 2:
        return
    found["weight"][firsts[0]] += 1
    weight, d = found["weight"], len(found["weight"])
    excess = [max(math.exp(one) - found["normal"], 0.0) for one in weight]
    found["share"] = [one / sum(excess) if sum(excess) else 1 / d for one in excess]
    found["culprits"] = sorted(found["culprits"], key=lambda j: (-weight[j], j))


def telling(judge: Judge, values: np.ndarray, before: int) -> list[int]:
    """The rows that explain an incident."""
    usual, d = judge.usual, values.shape[1]
    rows = judge.standardiser.apply(values).astype(float).tolist()
    aside = explain(judge, values[before:], None, part=0.5)["aside"]

    def says(row: list[float]) -> float:
        total = 0.0
        for j in range(d):
            if usual.observed[j] > 0:
                wanted, deviation = judged(usual, row, aside, j, judge.limit)
                away = abs(row[j] - wanted) / deviation
                total += max(away - 3, 0.0)
        return total

    reach = 0 if judge.mechanisms is None else judge.mechanisms.lags
    first = max(before - reach, 0)
    said = {at: says(rows[at]) for at in range(first, len(rows))}
    if max(said[at] for at in range(before, len(rows))) <= 3:
        return list(range(before, len(rows)))
    return [at for at in said if said[at] >= 0.1 * max(said.values())]
