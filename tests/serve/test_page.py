#!/usr/bin/env python3
"""Opens the page of objects of every kind in a headless Chromium: test_page.py H5MOUNT [SCREENSHOTS]

Needs chromium, chromium-driver, python3-selenium, h5py and a build that has the page; exits with 77 where one
is missing. With SCREENSHOTS, a directory, the pages are also stored there as pictures. `--large` adds files
of gigabytes.
"""
import os, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request

# meson may run this with a Python that lacks Debian's packages.
if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
try:
    import h5py, numpy as np
    import page_checks
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
BROWSER, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
if not (os.path.exists(BROWSER) and os.path.exists(DRIVER)):
    print("skipped: no chromium and chromium-driver")
    sys.exit(77)

MARKUP = '<img src=x onerror="document.title=1">'
ODD_NAMES = [
    "ünï 日本",
    "..",
    "a b%2Fc?d#e&f=g+h",
    "%zz",
    "'quotes\"",
    " ",
    "line\nbreak",
    "back\\slash",
    "עברית",
    "x" * 300,
]
SECONDS = 60
TIMES = 1.72e9 + np.arange(2000) * 0.5


def write_example(path, large):
    with h5py.File(path, "w", libver="latest") as f:
        f["wave"] = np.sin(np.linspace(0, 20, 5000)).astype("<f4")
        f["wave"].attrs["units"] = "m/s"
        f["wave"].attrs["note"] = MARKUP
        image = np.add.outer(np.arange(60.0), np.sin(np.arange(90) / 5) * 20)
        image[:5, :5], image[5:8, :5], image[8:10, :5] = np.nan, np.inf, -np.inf
        f.create_dataset("image", data=image, chunks=(16, 16), compression="gzip", shuffle=True)
        colours = np.zeros((40, 60, 3), "u1")
        colours[:, :20, 0] = colours[:, 20:40, 1] = colours[:, 40:, 2] = 255
        f["colours"] = colours
        f["colours"].attrs.update(
            {
                "CLASS": np.bytes_("IMAGE"),
                "IMAGE_SUBCLASS": np.bytes_("IMAGE_TRUECOLOR"),
                "INTERLACE_MODE": np.bytes_("INTERLACE_PIXEL"),
            }
        )
        f["palette"] = np.stack([np.arange(256), 255 - np.arange(256), np.full(256, 128)], axis=1).astype(
            "u1"
        )
        f["indexed"] = np.arange(40 * 60, dtype="u1").reshape(40, 60)
        f["indexed"].attrs.update(
            {
                "CLASS": np.bytes_("IMAGE"),
                "IMAGE_SUBCLASS": np.bytes_("IMAGE_INDEXED"),
                "PALETTE": f["palette"].ref,
            }
        )
        f.create_dataset("lost colours", data=f["palette"][()], chunks=(256, 3), fletcher32=True)
        f["faded"] = f["indexed"][()]
        f["faded"].attrs.update({"CLASS": np.bytes_("IMAGE"), "PALETTE": f["lost colours"].ref})
        f["5d"] = np.arange(2 * 3 * 4 * 5 * 6, dtype=">i2").reshape(2, 3, 4, 5, 6)
        table = np.zeros(30, dtype=[("time", "f8"), ("name", "S40"), ("n", "<i4")])
        table["name"] = MARKUP.encode()
        f["table"] = table
        f["names"] = ["one", MARKUP, "", "ünï 日本", "two\nlines"]
        f["enumeration"] = np.array(
            [0, 2, 1, 1], h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, basetype="i1")
        )
        f["scalar"] = 1.5
        f["empty"] = h5py.Empty("f4")
        f["no rows"] = np.zeros((0, 3))
        f["complex"] = np.exp(1j * np.arange(50) / 5) * np.arange(50)
        f["flags"] = np.array([True, False, True])
        f["not finite"] = np.array([1, 2, np.nan, 3, 4, 2, np.inf, 5, 4, -np.inf, 2, 3])
        f["most"] = np.array([2**64 - 1, 2**53 + 1, 5], dtype="u8")
        f["seconds"] = TIMES
        f["seconds"].attrs["units"] = "seconds since 1970-01-01"
        f["days"] = np.arange(4.0) + 10
        f["days"].attrs.update({"units": "days since 2000-02-20", "calendar": "noleap"})
        f["dates"] = np.array(["2024-07-03T09:46:40", "NaT"], "M8[s]").astype(h5py.opaque_dtype("M8[s]"))
        f.create_dataset(
            "large", data=np.add.outer(np.arange(1500), np.arange(2000)).astype("<f4"), chunks=(500, 500)
        )
        f["large"][700:800, 900:1100] = 10000
        f.create_dataset(
            "damaged", data=np.arange(100000.0) % 7, chunks=(1000,), compression="gzip", fletcher32=True
        )
        damaged = [f[name].id.get_chunk_info(0).byte_offset for name in ("damaged", "lost colours")]
        entry = f.create_group("entry")
        entry.attrs.update({"NX_class": "NXentry", "default": "data"})
        data = entry.create_group("data")
        data.attrs.update({"NX_class": "NXdata", "signal": "counts", "axes": ["seconds"]})
        data["counts"] = np.cos(np.arange(2000) / 100)
        data["seconds"] = TIMES
        data["seconds"].attrs["units"] = "s"
        dated = f.create_group("dated")
        dated.attrs.update({"NX_class": "NXdata", "signal": "level", "axes": ["time"]})
        dated["level"] = np.sin(np.arange(2000) / 100)
        dated["time"] = TIMES / 60 - 28e6
        dated["time"].attrs["units"] = "minutes since 2023-03-28 10:40:00"
        dated["long"] = np.zeros(1_200_000, "u1")
        f["group/" + MARKUP.replace("/", "")] = np.arange(5)
        for name in ODD_NAMES:
            f["odd/" + name] = np.arange(5)
        f["soft"] = h5py.SoftLink("/group")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f.create_dataset(
            "series",
            data=np.sin(np.arange(8_000_000 if large else 200_000) / 1e4).astype("<f4"),
            chunks=(1 << 17,),
            compression="gzip",
            compression_opts=1,
        )
        stack = f.create_dataset(
            "stack", (1200, 2048, 2048), "<u4", chunks=(1, 512, 2048), compression="gzip", compression_opts=1
        )
        if large:
            many = f.create_group("many")
            for i in range(100_000):
                many.create_group(f"{i:06}")
        stack[7] = np.random.default_rng(1).poisson(100, (2048, 2048))
    with open(path, "r+b") as f:
        for place in damaged:
            f.seek(place + 5)
            f.write(b"\xff" * 8)


