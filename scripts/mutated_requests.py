#!/usr/bin/env python3
"""Sends mutated requests to the interface below /api/: mutated_requests.py H5MOUNT COUNT [SEED [FILE…]]

With FILEs it serves copies of them beside its own example, and asks for what is in them too. The program
serves a file with objects of every kind beside one that it may not send anything of. Every answer must be one
that the interface has, JSON where it says so, and none may tell of the other file; the program must live on
and take no more memory than it promises (not checked of a build with sanitizers). For such builds and 100,000
requests: see docs/CONTRIBUTING.md.
"""
import concurrent.futures, http.client, json, os, random, shutil, subprocess, sys, tempfile

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
import h5py, numpy as np

SECRET = "SECRETSECRET"
CACHE_MIB = 32
CLIENTS, STEP = 4, 1000
ABOVE_CACHE_MIB = 128 + 96 + 32  # and the program itself, with the bodies of that many connections
# A client leaves when it has waited so long: what runs over all of the largest dataset ends with it, or at
# its deadline.
PATIENCE_SECONDS = 3
ENDPOINTS = ["meta", "attr", "data", "stats", "paths", "views", "version", ""]
STATUSES = {200, 304, 307, 400, 403, 404, 405, 413, 422, 500, 501, 503, 504}
ODD = [
    "..",
    ".",
    "/",
    "//",
    "%2F",
    "%00",
    "%zz",
    "%",
    "+",
    " ",
    "'",
    '"',
    "\\",
    "<script>",
    "\xff",
    "-",
    "--",
    ":",
    "::",
    ":::",
    ",",
    ",,",
    "...",
    "0",
    "-1",
    "-0",
    "1e9",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "9" * 400,
    "00",
    "a" * 300,
    "None",
    "[0]",
    "()",
    "True",
    "../../secret.h5",
    "secret.h5",
    "f.h5",
    "file://",
    "null",
    "nan",
    "safe",
    "all",
]


def write(place):
    with h5py.File(f"{place}/secret.h5", "w") as f:
        f[SECRET] = SECRET
        f.attrs[SECRET] = SECRET
    with h5py.File(f"{place}/f.h5", "w") as f:
        f["x"] = np.arange(5000).reshape(10, 20, 25)
        f.create_dataset(
            "deflated", data=np.random.default_rng(1).normal(size=100000), chunks=(999,), compression="gzip"
        )
        f.create_dataset("huge", (1 << 30, 1 << 20), "<f8", chunks=(1024, 1024))
        f["table"] = np.zeros(50, dtype=[("a", "<i4"), ("b", "S3"), ("c", [("d", "f8", (2, 2))])])
        f["text"] = ["one", "two"]
        f["flags"] = [True, False]
        f["complex"] = np.zeros((3, 4), "c8")
        f["none"] = h5py.Empty("f4")
        f["empty"] = np.zeros((0, 3))
        f["scalar"] = 1
        f.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
        f["group/sub/y"] = 1
        f["group"].attrs["a"] = np.arange(1000)
        f["up"] = f["/"]
        f["soft"], f["dangling"], f["circle"] = (
            h5py.SoftLink("/group"),
            h5py.SoftLink("/no"),
            h5py.SoftLink("circle"),
        )
        f["outer"] = h5py.ExternalLink("secret.h5", "/" + SECRET)
        f["outer_root"] = h5py.ExternalLink("secret.h5", "/")


PATHS = [
    "/",
    "/x",
    "/deflated",
    "/huge",
    "/table",
    "/text",
    "/flags",
    "/complex",
    "/none",
    "/empty",
    "/scalar",
    "/ragged",
    "/group",
    "/group/sub/y",
    "/up/up/x",
    "/soft/sub",
    "/dangling",
    "/circle",
    "/outer",
    "/outer_root/" + SECRET,
    "/outer_root",
]
VALUES = {
    "path": PATHS,
    "file": ["f.h5", "secret.h5", "../secret.h5", "./f.h5"],
    "selection": ["0", "0,1", ":,::3,4", "...", "1:2", "-1", ":0", "5:,3", "0:1,0:1"],
    "format": ["json", "bin", "npy", "csv", "tiff"],
    "dtype": ["safe", "origin"],
    "flatten": ["true", "false"],
    "resolve_links": ["all", "none", "only_valid"],
    "attr_keys": ["a", "b"],
    "reduce": ["minmax", "mean"],
    "points": ["5", "7,3", "1048576", "65536", "65537", "1024,1024"],
}


# Of files beside the example, by name: the paths of what is in them.
others = {}


def encoded(rng, text):
    return "".join(
        f"%{byte:02x}" if byte < 33 or byte > 126 or byte in b'&#?"<>' or rng.random() < 0.02 else chr(byte)
        for byte in text.encode("latin-1", "replace")
    )


