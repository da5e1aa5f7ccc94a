"""Is a row said to be unlike those that RCI learned from? Each fault of the light tunnel, kept from the fit.

    python benchmarks/unseen_faults.py FOLDER

FOLDER holds the files of the light tunnel (docs/real-systems.md says where they are from). Each model has
1,000 reference rows and 50 cases of every other fault; asked about are 200 rows of the fault that it never
had, 200 others of each fault that it had, and 4,000 others of the reference.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from rootcausal import RCI
from rootcausal.systems.light_tunnel import COLUMNS, LightTunnelUnseen

SEED = 0


def flagged(model: RCI, rows: np.ndarray) -> float:
    """Share of rows that are said to be unlike those of the fit."""
    found = model.explain(pd.DataFrame(rows, columns=COLUMNS)).unlike_most
    return float(np.mean([name is not None for name in found]))


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    trials = list(LightTunnelUnseen().trials(folder, SEED))
    rows = {trial.faults[0]: trial.rows for trial in trials}
    print("| mechanism | fault never seen | rows flagged | of faults seen | of the reference |")
    print("| --- | --- | --- | --- | --- |")
    for mechanism in ("linear", "auto"):
        every = []
        for trial in trials:
            fault = trial.faults[0]
            X = pd.DataFrame(np.vstack([trial.reference, trial.cases]), columns=COLUMNS)
            y = np.repeat([0, 1], [len(trial.reference), len(trial.cases)])
            model = RCI(mechanism=mechanism).fit(X, y)
            seen = np.vstack([others for other, others in rows.items() if other != fault])
            shares = [flagged(model, some) for some in (trial.rows, seen, trial.fresh)]
            every.append(shares)
            print(
                f"| {mechanism} | {fault} | " + " | ".join(f"{share:.3f}" for share in shares) + " |",
                flush=True,
            )
        print(
            f"| {mechanism} | mean | " + " | ".join(f"{share:.3f}" for share in np.mean(every, axis=0)) + " |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
