"""Size of a large page, and how long a browser takes until it can be used.

    python benchmarks/page.py --rows 20000 --variables 100 --repeats 5

Time to interactive: from the start of the navigation until the first patient is drawn and the page answers.
It is the best of several openings in a fresh tab of the system's Chromium, headless, from a local file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from rootcausal import RCI


def write_page(rows: int, variables: int, resamples: int, out: Path) -> float:
    random = np.random.default_rng(0)
    X = random.laplace(size=(rows, variables))
    for column in range(1, variables):
        X[:, column] += 0.4 * X[:, column - 1]
    y = (X[:, :5].sum(axis=1) + random.logistic(size=rows) > 0).astype(int)
    model = RCI(variant="plus").fit(X[:2000], y[:2000])
    if resamples:
        model.bootstrap(resamples)
    began = time.perf_counter()
    model.report(X, out, ids=[f"patient-{row:06}" for row in range(rows)], target="died")
    return time.perf_counter() - began


def time_view(page: Page, tab: str, drawn: str) -> float:
    began = time.perf_counter()
    page.locator(f"#tab-{tab}").click()
    page.wait_for_selector(drawn)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--variables", type=int, default=100)
    parser.add_argument("--bootstrap", type=int, default=0, help="resamples, for a page with intervals")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        seconds = write_page(options.rows, options.variables, options.bootstrap, path)
        size = path.stat().st_size / 1e6
        print(f"{options.rows} × {options.variables}: {size:.1f} MB, written in {seconds:.1f} s")
        flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        times = []
        for _ in range(options.repeats):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            times.append(page.evaluate("performance.getEntriesByName('ready')[0].startTime") / 1e3)
            cohort = time_view(page, "cohort", "#heat svg")
            graph = time_view(page, "graph", "#arcs svg")
            page.close()
        browser.close()
    spread = ", ".join(f"{seconds:.2f}" for seconds in sorted(times))
    print(f"time to interactive: best {min(times):.2f} s of {spread}")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    print(f"then the cohort view {cohort:.2f} s, the graph view {graph:.2f} s")


if __name__ == "__main__":
    main()
