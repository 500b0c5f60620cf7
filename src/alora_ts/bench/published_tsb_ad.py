"""The numbers that TSB-AD publishes for each of its multivariate evaluation series."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

__all__ = ["published_vus_pr"]


@cache
def published_vus_pr() -> dict[str, dict[str, float]]:
    """VUS-PR by series, then by method, under the names TSB-AD gives both.

    Examples
    --------
    >>> values = published_vus_pr()["002_MSL_id_1_Sensor_tr_500_1st_900"]
    >>> len(values), values["KMeansAD"]
    (23, 0.996066)
    """
    text = (files("alora_ts.bench") / "published_tsb_ad.csv").read_text(encoding="utf-8")
    return {
        row.pop("series"): {method: float(value) for method, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    }
