"""A real browser for the page: the system's Chromium, driven by Playwright."""

import json
import os
import shutil
from dataclasses import dataclass, field
from functools import cache

import pytest

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",  # tabs share one process, which need not be started for each
]


def missing(reason):
    # Where the browser is promised (the checks before a merge), its absence is a failure.
    if os.environ.get("ROOTCAUSAL_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        missing("no Chromium on this machine: install the system package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("no Playwright: pip install playwright")
    # Chromium refuses its sandbox to root.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*sandbox, *FLAGS])
        yield started
        started.close()


@dataclass
class Watched:
    """A page, and what it did that it must never do."""

    page: object
    complaints: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def open(self, path, address=""):
        self.page.goto("about:blank")
        self.page.goto(f"{path.as_uri()}{address}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def turn_to(self, address):
        """Another place of the page that is open, as a link leads there: nothing is loaded again."""
        self.page.goto(f"{self.page.url.partition('#')[0]}{address}")
        return self.page


@pytest.fixture(scope="session")
def context_of(browser):
    """One context a set of options: the page keeps nothing there, and a tab opens sooner than a window."""

    @cache
    def opened(options):
        context = browser.new_context(**json.loads(options))
        context.new_page()  # a window without a tab would close
        return context

    return lambda options: opened(json.dumps(options, sort_keys=True))


@pytest.fixture
def watched(context_of, request):
    """A fresh tab; at the end of the test, any console error, dialog or request is a failure."""
    page = context_of(getattr(request, "param", {})).new_page()
    watched = Watched(page)
    page.on(
        "console",
        lambda message: message.type in ("error", "warning") and watched.complaints.append(message.text),
    )
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (watched.complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda sent: watched.requests.append(sent.url))
    yield watched
    page.close()
    assert watched.complaints == []
    # What a reader takes along is made in the page: an image of a drawing, and a file of it.
    local = ("file:", "data:image/png", "data:image/svg+xml", "blob:", "about:blank")
    outside = [url for url in watched.requests if not url.startswith(local)]
    assert outside == []
