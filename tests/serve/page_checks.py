"""What the page does beside showing an object, for test_page.py: frames, names and roles, a narrow screen."""
import os, urllib.parse

import h5py
import numpy as np
from selenium.webdriver.common.keys import Keys


# A stack that grows: the slider follows the newest frame from the last one on, keeps any other one, and
# plays.
def check_frames(browser, serve, place):
    path = os.path.join(place, "stack.h5")
    frame = (
        "document.querySelector('main"
        " [role=slider][aria-orientation=vertical]')?.getAttribute('aria-valuenow')"
    )
    with h5py.File(path, "w", libver="latest") as f:
        data = f.create_dataset("s", (3, 4, 5), "i4", maxshape=(None, 4, 5), chunks=(1, 4, 5))
        for i in range(3):
            data[i] = 1000 * i
        f.swmr_mode = True

        def grow(count):
            data.resize((count, 4, 5))
            data[count - 1] = 1000 * (count - 1)
            data.flush()
            browser.wait(f"document.body.innerText.includes('0:{count - 1}')")

        with serve(path) as url:
            browser.open(f"{url}?path=/s", ["D0"], False)
            browser.press("Matrix")
            browser.wait(f"{frame} === '0'")
            grow(4)
            assert browser.run(frame) == "0"
            slider = browser.driver.find_element(
                "css selector", "main [role=slider][aria-orientation=vertical]"
            )
            slider.send_keys(Keys.END)
            browser.wait(f"{frame} === '3' && document.body.innerText.split('\\n').includes('3000')")
            grow(5)
            browser.wait(f"{frame} === '4' && document.body.innerText.split('\\n').includes('4000')")
            browser.run("document.querySelector('button.play').click()")
            browser.wait(f"{frame} === '1'")
            browser.wait("document.body.innerText.split('\\n').includes('2000')")
            assert browser.run("document.querySelector('button.play').getAttribute('aria-pressed')") == "true"
            browser.press("Line")
            browser.leave()


# What stands for a person who does not see it has a role and a name; with axe-core (npm) nothing critical is
# found.
NAMELESS = """[
  ...document.querySelectorAll('[role=tab], [role=slider], [role=grid], [role=tablist], button, a'),
].filter((one) => {
  const ids = (one.getAttribute('aria-labelledby') ?? '').split(' ');
  const named = ids.map((id) => document.getElementById(id)?.textContent ?? '').join('');
  const text = one.getAttribute('aria-label') || named || one.textContent || one.title;
  const told = one.closest('[role=tablist]') && one.hasAttribute('aria-selected');
  return !text.trim() || (one.role === 'tab' && !told);
}).map((one) => one.outerHTML.slice(0, 200))"""


def check_names(browser, url):
    modules = os.environ.get("H5MOUNT_NODE_MODULES")
    axe = modules and os.path.join(modules, "node_modules/axe-core/axe.min.js")
    for path, view in (
        ("/", None),
        ("/5d", "Heatmap"),
        ("/5d", "Matrix"),
        ("/table", None),
        ("/stack", None),
    ):
        browser.open(f"{url}?{urllib.parse.urlencode({'path': path})}", [], False)
        browser.wait("document.querySelector('[data-testid=LoadingExplorerRoot]') === null")
        if view:
            browser.press(view)
        if path == "/table" or view == "Matrix":
            browser.wait("document.querySelector('[role=grid]') !== null")
            cells = browser.run(
                "[...document.querySelectorAll('[role=gridcell]')].map((one) => one.textContent)"
            )
            assert (
                cells and "0" in cells and not any("0e+0" in cell for cell in cells if path != "/table")
            ), cells[:9]
        assert browser.run(NAMELESS) == [], (path, browser.run(NAMELESS))
        if axe and os.path.exists(axe):
            with open(axe, encoding="utf-8") as script:
                browser.driver.execute_script(script.read())
            found = browser.driver.execute_async_script(
                "axe.run().then((said) => arguments[0](said.violations))"
            )
            assert not [one["id"] for one in found if one["impact"] == "critical"], (path, found)
    browser.driver.get(f"{url}?plain")
    assert browser.run("document.documentElement.lang") == "en"
    assert browser.run("document.querySelector('meta[name=color-scheme]').content") == "light dark"
    browser.problems()


# On a telephone's screen a map has most of it, and nothing lies beside it.
def check_narrow(browser, url):
    for name, view in (("/image", "Heatmap"), ("/5d", "Heatmap"), ("/large", None)):
        browser.open(f"{url}?{urllib.parse.urlencode({'path': name})}", [], True)
        if view:
            browser.press(view)
        browser.wait(
            """[...document.querySelectorAll('canvas')].some((one) => {
          const { left, right, width, height } = one.getBoundingClientRect();
          return left >= 0 && right <= innerWidth && width > innerWidth / 2 && height > 300; })"""
        )
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), name
    browser.driver.get(f"{url}?plain")
    colour = browser.run("getComputedStyle(document.body).color")
    assert colour == "rgb(255, 255, 255)", colour  # as a browser has it on dark pages
    browser.problems()
