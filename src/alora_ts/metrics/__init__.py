"""Detection and localization metrics: numpy in, numbers out."""

from alora_ts.metrics.affiliation import Affiliation, affiliation
from alora_ts.metrics.auc import auc_pr, auc_roc
from alora_ts.metrics.curves import at_threshold, best_f1, curve
from alora_ts.metrics.localization import (
    Localization,
    by_segment,
    hit_rate,
    ips,
    localization,
    ndcg,
)
from alora_ts.metrics.point import event_based, point, point_adjusted
from alora_ts.metrics.results import BestF1, Curve, PrecisionRecall

__all__ = [
    "Affiliation",
    "BestF1",
    "Curve",
    "Localization",
    "PrecisionRecall",
    "affiliation",
    "at_threshold",
    "auc_pr",
    "auc_roc",
    "best_f1",
    "by_segment",
    "curve",
    "event_based",
    "hit_rate",
    "ips",
    "localization",
    "ndcg",
    "point",
    "point_adjusted",
]
