#!/usr/bin/env python3
"""Opens the page of objects of every kind in a headless Chromium: page_test.py H5MOUNT [SCREENSHOTS]

Needs chromium, chromium-driver, python3-selenium and h5py; exits with 77 where one is missing. With SCREENSHOTS, a
directory, the pages are also stored there as pictures.
"""
import os, signal, subprocess, sys, tempfile, time

# meson may run this with a Python that lacks Debian's packages.
if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
try:
    import h5py, numpy as np
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
if not (os.path.exists(BROWSER) and os.path.exists(DRIVER)):
    print("skipped: no chromium and chromium-driver")
    sys.exit(77)

MARKUP = '<img src=x onerror="document.title=1">'
SECONDS = 30


def write_example(path):
    with h5py.File(path, "w") as f:
        f["wave"] = np.sin(np.linspace(0, 20, 5000)).astype("<f4")
        f["wave"].attrs["units"] = "m/s"
        f["wave"].attrs["note"] = MARKUP
        f["wave"].attrs["long"] = "y" * 9000
        image = np.arange(60 * 90, dtype="<f8").reshape(60, 90)
        image[:5, :5] = np.nan
        f.create_dataset("image", data=image, chunks=(16, 16), compression="gzip", shuffle=True)
        f["4d"] = np.arange(3 * 4 * 5 * 6, dtype=">i2").reshape(3, 4, 5, 6)
        table = np.zeros(30, dtype=[("time", "f8"), ("name", "S40"), ("pos", [("x", "i4"), ("y", "i4")])])
        table["name"] = MARKUP.encode()
        f["table"] = table
        f["names"] = ["one", MARKUP]
        f["scalar"] = 1.5
        f["empty"] = np.zeros((0, 3))
        f["complex"] = np.exp(1j * np.arange(50))
        f["flags"] = np.array([True, False, True])
        f["half"] = np.linspace(-1, 1, 100).astype("<f2")
        f["big"] = (np.arange(100) << 40).astype(">u8")
        f["group"].attrs["x"] = 1 if f.create_group("group") else 0
        f["group/" + MARKUP.replace("/", "")] = np.arange(5)
        f["soft"] = h5py.SoftLink("/group")
        f.create_dataset("huge", (1 << 20, 1 << 19), "<f4", chunks=(1024, 1024), compression="gzip")
        f.create_dataset("huge line", (1 << 37,), "<f8")
        f.create_dataset("huge stack", (10000, 4096, 4096), "<u2", chunks=(1, 512, 512), compression="gzip")


class Browser:
    def __init__(self, width, height, dark):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        except WebDriverException as error:
            print(f"no browser that starts: {str(error).strip()}")
            sys.exit(77)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.width = width

    def run(self, script, *words):
        return self.driver.execute_script("return " + script, *words)

    def wait(self, script):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"never became true: {script}")

    def open(self, url):
        self.driver.get(url)
        self.wait("document.getElementById('main') && !document.getElementById('main').hasAttribute('aria-busy')")
        errors = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert not errors, (url, errors)
        assert self.run("document.querySelectorAll('main img, main script, [role=alert]').length") == 0, url
        overflow = self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, (url, self.width, overflow)
        return self.run("document.getElementById('main').innerText")

    def status(self):
        return self.run("document.querySelector('output').textContent")

    # Different colours in the picture.
    def colours(self):
        return self.run("""(() => {
            const c = document.querySelector('canvas');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
            return seen.size; })()""")