class Browser:
    def __init__(self, width, height, dark):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for word in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--use-gl=angle",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--ignore-gpu-blocklist",
        ):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        except WebDriverException as error:
            print(f"no browser that starts: {str(error).strip()}")
            sys.exit(77)
        self.driver.set_script_timeout(
            SECONDS
        )  # a page that draws holds scripts up, for long where there is little processor
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )
        self.width = width

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def run(self, script, *words):
        return self.driver.execute_script("return " + script, *words)

    def wait(self, script, *words):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self.run(script, *words):
                return
            time.sleep(0.05)
        raise AssertionError(f"never became true: {script} {words}; the page says: {self.text()[:2000]}")

    def store(self, shots, name):
        time.sleep(1)
        try:
            self.driver.save_screenshot(os.path.join(shots, f"{self.width}-{name}.png"))
        except WebDriverException:
            print(f"no picture of {name}")

    def text(self):
        return self.run("document.body.innerText")

    # What the browser has to say of the page; an answer that is an error is part of some pages. Of an array
    # without elements H5Web's application fails below what the page shows of it.
    def problems(self):
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
            and "favicon.ico" not in entry["message"]
            and "GPU stall" not in entry["message"]
            and "WebGL" not in entry["message"]
            and "Expected non-empty dimension" not in entry["message"]
        ]

    def expect_no_problems(self):
        problems = self.problems()
        assert not problems, problems

    # A page that follows a file asks for as long as it is shown: nothing of it is left when its server ends.
    def leave(self):
        self.driver.get("about:blank")
        self.problems()

    def open(self, url, words, drawn):
        self.driver.get(url)
        self.wait("document.querySelector('[role=treeitem]') !== null")
        for word in words:
            self.wait("document.body.innerText.includes(arguments[0])", word)
        if drawn:
            self.wait("document.querySelector('canvas') !== null")
        # What is drawn by the page itself lies above H5Web's application, which waits.
        self.wait(
            "document.querySelector('.overview canvas, .overview[data-ready]') !== null || "
            "!document.body.innerText.includes('Loading')"
        )

    def press(self, label):
        """A button or tab of H5Web."""
        self.wait(
            "[...document.querySelectorAll('button')].some((one) => one.textContent === arguments[0])", label
        )
        self.run(
            (
                "[...document.querySelectorAll('button')].find((one) => one.textContent ==="
                " arguments[0]).click()"
            ),
            label,
        )


