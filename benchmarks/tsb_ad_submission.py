"""ALoRa in the form that TSB-AD's leaderboard asks for.

TSB-AD takes one file for a method, ``Run_<method>.py``: a class with ``fit`` and
``decision_function``, a function ``run_<method>`` that returns a score between 0 and 1 for each
row, its hyper-parameters, and a main part that runs one series. This is that file; copy it as
``benchmark_exp/Run_ALoRa.py`` into a checkout of https://github.com/TheDatumOrg/TSB-AD, where it
needs ``pip install alora-ts`` and nothing else.

    python Run_ALoRa.py --data_direc ../Datasets/TSB-AD-M/ --filename 057_SMD_….csv

The names ``run_ALoRa``, ``data_train``, ``data_test`` and those of the arguments are TSB-AD's.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alora_ts import ALoRa
from alora_ts.bench.covering import covering_mean

ALoRa_HP: dict[str, Any] = {}
"""The defaults, the same for every series: nothing was tuned on TSB-AD."""

SEED = 2024  # TSB-AD's


class ALoRaDetector:
    """ALoRa as a semi-supervised detector of TSB-AD.

    Parameters
    ----------
    **HP
        Parameters of :class:`alora_ts.ALoRa`.
    """

    def __init__(self, **HP: Any) -> None:
        self.HP = HP

    def fit(self, X: NDArray[np.float64], y: object = None) -> ALoRaDetector:
        """Learn from the training part, (n, d); labels are ignored."""
        del y
        self.model_ = ALoRa().set_params(**{"seed": SEED, **self.HP}).fit(X, progress=False)
        return self

    def decision_function(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """A score for every row of (n, d); higher is more anomalous.

        ALoRa scores the window that ends at a row. As with TSB-AD's own window methods, a row gets
        the mean of all windows that hold it.
        """
        return covering_mean(self.model_.score(X, progress=False), self.model_.window, None)


def run_ALoRa(  # noqa: N802  TSB-AD calls run_<method>
    data_train: NDArray[np.float64], data_test: NDArray[np.float64], **HP: Any
) -> NDArray[np.float64]:
    """Learn from the training part and score the whole series.

    Parameters
    ----------
    data_train : ndarray of shape (n, d)
        The first rows of the series.
    data_test : ndarray of shape (N, d)
        All of it.
    **HP
        Parameters of :class:`alora_ts.ALoRa`.

    Returns
    -------
    ndarray of shape (N,)
        From 0 to 1. The scale is changed, the order is not, so that no metric of TSB-AD changes
        but those at its fixed threshold.
    """
    score = ALoRaDetector(**HP).fit(data_train).decision_function(data_test)
    span = score.max() - score.min()
    scaled: NDArray[np.float64] = (score - score.min()) / (span if span > 0 else 1.0)
    return scaled


def read_series(
    path: Path,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """The training part, the whole series and its labels, from one of TSB-AD's files."""
    table = pl.read_csv(path, infer_schema_length=None).cast(pl.Float64).drop_nulls().drop_nans()
    data = table[:, :-1].to_numpy()
    label = table["Label"].to_numpy().astype(np.int64)
    train_rows = int(path.stem.split("_")[-3])
    return data[:train_rows], data, label


def main() -> None:
    """Run one series; with TSB-AD installed, print its metrics."""
    parser = argparse.ArgumentParser(description="Running ALoRa")
    parser.add_argument("--filename", default="057_SMD_id_1_Facility_tr_4529_1st_4629.csv")
    parser.add_argument("--data_direc", default="../Datasets/TSB-AD-M/")
    parser.add_argument("--AD_Name", default="ALoRa")
    args = parser.parse_args()
    data_train, data, label = read_series(Path(args.data_direc) / args.filename)
    output = run_ALoRa(data_train, data, **ALoRa_HP)

    from TSB_AD.evaluation.metrics import get_metrics
    from TSB_AD.utils.slidingWindows import find_length_rank

    window = find_length_rank(data[:, 0].reshape(-1, 1), rank=1)
    pred = output > output.mean() + 3 * output.std()
    print("Evaluation Result: ", get_metrics(output, label, slidingWindow=window, pred=pred))


if __name__ == "__main__":
    main()