def mutated(rng, text):
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 5])):
        at, odd = rng.randrange(len(text) + 1), rng.choice(ODD)
        text = rng.choice(
            [text[:at] + odd + text[at:], text[:at] + odd, text[:at], text[at:], odd, text + "/" + odd]
        )
    return text


def request(rng):
    parts = []
    of_other = {}
    if others:
        file = rng.choice(sorted(others))
        of_other = {"file": [file], "path": others[file]}
    for name in rng.sample(sorted(VALUES), rng.randrange(0, 5)) + ["path", *of_other.keys() - {"path"}]:
        value = mutated(rng, rng.choice(of_other.get(name, VALUES[name])))
        parts.append(f"{mutated(rng, name) if rng.random() < 0.02 else name}={encoded(rng, value)}")
    rng.shuffle(parts)
    place = rng.choice(["/api/", "/api/", "/.h5/api/"]) + rng.choice(ENDPOINTS)
    if rng.random() < 0.05:
        place = encoded(rng, mutated(rng, place))
    target = ("" if place.startswith("/") else "/") + place + "?" + rng.choice(["&", "&", "&&"]).join(parts)
    if rng.random() < 0.02:
        target = encoded(rng, mutated(rng, target))
    return target if target.startswith("/") else "/" + target


# What is in a file, as far as it says; some of it.
def paths_of(port, file):
    MOST = 100
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", f"/api/paths?file={file}")
        answer = connection.getresponse()
        return json.loads(answer.read())[:MOST] if answer.status == 200 else ["/"]
    except (http.client.HTTPException, ConnectionError, TimeoutError, ValueError):
        return ["/"]
    finally:
        connection.close()


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) >> 10


def check(method, target, answer, body):
    assert answer.status in STATUSES, (target, answer.status)
    # What the link itself names is told: it is this file's own.
    told = body.replace(SECRET.encode() + b'"', b"") if b"target" in body or b"message" in body else body
    assert answer.status != 200 or SECRET.encode() not in told or b"external_link" in body, (
        target,
        body[:300],
    )
    whole = answer.headers["Content-Type"] == "application/json" and len(body) < 1 << 20
    if method == "GET" and answer.status == 200 and whole:
        json.loads(body)
    if method == "GET" and "/api/" in target and answer.status in (403, 422):
        assert json.loads(body)["message"], target


# Sends so many requests, one after the other. `statuses`: counts of answers, and of those that were not
# waited for.
def ask(port, count, rng, statuses, served):
    connection = None
    for _ in range(count):
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        target, method = request(rng), rng.choice(["GET", "GET", "GET", "HEAD"])
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            connection.endheaders()
            answer = connection.getresponse()
            body = answer.read(1 << 20)
        except (ValueError, http.client.InvalidURL):
            connection = None
            continue
        except TimeoutError:
            connection.close()
            connection = None
            statuses["left"] = statuses.get("left", 0) + 1
            continue
        except (http.client.IncompleteRead, ConnectionError) as error:
            assert served.poll() is None, (target, error)
            connection = None
            statuses["cut off"] = statuses.get("cut off", 0) + 1
            continue
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        check(method, target, answer, body)
        if not answer.isclosed():
            connection.close()
            connection = None


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        write(place)
        source = f"{place}/f.h5"
        if sys.argv[4:]:
            source = f"{place}/all"
            os.mkdir(source)
            shutil.copy(f"{place}/f.h5", source)
            for number, file in enumerate(sys.argv[4:]):
                shutil.copy(file, f"{source}/{number}.h5")
        served = subprocess.Popen(
            [program, "--serve", "0", "-o", f"cache_size={CACHE_MIB}M", source],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            port = int(served.stdout.readline().strip().rsplit(":", 1)[1].strip("/"))
            others.update(
                {f"{number}.h5": paths_of(port, f"{number}.h5") for number in range(len(sys.argv[4:]))}
            )
            assert served.poll() is None, "the server has ended"
            print(f"{sum(map(len, others.values()))} paths of {len(others)} files", flush=True)
            statuses = {}
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
                for begin in range(0, count, STEP):
                    parts = [
                        clients.submit(
                            ask,
                            port,
                            STEP // CLIENTS,
                            random.Random(f"{seed} {begin} {client}"),
                            statuses,
                            served,
                        )
                        for client in range(CLIENTS)
                    ]
                    for part in parts:
                        part.result()
                    assert served.poll() is None, "the server has ended"
                    print(f"{begin + STEP} requests, at most {resident(served.pid)} MiB", flush=True)
            most = resident(served.pid)
        finally:
            served.terminate()
            code = served.wait(120)
        print(f"statuses {dict(sorted(statuses.items(), key=str))}, at most {most} MiB, exit {code}")
        assert code == 0, code
        with open(program, "rb") as file:
            sanitized = b"__asan_init" in file.read()
        assert sanitized or most < CACHE_MIB + ABOVE_CACHE_MIB, most


main()