# What the page of an object says, and whether it draws.
PAGES = {
    "/": ([], False),
    "/wave": (["wave"], True),
    "/image": (["image"], True),
    "/colours": ([], True),
    "/5d": (["D0"], True),
    "/table": (["time", "name"], False),
    "/names": ([MARKUP], False),
    "/enumeration": ([], True),
    "/scalar": (["1.5"], False),
    "/empty": (["empty"], False),
    "/complex": ([], True),
    "/flags": ([], True),
    "/not finite": ([], True),
    "/no rows": (["No elements: 0 × 3"], False),
    "/most": ([], True),
    "/entry": (["172000"], True),
    "/group": ([], False),
    "/soft": ([], False),
    "/stack": (["2,048 × 2,048 values: of what is visible, means"], True),
    "/series": ([], True),
    "/large": (["1,500 × 2,000 values"], True),
    "/indexed": (["In the colours of its palette"], True),
    "/faded": (["faded"], True),
    "/seconds": (["2024-07-03 09:46:40 to 2024-07-03 10:03:19.500 UTC", "09:50"], True),
    "/dated": (["time (2024-07-03, UTC)", "09:50"], True),
    "/days": (["2000-03-02 00:00:00 to 2000-03-05 00:00:00 noleap"], True),
    "/dates": (["2024-07-03T09:46:40"], False),
}


# No tick below a plot is written over the next one.
READABLE = """(() => {
  const shown = document.querySelector('.overview') ?? document;
  const texts = [...shown.querySelectorAll('svg[data-type=abscissa] text')];
  const ticks = texts.filter((text) => /^[-−.e+0-9]+$/u.test(text.textContent));
  const boxes = ticks.map((text) => text.getBoundingClientRect()).sort((a, b) => a.left - b.left);
  return boxes.every((box, i) => i === 0 || boxes[i - 1].right < box.left);
})()"""


# What the view "Matrix" has in its cells.
CELLS = {
    "/most": ["18446744073709551615", "9007199254740993"],
    "/enumeration": ["RED", "BLUE", "GREEN"],
    "/flags": ["true", "false"],
    "/not finite": ["NaN", "Infinity", "-Infinity"],
    "/5d": ["29"],
}


LARGE_PAGES = {
    "/many": (["100,000 objects: the first 3,000 are shown"], False),
    "/many/099999": (["099999"], False),
}


