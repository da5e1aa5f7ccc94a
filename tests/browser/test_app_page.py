"""The page of ``rootcausal app`` in a real browser: from a file to its patients, and what is refused."""

import re
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import rootcausal
from rootcausal.app import serve
from rootcausal.cli.browser import CommandLine
from rootcausal.data import load_pbc, simulate
from rootcausal.files.writing import write_tables

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
HOSTILE = ["<img src=x onerror=alert(1)>", "=cmd()", "a,b", "\u202eevil", "-x", "'; drop", "n" * 200]
SECONDS = 120_000


@pytest.fixture(scope="module")
def address():
    found, there = [], threading.Event()

    def ready(address, _):
        found.append(address)
        there.set()

    thread = threading.Thread(target=serve, args=(CommandLine(), ready), daemon=True)
    thread.start()
    assert there.wait(10)
    yield found[0]
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{found[0]}end", b"{}", method="POST")).close()
    thread.join(20)


@pytest.fixture
def app(context_of, address, request):
    """The page in a fresh tab; a complaint of the browser, a dialog, or a request elsewhere is a failure."""
    page = context_of(getattr(request, "param", {})).new_page()
    complaints, asked = [], []
    page.on("console", lambda one: one.type in ("error", "warning") and complaints.append(one.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto(address)
    page.complaints = complaints
    yield page
    page.close()
    # A refusal is an answer like any other; the browser logs it.
    assert [text for text in complaints if "422" not in text and "413" not in text] == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:", "about:"))] == []


@pytest.fixture(scope="module")
def pbc(tmp_path_factory):
    path = tmp_path_factory.mktemp("app") / "pbc.csv"
    write_tables({path: load_pbc().to_frame()}, {})
    return path


def opened(page, path):
    page.locator("#file").set_input_files(path)
    page.wait_for_selector("#outcome:not([hidden])", timeout=SECONDS)


def asked(page, name):
    page.get_by_label(name, exact=True).check()
    page.wait_for_selector("#questions:not([hidden])", timeout=SECONDS)


def fitted(page):
    page.locator("#fit").click()
    page.wait_for_selector("#result:not([hidden])", timeout=SECONDS)


def saved(page, link):
    with page.expect_download() as download:
        page.locator(link).click()
    return download.value


def test_from_a_file_to_the_page_of_a_patient(app, pbc, tmp_path):
    opened(app, pbc)
    assert app.locator("#table-facts").inner_text() == "pbc.csv: 258 rows, 12 columns."
    asked(app, "died")
    assert app.get_by_label("1 (111 rows)").is_checked()
    assert app.get_by_label("id: names the patients").is_checked()
    first = app.get_by_label("age: comes first: nothing here causes it")
    assert not first.is_checked()
    first.check()
    assert app.get_by_label("What age is for").input_value() == "--first"
    app.get_by_label("What chol is for").select_option("--drop")
    fitted(app)
    assert app.evaluate("document.activeElement.id") == "result"
    assert "given: age first" in app.locator("#checks").text_content()
    assert re.search(r"\d+ checks of the assumptions", app.locator("#checks").inner_text())
    inside = app.frame_locator("#page")
    assert inside.locator("h2:visible").first.inner_text() == "Patient 1"
    line = app.locator("#line").inner_text()
    assert line == (
        "rootcausal report pbc.csv --target died --first age --drop chol --id id --bootstrap 200 "
        "--save-model model.rci --out report.html"
    )
    for link, name in (
        ("#save-page", "report.html"),
        ("#save-model", "model.rci"),
        ("#save-script", "rootcausal.py"),
    ):
        download = saved(app, link)
        assert download.suggested_filename == name
        download.save_as(tmp_path / name)
    model = rootcausal.load(tmp_path / "model.rci")
    assert "chol" not in model.feature_names_in_ and len(model.bootstrap_.models) == 200
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    compile((tmp_path / "rootcausal.py").read_text(encoding="utf-8"), "rootcausal.py", "exec")
    # The page of the patients is a stranger to the app: it may ask for nothing, of nobody.
    refused = (
        "async () => { try { await fetch(location.href); return 'asked'; } catch { return 'refused'; } }"
    )
    (frame,) = [one for one in app.frames if "report.html" in one.url]
    assert frame.evaluate("() => window.origin") == "null" and frame.evaluate(refused) == "refused"
    app.complaints.clear()  # of what was just tried


def test_what_is_asked_is_answered_before_a_fit(app, tmp_path):
    cohort = simulate(n_samples=120, n_variables=4, random_state=0)
    path = tmp_path / "labels.csv"
    labels = [("blue", "green")[one] for one in cohort.y]
    code = [999 if row % 10 == 0 else value for row, value in enumerate(cohort.X[:, 1].round(2))]
    write_tables({path: pa.table({"a": cohort.X[:, 0], "b": code, "c": cohort.X[:, 2], "state": labels})}, {})
    opened(app, path)
    asked(app, "state")
    assert app.locator("#fit").is_disabled()
    assert app.locator("#why-not").inner_text() == "Say first which label of state means the disease."
    app.get_by_label("green (").check()
    assert app.locator("#fit").is_enabled()
    assert app.get_by_label("999 means missing").is_checked()
    with app.expect_request("**/fit") as sent:
        app.locator("#fit").click()
    options = sent.value.post_data_json["options"]
    wanted = [["--target", "state"], ["--positive", "green"], ["--na", "999"], ["--bootstrap", "200"]]
    assert options == wanted


def times(folder):
    cohort = simulate(n_samples=150, n_variables=4, random_state=1, outcome="survival")
    columns = {f"x{k}": column for k, column in enumerate(cohort.X.T)}
    columns |= {"futime": cohort.time, "died": cohort.event.astype(int), "relapse_time": 2 * cohort.time}
    write_tables({folder / "times.csv": pa.table(columns)}, {})
    return folder / "times.csv"


def test_what_is_known_is_chosen_and_asked_once(app, tmp_path):
    opened(app, times(tmp_path))
    asked(app, "died, with the time in futime")
    assert app.get_by_label("1 (96 rows)").is_checked()
    assert app.locator("#findings input").count() == len(
        set(app.locator("#findings .choice").all_inner_texts())
    )
    out = [text.partition(":")[0] for text in app.locator("#findings .choice").all_inner_texts()]
    assert out.count("relapse_time") == 1


@pytest.mark.slow
def test_times_are_seen_and_told(app, tmp_path):
    opened(app, times(tmp_path))
    asked(app, "died, with the time in futime")
    app.locator("#outcome-more summary").click()
    app.get_by_label("Unit of the times").fill("years")
    app.get_by_label("Unit of the times").press("Tab")
    app.locator("#intervals").uncheck()
    fitted(app)
    assert "--time futime --event died --time-unit years" in app.locator("#line").inner_text()
    assert "event: died = 1 (96 events in 150 patients)" in app.locator("#checks").text_content()


def test_what_cannot_be_read_is_said(app, tmp_path, pbc):
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "broken.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe" * 40)
    for name, said in (
        ("photo.png", "'photo.png' does not end like a table that can be read"),
        ("broken.csv", "'broken.csv'"),
    ):
        app.locator("#file").set_input_files(tmp_path / name)
        app.locator("#error", has_text=said).wait_for(timeout=SECONDS)
        assert "Traceback" not in app.locator("#error").inner_text()
        assert app.locator("#outcome").is_hidden()
    opened(app, pbc)
    assert app.locator("#error").is_hidden()


def test_hostile_names_stay_text(app, tmp_path):
    cohort = simulate(n_samples=120, n_variables=len(HOSTILE) + 1, random_state=0)
    name = "<img src=x onerror=alert(2)>"
    labels = [("<b>ill</b>", "<script>alert(3)</script>")[one] for one in cohort.y]
    table = pa.table([*cohort.X.T, pa.array(labels)], names=[*HOSTILE, name])
    path = tmp_path / "<svg onload=alert(4)>.parquet"
    write_tables({path: table}, {})
    opened(app, path)
    assert "_svg onload=alert(4)_.parquet: 120 rows" in app.locator("#table-facts").inner_text()
    asked(app, name)
    app.get_by_label("<script>alert(3)</script> (").check()
    app.locator("tr[data-column='-x'] select").first.select_option("--drop")
    app.locator("tr[data-column='a,b'] select").first.select_option("--first")
    app.locator("#intervals").uncheck()
    fitted(app)
    app.frame_locator("#page").locator("h2:visible").first.wait_for()
    assert app.locator("main img, main script, main svg, main b").count() == 0
    assert "given: a,b first" in app.locator("#checks").text_content()


@pytest.mark.slow
def test_a_table_of_50_mb(app, tmp_path):
    cohort = simulate(n_samples=130_000, n_variables=21, random_state=0)
    path = tmp_path / "large.csv"
    columns = {f"x{k}": column for k, column in enumerate(cohort.X.T)}
    write_tables({path: pa.table({**columns, "d": cohort.y})}, {})
    assert path.stat().st_size > 45e6
    opened(app, path)
    assert "130,000 rows" in app.locator("#table-facts").inner_text()
    asked(app, "d")
    app.locator("#intervals").uncheck()
    fitted(app)
    app.frame_locator("#page").locator("h2:visible").first.wait_for(timeout=SECONDS)


def test_by_keyboard_alone(app, pbc):
    app.keyboard.press("Tab")
    assert app.evaluate("document.activeElement.textContent") == "Skip to the content"
    app.locator("#file").focus()
    app.locator("#file").set_input_files(pbc)
    app.wait_for_selector("#outcome:not([hidden])", timeout=SECONDS)

    def tab_to(wanted):
        for _ in range(80):
            app.keyboard.press("Tab")
            if app.evaluate(f"document.activeElement.matches({wanted!r})"):
                return
        raise AssertionError(f"no way to {wanted} by keyboard")

    tab_to("#candidates input")
    app.keyboard.press("Space")
    app.wait_for_selector("#questions:not([hidden])", timeout=SECONDS)
    tab_to("#findings input")
    app.keyboard.press("Space")
    assert app.get_by_label("age: comes first: nothing here causes it").is_checked()
    tab_to("#intervals")
    app.keyboard.press("Space")
    tab_to("#fit")
    app.keyboard.press("Enter")
    tab_to("#stop")
    app.keyboard.press("Enter")
    app.locator("#why-not", has_text="Stopped").wait_for(timeout=SECONDS)


def test_everybody_can_use_it(app, pbc):
    """axe finds nothing, in light and dark, at the beginning and with all of it open; a phone shows all."""
    rules = AXE.read_text(encoding="utf-8")

    def found():
        # Scripts from elsewhere may not run in the page: the browser itself does it.
        app.evaluate(rules)
        violations = app.evaluate(
            "axe.run('main', {iframes: false, resultTypes: ['violations']}).then(found => found.violations)"
        )
        return [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in violations]

    assert found() == []
    opened(app, pbc)
    asked(app, "died")
    for summary in app.locator("main summary:visible").all():
        summary.click()
    for scheme in ("light", "dark"):
        app.emulate_media(color_scheme=scheme)
        assert found() == []
    app.set_viewport_size({"width": 390, "height": 844})
    whole, shown = app.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert whole <= shown and found() == []


def test_closing_says_so(context_of):
    found, there = [], threading.Event()
    thread = threading.Thread(
        target=serve, args=(CommandLine(), lambda address, _: (found.append(address), there.set()))
    )
    thread.start()
    assert there.wait(10)
    page = context_of({}).new_page()
    page.goto(found[0])
    page.locator("#end").click()
    page.get_by_text("The app has ended").wait_for()
    thread.join(10)
    assert not thread.is_alive()
    page.close()
