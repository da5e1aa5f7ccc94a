"""Take the pictures of the PBC pages that the guide shows: ``make screenshots``."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from rootcausal import RCI, RCISurvival
from rootcausal.data import load_pbc
from rootcausal.files.writing import write_tables

IMAGES = Path(__file__).parent / "img"
SCREENS = {"desktop": {"width": 1100, "height": 900}, "phone": {"width": 390, "height": 844}}
PATIENT = 10
COLOURS = 256


def write_page(path: Path) -> None:
    cohort = load_pbc()
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    model = RCI(knowledge=cohort.knowledge).fit(table, cohort.y).bootstrap(200, n_jobs=2)
    model.set_labels(cohort.labels)
    model.report(table, path, y=cohort.y, ids=cohort.ids, units=cohort.units, target=cohort.target_name)


def write_page_of_times(path: Path) -> None:
    cohort = load_pbc(follow_up=True)
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    model = RCISurvival(horizon=5, knowledge=cohort.knowledge).fit(table, cohort.years, cohort.y)
    model.bootstrap(200, n_jobs=2).set_labels(cohort.labels)
    units = cohort.units | {"time": "years"}
    model.report(table, path, cohort.years, cohort.y, cohort.ids, units=units, target="death")


def save(picture: bytes, path: Path) -> None:
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS)
    small.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def take_the_app(browser: Browser, folder: Path) -> None:
    """Take what the app asks of PBC."""
    table = folder / "pbc.csv"
    write_tables({table: load_pbc().to_frame()}, {})
    command = [sys.executable, "-m", "rootcausal", "app", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        page = browser.new_page(viewport={"width": 1000, "height": 1320})
        page.goto(running.stdout.readline().split()[-1])
        page.locator("#file").set_input_files(table)
        page.get_by_label("died", exact=True).check(timeout=60_000)
        page.get_by_label("age: comes first: nothing here causes it").check(timeout=60_000)
        save(page.screenshot(), IMAGES / "app.png")
        page.locator("#end").click()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file, page_of_times = Path(folder) / "pbc.html", Path(folder) / "times.html"
        write_page(page_file)
        write_page_of_times(page_of_times)
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for screen, viewport in SCREENS.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport=viewport, color_scheme=scheme)
                page = context.new_page()
                for view in ("patient", "cohort", "graph", "about"):
                    page.goto("about:blank")
                    page.goto(f"{page_file.as_uri()}#{view}/{PATIENT}")
                    page.wait_for_selector("html[data-ready]")
                    save(page.screenshot(full_page=True), IMAGES / f"{view}-{screen}-{scheme}.png")
                    if (view, screen, scheme) == ("patient", "desktop", "light"):
                        save(page.screenshot(), IMAGES / "page.png")
                if (screen, scheme) == ("desktop", "light"):
                    page.goto(f"{page_of_times.as_uri()}#patient/{PATIENT}")
                    page.wait_for_selector("html[data-ready]")
                    save(page.screenshot(full_page=True), IMAGES / "times.png")
                context.close()
        take_the_app(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
