"""The site as a reader has it: in Chromium, from ``file://``, by keyboard, on a phone, in the dark."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tdev_core.site.playground import Playground

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="these tests need Selenium: pip install selenium"
)
# noqa below: what is imported here is there only where Selenium is.
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="there is no Chromium with its driver: apt-get install chromium chromium-driver",
)
deep = pytest.mark.deep  # all but the keyboard's way from the question to the page

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(
    os.environ.get("TDEV_AXE")
    or ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
)
EACH_KIND = (
    "index.html",
    "index.html?q=memory_allocated",
    "api/torch.cuda.memory_allocated.html",
    "api/torch.batch_norm_stats.html",
    "modules/torch.cuda.html",
    "backends/mps.html?route=unsupported",
    "functions/index.html",
    "functions/cuda-operations.html",
    "versions/index.html",
    "versions/2.14-2.15.html",
    "readme.html",
    "docs/guide.html",
    "docs/codemod/is-cuda.html",
    "benchmarks/RESULTS.html",
    "catalog/index.html",
)
PHONE, WIDE = (390, 844), (1280, 900)


class Browser:
    """One Chromium, with what these tests ask of it."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=str(DRIVER))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.base = ""

    def open(self, page: str) -> None:
        self.driver.get(self.base + page)

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> Any:
        """Wait for a script to return something that is true, and return that."""
        return WebDriverWait(self.driver, 60, 0.05).until(lambda _: self.run(script))

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def look(self, size: tuple[int, int], dark: bool = False) -> None:
        """Have the window's size, and a reader's wish for light or dark."""
        metrics = {
            "width": size[0],
            "height": size[1],
            "deviceScaleFactor": 1,
            "mobile": size == PHONE,
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        wish = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wish]})

    def search(self, words: str) -> list[str]:
        """Type a question on the home page, and return the names that are listed."""
        self.open("index.html")
        self.find("#q").send_keys(words)
        self.until("return document.getElementById('status').textContent !== ''")
        return self.texts("#results .name")


@pytest.fixture(scope="module")
def one_browser() -> Iterator[Browser]:
    made = Browser()
    yield made
    made.driver.quit()


@pytest.fixture
def browser(one_browser: Browser, folder: Path) -> Browser:
    one_browser.base = folder.as_uri() + "/"
    one_browser.look(WIDE)
    one_browser.complaints()
    return one_browser


@deep
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("torch.cuda.synchronize", "torch.cuda.synchronize"),
        ("memory_alloc", "torch.cuda.memory_allocated"),
        ("cuda stream", "torch.cuda.Stream"),
        ("torch.cuda.memory.empty_cache", "torch.cuda.memory.empty_cache"),
        ("tdev.cuda.synchronize()", "torch.cuda.synchronize"),
        ("torch.onnx.dynamo_export", "torch.onnx.dynamo_export"),
        ("memory_alocated", "torch.cuda.memory_allocated"),
        ("torch.cuda.sychronize", "torch.cuda.synchronize"),
        ("Tensor.cuda", "torch.Tensor.cuda"),
        ("nn.Linear", "torch.nn.Linear"),
        ("TDEV301", "TDEV301: A device index that does not exist here was folded to 0"),
        ("is-cuda", "is_cuda of tensors and of unknown objects"),
        ("without a gpu", "GPU tests without a GPU"),
    ],
)
def test_search_finds(browser: Browser, words: str, first: str) -> None:
    assert browser.search(words)[0] == first


@deep
def test_a_question_without_an_answer_says_so(browser: Browser) -> None:
    assert browser.search("qqqqqqqq") == []
    assert browser.texts("#status") == ["Nothing fits."]


@deep
def test_the_question_stands_in_the_address(browser: Browser) -> None:
    found = browser.search("torch.cuda.graph")
    assert parse_qs(urlsplit(browser.driver.current_url).query) == {"q": ["torch.cuda.graph"]}
    browser.driver.refresh()
    browser.until("return document.querySelectorAll('#results [role=option]').length > 0")
    assert browser.texts("#results .name") == found


def test_the_keyboard_is_enough(browser: Browser) -> None:
    browser.search("torch.cuda.memory_allocated")
    box = browser.find("#q")
    assert browser.driver.switch_to.active_element == box
    box.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    chosen = browser.find("#results [aria-selected=true]")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    box.send_keys(Keys.ENTER)
    browser.until("return location.pathname.includes('/api/')")
    assert browser.find("h1").text == "torch.cuda.memory_allocated"
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Skip to the content"


@deep
def test_the_search_of_every_page_asks_the_home_page(browser: Browser) -> None:
    browser.open("docs/codemod/is-cuda.html")
    browser.find(".find input").send_keys("empty_cache", Keys.ENTER)
    browser.until("return document.querySelectorAll('#results [role=option]').length > 0")
    assert "torch.cuda.empty_cache" in browser.texts("#results .name")


