"""Detection and localization metrics: numpy in, numbers out."""

from alora_ts.metrics.affiliation import Affiliation, affiliation
from alora_ts.metrics.auc import auc_pr, auc_roc
from alora_ts.metrics.curves import at_threshold, best_f1, curve
from alora_ts.metrics.delay import Delay, FalseAlarms, detection_delay, false_alarms
from alora_ts.metrics.evaluation import Evaluation, Measure, evaluate
from alora_ts.metrics.incidents import (
    IncidentCurve,
    IncidentJudgement,
    incident_curve,
    judge_incidents,
)
from alora_ts.metrics.localization import (
    Localization,
    by_segment,
    hit_rate,
    ips,
    localization,
    ndcg,
)
from alora_ts.metrics.period import period_window
from alora_ts.metrics.point import event_based, point, point_adjusted
from alora_ts.metrics.ranges import range_based, tsb_range_f1
from alora_ts.metrics.results import BestF1, Curve, PrecisionRecall
from alora_ts.metrics.vus import Areas, range_auc, vus

__all__ = [
    "Affiliation",
    "Areas",
    "BestF1",
    "Curve",
    "Delay",
    "Evaluation",
    "FalseAlarms",
    "IncidentCurve",
    "IncidentJudgement",
    "Localization",
    "Measure",
    "PrecisionRecall",
    "affiliation",
    "at_threshold",
    "auc_pr",
    "auc_roc",
    "best_f1",
    "by_segment",
    "curve",
    "detection_delay",
    "evaluate",
    "event_based",
    "false_alarms",
    "hit_rate",
    "incident_curve",
    "ips",
    "judge_incidents",
    "localization",
    "ndcg",
    "period_window",
    "point",
    "point_adjusted",
    "range_auc",
    "range_based",
    "tsb_range_f1",
    "vus",
]