def check_pages(browser, url, shots):
    pages = {"": "group", "wave": "m/s", "image": "shuffle", "4d": ">i2", "table": "pos.x", "group/": "Contents", "names": MARKUP,
             "scalar": "1.5", "empty": "none", "complex": "1+0j", "flags": "|b1", "half": "<f2", "big": "1099511627776", "huge": "2.00 TiB",
             "huge%20line": "1.00 TiB", "huge%20stack": "10000", "soft": "Contents"}
    drawn = {"wave": 2, "image": 50, "4d": 20, "complex": 2, "flags": 2, "half": 2, "big": 2, "huge": 2, "huge%20line": 2, "huge%20stack": 2}
    for name, words in pages.items():
        text = browser.open(f"{url}{name}?page")
        assert words in text, (name, words, text)
        if name in drawn:
            browser.wait("document.querySelector('canvas').dataset.drawn")
            assert browser.colours() >= drawn[name], (name, browser.colours())
        else:
            assert browser.run("document.querySelectorAll('canvas').length") == 0, name
        if shots:
            browser.driver.save_screenshot(os.path.join(shots, f"{browser.width}-{name.strip('/') or 'root'}.png"))


def check_use(browser, url):
    text = browser.open(url)  # a browser asks for text/html, so that a group is its page
    assert "wave" in text and "Contents" in text
    browser.driver.find_element("link text", "wave").click()
    browser.wait("document.title.startsWith('wave')")
    browser.wait("!document.getElementById('main').hasAttribute('aria-busy')")
    assert MARKUP in browser.run("document.getElementById('main').innerText")
    assert browser.run("document.title") == "wave \u2013 h5mount"
    link = browser.run("[...document.querySelectorAll('a')].find((a) => a.textContent.startsWith('all 9000')).href")
    assert browser.run("fetch(arguments[0]).then((a) => a.text()).then((t) => t.length)", link) == 9000
    # The keyboard alone: the slider of the first dimension, then the cursor in the picture.
    browser.open(f"{url}4d?page")
    before = browser.status()
    assert before == "[0,0,0:5:1,0:6:1]", before
    slider = browser.driver.find_element("css selector", "input[type=range]")
    slider.send_keys(Keys.ARROW_RIGHT)
    browser.wait("document.querySelector('canvas').dataset.drawn.startsWith('1,0')")
    canvas = browser.driver.find_element("css selector", "canvas")
    canvas.send_keys(Keys.ARROW_RIGHT)
    canvas.send_keys(Keys.ARROW_DOWN)
    assert browser.status() == "[1, 0, 1, 1] = 127", browser.status()
    # A child whose name is markup is a link that works.
    browser.open(f"{url}group/?page")
    browser.driver.find_element("css selector", "td a").click()
    browser.wait("document.title.startsWith('<img')")
    assert "alert" not in browser.run("document.title")


# Several sources are directories in a root that is none of a file.
def check_sources(browser, url):
    assert "second.h5" in browser.open(url)
    browser.driver.find_element("link text", "example.h5/").click()
    browser.wait("document.title.startsWith('/')")
    browser.wait("document.getElementById('main') && !document.getElementById('main').hasAttribute('aria-busy')")
    text = browser.open(f"{url}example.h5/image?page")
    assert "shuffle" in text
    browser.wait("document.querySelector('canvas').dataset.drawn")
    hrefs = browser.run("[...document.querySelectorAll('nav a')].map((a) => a.href)")
    assert hrefs == [f"{url}?page", f"{url}example.h5/?page", f"{url}example.h5/image?page"], hrefs


class Server:
    def __init__(self, program, *files):
        self.process = subprocess.Popen([program, "--serve", "0", *files], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            words = self.process.stderr.read()
            print(f"skipped: {words}")
            sys.exit(77 if "libmicrohttpd" in words else 1)

    def __enter__(self):
        return self.url

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def main():
    program, shots = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "example.h5")
        write_example(path)
        second = os.path.join(place, "second.h5")
        with h5py.File(second, "w") as f:
            f["x"] = np.arange(3)
        for width, height, dark in ((1600, 900, False), (360, 740, True)):
            browser = Browser(width, height, dark)
            try:
                with Server(program, path) as url:
                    check_pages(browser, url, shots)
                    check_use(browser, url)
                with Server(program, path, second) as url:
                    check_sources(browser, url)
            finally:
                browser.driver.quit()


main()