@deep
def test_every_answer_leads_to_its_page(browser: Browser, folder: Path) -> None:
    """Special and plain members, other names, modules, methods, and what is gone."""
    for words in (
        "Stream",
        "torch.nn.functional",
        "optim.Adam",
        "Tensor.to",
        "dynamo_export",
        "SUM",
    ):
        browser.search(words)
        links = browser.run("return [...document.querySelectorAll('#results a')].map(a => a.href)")
        for link in links:
            page, _, anchor = link.removeprefix(browser.base).partition("#")
            text = (folder / page).read_text(encoding="utf-8")
            assert not anchor or f'id="{anchor}"' in text, link


def rows_shown(browser: Browser) -> int:
    shown = browser.run("return document.querySelectorAll('#rows tbody tr:not([hidden])').length")
    return int(shown)


@deep
def test_filters_survive_reload_and_back(browser: Browser) -> None:
    browser.open("backends/mps.html")
    everything = rows_shown(browser)
    Select(browser.find("#f-route")).select_by_value("unsupported")
    unsupported = rows_shown(browser)
    assert 0 < unsupported < everything
    Select(browser.find("#f-category")).select_by_value("CUDA_OPERATIONS")
    both = rows_shown(browser)
    assert 0 < both < unsupported
    assert parse_qs(urlsplit(browser.driver.current_url).query) == {
        "route": ["unsupported"],
        "category": ["CUDA_OPERATIONS"],
    }
    browser.driver.refresh()
    assert rows_shown(browser) == both
    browser.driver.back()
    browser.until("return document.getElementById('f-category').value === ''")
    assert rows_shown(browser) == unsupported
    browser.find("#filters button").click()
    browser.until("return document.getElementById('f-route').value === ''")
    assert rows_shown(browser) == everything
    assert "?" not in browser.driver.current_url


@deep
def test_no_page_of_a_sample_complains(browser: Browser, files: dict[str, str]) -> None:
    pages = sorted(path for path in files if path.endswith(".html"))
    sample = pages[:: max(1, len(pages) // 300)][:300]
    assert len(sample) == 300
    found = {}
    for page in sample:
        browser.open(page)
        if complaints := browser.complaints():
            found[page] = complaints
    assert not found


@deep
@pytest.mark.parametrize("page", EACH_KIND)
def test_a_phone_scrolls_one_way(browser: Browser, page: str) -> None:
    for width in (PHONE, (320, 640)):
        browser.look(width)
        browser.open(page)
        assert browser.run("return document.documentElement.scrollWidth") <= width[0]


@deep
@pytest.mark.skipif(
    not AXE.is_file(), reason="axe-core is not there: npm install --prefix build/axe axe-core"
)
@pytest.mark.parametrize(
    ("size", "dark"), [(WIDE, False), (WIDE, True), (PHONE, False)], ids=["light", "dark", "phone"]
)
@pytest.mark.parametrize("page", EACH_KIND)
def test_axe_finds_nothing(browser: Browser, page: str, size: tuple[int, int], dark: bool) -> None:
    browser.look(size, dark)
    browser.open(page)
    if "?q=" in page:
        browser.until("return document.querySelectorAll('#results [role=option]').length > 0")
    browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.driver.execute_async_script(
        "const done = arguments[0]; axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', "
        "'best-practice']}).then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map("
        "n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | '))))"
    )
    assert found == []


@deep
def test_paper_is_white_for_who_reads_in_the_dark(browser: Browser) -> None:
    browser.look(WIDE, dark=True)
    browser.open("api/torch.cuda.memory_allocated.html")
    ink = "return getComputedStyle(document.querySelector('.answers b')).color"
    code = "return getComputedStyle(document.querySelector('pre')).backgroundColor"
    assert (browser.run(ink), browser.run(code)) == ("rgb(231, 229, 223)", "rgb(32, 37, 44)")
    wish = [{"name": "prefers-color-scheme", "value": "dark"}]
    media = {"media": "print", "features": wish}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    assert (browser.run(ink), browser.run(code)) == ("rgb(27, 31, 36)", "rgb(242, 240, 234)")
    assert not browser.find(".top nav").is_displayed()
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@deep
def test_the_playground_migrates_the_readmes_example(browser: Browser, folder: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before = re.findall(r"^```python\n(.*?)^```", readme, flags=re.M | re.S)[0]
    with Playground(folder, "1.2.3") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        browser.driver.get(server.address)
        browser.run("document.getElementById('source').value = arguments[0]", before)
        browser.find("#play button").click()
        browser.until("return document.getElementById('code').textContent !== ''")
        shown = {}
        for style in ("explicit", "alias", "accelerator"):
            browser.find(f"input[value={style}]").click()
            shown[style] = browser.texts("#code")[0]
            changed = shown[style] != before
            assert browser.texts("#diff")[0].startswith("--- a/example.py") is changed
        said = browser.complaints()
        browser.run("document.getElementById('source').value = '#'.repeat(5_000_000)")
        browser.find("#play button").click()
        browser.until("return document.getElementById('said').textContent.startsWith('At most')")
        server.shutdown()
        thread.join()
    from tdev_core.site.playground import migrate

    assert shown == {style: one["code"] for style, one in migrate(before).items()}
    assert all(code != before for code in shown.values())
    assert said == []
