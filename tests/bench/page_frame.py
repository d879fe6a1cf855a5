#!/usr/bin/env python3
"""The time until Chromium shows the first picture of one frame out of 20 GiB: page_frame.py H5MOUNT [ROUNDS
[PICTURE]]

Needs what tests/serve/test_page.py needs. The file has 2,560 frames of 2048 x 2048 numbers of 2 bytes,
shuffled and deflated, each of the same compressed bytes. Each round has a browser of its own, which knows
nothing yet and opens the page twice. Times are from the beginning of the navigation to the second animation
frame after the means of the image are there; beside them is the processor time that the server and all of the
browser took meanwhile, which does not depend on what else the machine does. PICTURE: where the last
screenshot is stored.
"""
import os, statistics, sys, tempfile, time, zlib

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../serve"))
import h5py, numpy as np
from test_page import Browser, Server

FRAMES, SIDE, ROWS = 2560, 2048, 512
MARK = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('.picture[data-ready] canvas')) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.pictureMs = performance.now(); }));
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


def shuffled(numbers):
    return numbers.reshape(-1, 1).view("u1").T.tobytes()


def write(path):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:SIDE, :SIDE] - SIDE / 2
    rings = 40 * np.exp(-(((np.hypot(x, y) % 200) / 12) ** 2))
    frame = rng.poisson(rings).astype("<u2")
    with h5py.File(path, "w", libver="latest") as f:
        stack = f.create_dataset(
            "stack", (FRAMES, SIDE, SIDE), "<u2", chunks=(1, ROWS, SIDE), shuffle=True, compression="gzip"
        )
        chunks = [zlib.compress(shuffled(frame[row : row + ROWS]), 4) for row in range(0, SIDE, ROWS)]
        for i in range(FRAMES):
            for k, chunk in enumerate(chunks):
                stack.id.write_direct_chunk((i, k * ROWS, 0), chunk)
        assert np.array_equal(stack[FRAMES - 1], frame)
        return stack.nbytes, os.path.getsize(path)


def processor_seconds(pid):
    """Of a process and those that it has started."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        children = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += file.read().split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(
        map(processor_seconds, children)
    )


# (seconds, of the server's processor time, of the browser's)
def shown_after(browser, server, url):
    pids = (server.process.pid, browser.driver.service.process.pid)
    before = [processor_seconds(pid) for pid in pids]
    browser.driver.get(url)
    browser.wait("window.pictureMs !== undefined")
    browser.expect_no_problems()
    seconds = browser.run("window.pictureMs") / 1000
    return (seconds, *(processor_seconds(pid) - earlier for pid, earlier in zip(pids, before)))


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "stack.h5")
        begin = time.monotonic()
        logical, stored = write(path)
        print(
            (
                f"{logical / 2**30:.0f} GiB of numbers in {stored / 2**20:.0f} MiB, made in"
                f" {time.monotonic() - begin:.0f} s"
            ),
            flush=True,
        )
        first, next_ = [], []
        for _ in range(rounds):
            server = Server(program, path)
            with server as url:
                browser = Browser(1400, 900, False)
                try:
                    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": MARK})
                    first.append(shown_after(browser, server, f"{url}?path=/stack"))
                    if len(sys.argv) > 3:
                        browser.driver.save_screenshot(sys.argv[3])
                    next_.append(shown_after(browser, server, f"{url}?path=/stack"))
                finally:
                    browser.driver.quit()
            print(f"first {first[-1][0]:.2f} s, again {next_[-1][0]:.2f} s", flush=True)
        for name, times in (("the first picture of a browser that knows nothing", first), ("again", next_)):
            seconds, server, browser = (statistics.median(each) for each in zip(*times))
            print(
                f"{name}: median {seconds:.2f} s; processor time of the server {server:.2f} s, of the browser"
                f" {browser:.2f} s"
            )


main()