def check_pages(browser, url, shots, large):
    for path, (words, drawn) in (PAGES | (LARGE_PAGES if large else {})).items():
        begin = time.monotonic()
        browser.open(f"{url}?{urllib.parse.urlencode({'path': path})}", words, drawn)
        took = time.monotonic() - begin
        problems = browser.problems()
        assert not problems, (path, problems)
        assert browser.run("document.querySelectorAll('main img, [onerror]').length") == 0, path
        browser.wait(READABLE)
        asked = browser.run("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert all(name.startswith((url, "data:", "blob:")) for name in asked), asked
        if shots:
            browser.store(shots, path.strip("/").replace(" ", "_") or "root")
            print(f"{path}: {took:.1f} s")
    browser.open(f"{url}?path=/damaged", ["chunk"], False)
    if shots:
        browser.store(shots, "damaged")
    browser.problems()


def check_cells(browser, url, shots):
    for path, cells in CELLS.items():
        browser.open(f"{url}?{urllib.parse.urlencode({'path': path})}", [], False)
        browser.press("Matrix")
        if path == "/most":
            browser.press("Exact")
        for cell in cells:
            browser.wait("document.body.innerText.split('\\n').includes(arguments[0])", cell)
        if shots:
            browser.store(shots, path.strip("/").replace(" ", "_") + "-matrix")
        browser.press("Line")
        browser.wait("document.querySelector('canvas') !== null")
    # A name of any letters is shown, and its address leads back to it.
    for name in ODD_NAMES:
        browser.open(f"{url}?{urllib.parse.urlencode({'path': '/odd/' + name})}", [], True)
        browser.wait(
            "document.querySelector('[role=treeitem][aria-selected=true]')?.dataset.path === arguments[0]",
            "/odd/" + name,
        )
        assert browser.run("new URLSearchParams(location.search).get('path')") == "/odd/" + name
    if shots:
        browser.store(shots, "odd")
    # What an object is can be read of those too that are drawn above H5Web's application.
    browser.open(f"{url}?path=/no+rows", ["No elements: 0 × 3"], False)
    browser.press("Inspect")
    browser.wait("getComputedStyle(document.querySelector('.overview')).visibility === 'hidden'")
    browser.wait("document.body.innerText.includes('Float, 64-bit')")
    browser.press("Display")
    browser.wait("getComputedStyle(document.querySelector('.overview')).visibility === 'visible'")
    browser.expect_no_problems()


def check_use(browser, url):
    browser.open(url, ["wave"], False)  # a browser asks for text/html, so that a group is its page
    browser.driver.find_element("css selector", '[data-path="/wave"]').click()
    browser.wait("location.search === '?path=%2Fwave' && document.title.startsWith('/wave')")
    browser.wait("document.querySelector('canvas') !== null")
    # The object's own files, and where they lead.
    browser.driver.find_element("css selector", ".downloads summary").click()
    browser.wait("[...document.querySelectorAll('.downloads a')].some((a) => a.textContent === 'npy')")
    link = browser.run(
        "[...document.querySelectorAll('.downloads a')].find((a) => a.textContent === 'npy').href"
    )
    with urllib.request.urlopen(link) as answer:
        assert answer.read(6) == b"\x93NUMPY"
    # The address of a dataset is its page too, and a link that was sent opens what it names.
    browser.open(f"{url}image?page", ["image"], True)
    item = """document.querySelector('[role=treeitem][data-path="/image"]')"""
    browser.wait(f"{item}.getAttribute('aria-selected') === 'true'")
    browser.driver.get(f"{url}?path=/group")
    browser.wait("document.title.startsWith('/group')")
    browser.expect_no_problems()


def check_growth(browser, program, place, shots):
    path = os.path.join(place, "growing.h5")
    with h5py.File(path, "w", libver="latest") as f:
        data = f.create_dataset("y", data=np.zeros(0), maxshape=(None,), chunks=(16,))
        f.swmr_mode = True
        with Server(program, path) as url:
            browser.open(f"{url}?path=/y", ["No elements: 0"], False)
            data.resize((10,))
            data.flush()
            browser.wait(
                "document.querySelector('canvas') !== null && !document.body.innerText.includes('No"
                " elements')"
            )
            data.resize((50,))
            data[10:] = np.arange(40)
            data.flush()
            browser.wait("document.querySelector('output').textContent.includes('grows')")
            browser.wait(
                "[...document.querySelectorAll('svg[data-type=abscissa] text')].some((one) => one.textContent"
                " === '40')"
            )
            # The values that were added end at 39.
            browser.wait(
                "[...document.querySelectorAll('svg[data-type=ordinate] text')].some((one) => one.textContent"
                " === '35')"
            )
            if shots:
                browser.store(shots, "growing")
            browser.leave()
    with h5py.File(path, "w") as f:
        f["y"] = np.zeros(10)
    with Server(program, path) as url:
        browser.open(f"{url}?path=/y", ["y"], True)
        with h5py.File(path + ".new", "w") as f:
            f["y"] = np.ones(20)
        os.rename(path + ".new", path)
        browser.wait("document.querySelector('output').textContent.includes('another file')")
        browser.leave()


# Several sources are directories in a root that is none of a file, which is a listing.
def check_sources(browser, url):
    browser.driver.get(url)
    assert "second.h5" in browser.text()
    browser.driver.find_element("partial link text", "example.h5").click()
    browser.wait("document.querySelector('[data-path=\"/wave\"]') !== null")
    browser.open(f"{url}example.h5/image?page", ["all files"], True)
    browser.open(f"{url}second.h5/?path=/x", ["x"], True)
    browser.expect_no_problems()
    browser.leave()


# Of a directory each file has the page, and what lies between files is a listing.
def check_directory(browser, url):
    browser.driver.get(url)
    for name in ("runs", "ä b.h5"):
        browser.driver.find_element("partial link text", name).click()
    browser.wait('document.querySelector(\'[data-path="/group/x"], [data-path="/group"]\') !== null')
    browser.open(f"{url}runs/%C3%A4%20b.h5/group/x?page", ["all files"], True)
    browser.wait("document.title.startsWith('/group/x')")
    browser.expect_no_problems()


# Behind nginx below a path; nothing where there is no nginx.
def check_proxy(browser, url, place, shots):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(os.path.join(place, "nginx.conf"), "w", encoding="ascii") as file:
        paths = " ".join(
            f"{name}_temp_path {place}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if os.geteuid() == 0 else ""
        file.write(
            f"{user} daemon off; pid {place}/pid; error_log {place}/error; events {{}} http {{ access_log"
            f" off; {paths} server {{ listen 127.0.0.1:{port}; location /data/h5/ {{ proxy_pass {url}; }}"
            " } }"
        )
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if nginx is None:
        return
    process = subprocess.Popen([nginx, "-p", place, "-c", file.name, "-e", f"{place}/error"])
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        browser.open(f"http://127.0.0.1:{port}/data/h5/image?page", ["image"], True)
        browser.driver.find_element("css selector", '[data-path="/wave"]').click()
        browser.wait("location.pathname === '/data/h5/' && location.search === '?path=%2Fwave'")
        browser.wait("document.title.startsWith('/wave') && document.querySelector('canvas') !== null")
        if shots:
            browser.store(shots, "proxy")
        browser.expect_no_problems()
    finally:
        process.terminate()
        process.wait(60)


class Server:
    def __init__(self, program, *files):
        time.sleep(0.1)  # the tags of a file that was written just now change with every answer
        self.process = subprocess.Popen(
            [program, "--serve", "0", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
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


def has_page(url):
    request = urllib.request.Request(url, headers={"Accept": "text/html"})
    with urllib.request.urlopen(request) as answer:
        return b"asset=page.js" in answer.read()


def main():
    words = [word for word in sys.argv[1:] if word != "--large"]
    program, shots = words[0], words[1] if len(words) > 1 else None
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "example.h5")
        write_example(path, "--large" in sys.argv)
        second = os.path.join(place, "second.h5")
        with h5py.File(second, "w") as f:
            f["x"] = np.arange(3)
        with Server(program, second) as url:
            if not has_page(url):
                print("skipped: a build without the page")
                sys.exit(77)
        with Browser(1400, 900, False) as browser:
            with Server(program, path) as url:
                check_pages(browser, url, shots, "--large" in sys.argv)
                check_cells(browser, url, shots)
                check_use(browser, url)
                check_proxy(browser, url, place, shots)
            check_growth(browser, program, place, shots)
            with Server(program, path, second) as url:
                check_sources(browser, url)
            os.makedirs(os.path.join(place, "all/runs"))
            with h5py.File(os.path.join(place, "all/runs/ä b.h5"), "w") as f:
                f["group/x"] = np.arange(3)
            with Server(program, os.path.join(place, "all")) as url:
                check_directory(browser, url)
        # H5Web remembers the view that was chosen last, so what chooses views has a browser of its own.
        with Browser(1400, 900, False) as browser:
            with Server(program, path) as url:
                page_checks.check_names(browser, url)
            page_checks.check_frames(browser, lambda one: Server(program, one), place)
        with Browser(420, 900, True) as browser, Server(program, path) as url:
            page_checks.check_narrow(browser, url)


if __name__ == "__main__":
    main()
