"""Tables in, tables out; preparation; windows."""

from __future__ import annotations

from alora_ts.data.form import FileForm
from alora_ts.data.prepare import Preparation
from alora_ts.data.prepared import Prepared
from alora_ts.data.report import Gap, PreparationReport
from alora_ts.data.table import Table, as_table
from alora_ts.data.windows import WindowPlan, plan_windows, window_ends, window_view

__all__ = [
    "FileForm",
    "Gap",
    "Preparation",
    "PreparationReport",
    "Prepared",
    "Table",
    "WindowPlan",
    "as_table",
    "plan_windows",
    "window_ends",
    "window_view",
]
