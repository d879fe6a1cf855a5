#!/usr/bin/env python3
"""Compares what the interface below /api/ answers with what h5grove's own code makes of the same files.

    H5GROVE=DIRECTORY scripts/compare_h5grove.py [--verbose] [--objects=N] [--seconds=N] H5MOUNT FILE…

DIRECTORY holds h5grove's package (`src` of its repository); it needs h5py, numpy and, for TIFF, tifffile.
Every object of every file, of many N (300), is asked for by every endpoint and format, each file in a process
of its own, as some end libhdf5's; after N seconds (300) of processor time a file's further questions are left
out. Counts and differences are printed, those with the same reason together; the status is 1 where there is
one without a reason (REASONS below). After SIGTERM it tells what it has found so far.
"""
import collections, ctypes, http.client, io, json, math, os, pickle, random
import resource, signal, subprocess, sys, time, types, urllib.parse

if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
import h5py, numpy as np

MOST_SHOWN = 40  # of a reason, and of a file without one
MOST_BYTES_SHOWN = 300


def option(name, unless_given):
    return next((int(word.split("=")[1]) for word in sys.argv if word.startswith(f"--{name}=")), unless_given)


MOST_OBJECTS = option("objects", 300)  # of a file, taken from among all evenly
MOST_SECONDS = option("seconds", 300)  # of processor time for a file
SECONDS_OF_ONE = 20  # of processor time, which libhdf5 may need for one question beyond that
MOST_READ = 32 << 20  # of an answer
MOST_MEMORY = 4 << 30
MOST_BYTES = 1 << 20  # of a dataset that is compared whole; larger ones by a selection


def orjson_stand_in():
    """The part of orjson that h5grove uses: numbers that are not finite are null, arrays are lists."""

    def plain(value, default):
        if isinstance(value, (float, np.floating)):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        if isinstance(value, (int, str)) or value is None:
            if isinstance(value, str):
                value.encode()  # no surrogates
            return value
        if isinstance(value, np.ndarray) and (
            value.dtype.kind in "biu" or value.dtype.kind == "f" and np.isfinite(value).all()
        ):
            return value.tolist() if value.dtype.itemsize <= 8 else plain(value.tolist(), default)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return plain(value.tolist(), default)
        if isinstance(value, dict):
            return {key: plain(item, default) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item, default) for item in value]
        return plain(default(value), default)

    module = types.ModuleType("orjson")
    module.OPT_SERIALIZE_NUMPY = 16
    module.dumps = lambda value, default=None, option=0: json.dumps(plain(value, default)).encode()
    return module


sys.modules["orjson"] = orjson_stand_in()
try:
    import tifffile
except ImportError:
    tifffile = None
    sys.modules["tifffile"] = types.ModuleType("tifffile")
if not os.environ.get("H5GROVE"):
    sys.exit("H5GROVE is to name the directory of h5grove's package")
sys.path.insert(0, os.environ["H5GROVE"])
from h5grove.content import DatasetContent, ResolvedEntityContent, get_content_from_file, get_list_of_paths
from h5grove.encoders import encode


class Refused(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def theirs(file, endpoint, query):
    """(status, bytes); 500 stands for what h5grove does not catch."""
    try:
        if endpoint == "paths":
            with get_list_of_paths(file, query.get("path"), Refused, query.get("resolve_links")) as content:
                return 200, encode(content).content
        with get_content_from_file(file, query.get("path"), Refused, query.get("resolve_links")) as content:
            if endpoint == "meta":
                return 200, encode(content.metadata()).content
            if endpoint == "attr":
                return 200, encode(content.attributes()).content
            if not isinstance(content, DatasetContent):
                raise TypeError("not a dataset")
            if endpoint == "stats":
                return 200, encode(content.data_stats(query.get("selection"))).content
            data = content.data(query.get("selection"), query.get("flatten") == "true", query.get("dtype"))
            return 200, encode(data, query.get("format")).content
    except Refused as refused:
        return refused.status, refused.message.encode()
    except Exception as error:
        return 500, f"{type(error).__name__}: {error}".encode()


def be_server():
    resource.setrlimit(resource.RLIMIT_AS, 2 * (resource.getrlimit(resource.RLIMIT_AS)[1],))
    PR_SET_PDEATHSIG, SIGKILL = 1, 9
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)


class Server:
    def __init__(self, program, file):
        self.process = subprocess.Popen(
            [program, "--serve", "0", "-o", "external=any", file],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=be_server,
        )
        self.url = self.process.stdout.readline().strip()
        self.connection = None

    def get(self, endpoint, query):
        target = f"/api/{endpoint}?{urllib.parse.urlencode(query)}"
        for connection in (self.connection, http.client.HTTPConnection(self.url.split("/")[2], timeout=300)):
            if connection is None:
                continue
            self.connection = connection
            try:
                connection.request("GET", target)
                answer = connection.getresponse()
                text = answer.read(MOST_READ)
                if len(text) < MOST_READ and not answer.length:
                    return answer.status, text
                connection.close()
                return answer.status, text[:MOST_BYTES_SHOWN] + (
                    b" [goes on]" if len(text) == MOST_READ else b" [cut off]"
                )
            except http.client.IncompleteRead as cut:
                self.connection = None
                return answer.status, cut.partial + b" [cut off]"
            except (http.client.HTTPException, ConnectionError):
                continue
        raise RuntimeError(f"no answer to {target}")

    def end(self):
        self.process.terminate()
        self.process.wait()


def same_number(a, b):
    if a == b or (a is None and b is None):
        return True
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        # A float of 4 or 2 bytes has its own shortest digits here.
        with np.errstate(over="ignore"):
            return np.float32(a) == np.float32(b)
    return False


def same(a, b):
    if type(a) is type(b) and a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return same_number(a, b)


def close(a, b, most=0):
    """Statistics: sums of other orders, of numbers up to `most`. One of integers is truncated."""
    if a is None or b is None:
        return a == b
    return a == b or abs(a - b) <= max(
        1e-5 * max(abs(a), abs(b)), 1 if isinstance(a, int) else 0, 1e-30, 1e-12 * most
    )


def equal(endpoint, query, mine, his):
    form = query.get("format", "json")
    if endpoint == "stats":
        a, b = json.loads(mine), json.loads(his)
        most = max(abs(b["min"] or 0), abs(b["max"] or 0))
        return a.keys() == b.keys() and all(close(a[key], b[key], most) for key in a)
    if form == "json":
        return same(json.loads(mine), json.loads(his))
    if form == "bin":
        return mine == his
    if form == "npy":
        a, b = np.load(io.BytesIO(mine)), np.load(io.BytesIO(his))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if form == "csv" and mine == his:
        return True
    if form == "csv":
        a, b = (
            [
                [
                    float(cell) if "j" not in cell else complex(cell.strip().replace("+-", "-"))
                    for cell in row.split(",")
                ]
                for row in text.decode().replace("(", "").replace(")", "").splitlines()
            ]
            for text in (mine, his)
        )
        return np.array_equal(np.array(a).astype("c8"), np.array(b).astype("c8"), equal_nan=True)
    a, b = tifffile.imread(io.BytesIO(mine)), tifffile.imread(io.BytesIO(his))
    return np.array_equal(np.squeeze(a), np.squeeze(b), equal_nan=a.dtype.kind == "f")


def leaves(dtype):
    if dtype.subdtype:
        yield from leaves(dtype.subdtype[0])
    elif dtype.fields:
        for field in dtype.fields.values():
            yield from leaves(field[0])
    else:
        yield dtype


def same_values(difference):
    """Whether one number is the other one's bytes in reverse."""
    if difference.query["format"] == "bin":
        return difference.mine == difference.his[::-1]
    a, b = np.load(io.BytesIO(difference.mine)), np.load(io.BytesIO(difference.his))
    return a.shape == b.shape == () and a == b


def same_floats(difference):
    """Whether bytes are the same floats, where one that is no number is any such."""
    for size in (4, 8):
        if len(difference.mine) == len(difference.his) and len(difference.mine) % size == 0:
            if np.array_equal(
                *(np.frombuffer(text, f"<f{size}") for text in (difference.mine, difference.his)),
                equal_nan=True,
            ):
                return True
    return False


def same_pixels(difference):
    a, b = (tifffile.imread(io.BytesIO(text)) for text in (difference.mine, difference.his))
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def is_of_halves(difference):
    """Whether statistics differ as far as floats of 2 bytes are inexact, or their squares are none."""
    a, b = json.loads(difference.mine), json.loads(difference.his)

    def near(key):
        if b[key] is None:
            return key == "std" and max(abs(a["min"]), abs(a["max"])) ** 2 > np.finfo("f2").max
        return abs(a[key] - b[key]) <= 2**-10 * abs(b[key])

    return all(a[key] == b[key] for key in ("min", "max")) and near("mean") and near("std")


def without_wide_floats(text):
    def plain(described):
        if described.get("class") == 1 and 8 < described["size"] < 16:
            del described["dtype"]
        return described

    return json.loads(text, object_hook=plain)


def overflows(difference):
    """Whether statistics differ where squares are no floats of 4 bytes."""
    a, b = json.loads(difference.mine), json.loads(difference.his)
    return (
        b["std"] is None
        and a["max"] ** 2 > np.finfo("f4").max
        and all(close(a[key], b[key]) for key in b if key != "std")
    )


# (what it is, whether it explains a difference of (endpoint, query, status here, bytes, status there, bytes))
REASONS = [
    (
        "h5grove fails (500): here it is answered, or refused with a status that says why",
        lambda d: d.his_status == 500,
    ),
    (
        "pointers of h5py's memory, which h5grove sends as bytes, are refused here (422)",
        lambda d: d.query.get("format") == "bin" and d.status == 422 and d.marks.objects,
    ),
    (
        "the bytes of an empty dataset are none here, those of a Python object there",
        lambda d: d.query.get("format") == "bin" and d.mine == b"",
    ),
    (
        "one sequence of variable length, selected alone, is an array to h5py: here it is JSON only (422)",
        lambda d: d.status == 422 and d.his_status == 200 and d.marks.objects,
    ),
    (
        "a text that is selected alone has the bytes of its type here, none of its trailing zeros there",
        lambda d: d.query.get("format") == "bin" and d.mine.rstrip(b"\0") == d.his.rstrip(b"\0"),
    ),
    (
        (
            "what lies between the members of compounds and beside the bits of floats is the file's here, of"
            " memory there"
        ),
        lambda d: d.query.get("format") == "bin"
        and d.status == d.his_status == 200
        and len(d.mine) == len(d.his)
        and d.marks.gaps,
    ),
    (
        "numbers without a type of NumPy's own, in compounds, are refused here as bytes (422)",
        lambda d: d.query.get("format") == "bin" and d.status == 422 and b"NumPy has no type" in d.mine,
    ),
    (
        "floats of more than 8 bytes that fit 8 have 8 here, 16 there",
        lambda d: d.marks.wide_floats
        or d.endpoint == "meta"
        and without_wide_floats(d.mine) == without_wide_floats(d.his),
    ),
    (
        "another one of the bit patterns that are no number",
        lambda d: d.query.get("format") == "bin" and same_floats(d),
    ),
    (
        "TIFF has all pages in one row here: tifffile writes the dimensions into a comment of its own",
        lambda d: d.query.get("format") == "tiff" and d.status == d.his_status == 200 and same_pixels(d),
    ),
    (
        "of floats of 2 bytes, mean and deviation are computed in that format there, which may overflow",
        lambda d: d.endpoint == "stats" and d.status == d.his_status == 200 and is_of_halves(d),
    ),
    (
        "of floats of 4 bytes, the deviation is computed in that format there, and overflows",
        lambda d: d.endpoint == "stats" and overflows(d),
    ),
    (
        "groups that track the order of creation without indexing it are listed by name here",
        lambda d: d.endpoint == "meta"
        and d.status == d.his_status == 200
        and by_name(d.mine) == by_name(d.his),
    ),
    ("datasets of 2^63 bytes and more are not read here", lambda d: b"2^63 bytes" in d.mine),
    (
        (
            "images of more than 8 bytes a sample, of complex numbers and of one dimension are refused here"
            " (422)"
        ),
        lambda d: d.query.get("format") == "tiff" and d.status == 422,
    ),
    (
        "groups that index the order of creation are listed in that order here, by `paths` as by `meta`",
        lambda d: d.endpoint == "paths"
        and d.status == d.his_status == 200
        and sorted(json.loads(d.mine)) == sorted(json.loads(d.his)),
    ),
    ("a request of more than 16 KiB is refused here (414)", lambda d: d.status == 414),
    (
        (
            "an element that is selected alone has the file's order of bytes here, as `meta` says, the"
            " processor's there"
        ),
        lambda d: d.query.get("format") in ("bin", "npy")
        and d.status == d.his_status == 200
        and same_values(d),
    ),
    (
        "h5py writes a region reference that is null without a bracket",
        lambda d: b"(null)>" in d.mine
        and json.loads(d.mine.replace(b"(null)>", b"(null>")) == json.loads(d.his),
    ),
    (
        "statistics of no numbers are refused here, also of none of them (422)",
        lambda d: d.endpoint == "stats" and d.status == 422 and b'"min": null' in d.his,
    ),
    (
        (
            "of complex numbers, statistics there are those of the real parts, cut to integers: they are"
            " refused here (422)"
        ),
        lambda d: d.endpoint == "stats" and d.status == 422 and d.his_status == 200 and d.marks.complex,
    ),
    (
        "of sequences of big-endian numbers, h5py does not swap the bytes",
        lambda d: d.endpoint in ("attr", "data")
        and d.marks.swapped
        and d.query.get("format", "json") == "json"
        and d.status == d.his_status == 200,
    ),
    (
        (
            "members of compounds are in the order of the type here, as in `meta`, in that of their offsets"
            " there"
        ),
        lambda d: d.marks.disordered
        and d.query.get("format", "json") == "json"
        and d.status == d.his_status == 200
        and same_leaves(json.loads(d.mine), json.loads(d.his)),
    ),
    (
        "the value of an attribute that cannot be read is null here",
        lambda d: d.endpoint == "attr"
        and d.status == d.his_status == 200
        and null_or_same(json.loads(d.mine), json.loads(d.his)),
    ),
    (
        (
            "what libhdf5 makes of damaged bytes, a name that it does not find among them too, is an error"
            " here, which names their place (500)"
        ),
        lambda d: d.status == 500
        and d.his_status in (200, 404)
        and b" at 0x" in d.mine
        and "/hostile/" in d.file,
    ),
    (
        "damage is local here: h5py gives less",
        lambda d: d.endpoint in ("meta", "attr", "paths") and b'"error"' in d.mine,
    ),
]
Difference = collections.namedtuple("Difference", "file endpoint query status mine his_status his marks")
# What explains differences of an object: Python's objects, bytes of no meaning, floats of odd sizes, complex
# numbers; sequences of big-endian numbers and compounds whose members are not in the order of their offsets,
# those of attributes too.
Marks = collections.namedtuple(
    "Marks", "objects gaps wide_floats complex swapped disordered", defaults=(False,) * 6
)


def holds(explains, difference):
    try:
        return explains(difference)
    except Exception:
        return False


def null_or_same(mine, his):
    return mine.keys() == his.keys() and all(mine[key] is None or same(mine[key], his[key]) for key in mine)


def same_leaves(mine, his):
    """Whether both are of the same values, whatever their order."""

    def flat(value):
        items = value.values() if isinstance(value, dict) else value
        return (
            [leaf for item in items for leaf in flat(item)]
            if isinstance(value, (dict, list))
            else [json.dumps(value)]
        )

    return sorted(flat(mine)) == sorted(flat(his))


def by_name(text):
    out = json.loads(text)
    out["children"] = sorted(out.get("children", []), key=lambda child: child["name"])
    return out


def objects(file):
    """Paths of all links, by hard links each group once, and what they lead to."""
    out = [("/", file["/"])]
    seen = set()

    def walk(group, prefix):
        info = h5py.h5o.get_info(group.id)
        if (info.fileno, info.addr) in seen:
            return
        seen.add((info.fileno, info.addr))
        try:
            names = list(group)
        except Exception:
            return
        for name in names:
            path = f"{prefix}/{name}"
            try:
                link = group.get(name, getlink=True)
                target = group[name]
            except Exception:
                link, target = None, None
            out.append((path, target))
            if isinstance(target, h5py.Group) and isinstance(link, h5py.HardLink):
                walk(target, path)

    walk(file["/"], "")
    return out


def questions(path, target):
    for resolution in (None, "none", "only_valid", "all"):
        yield "meta", {"path": path, **({"resolve_links": resolution} if resolution else {})}
    if target is None:
        return
    yield "attr", {"path": path}
    if isinstance(target, h5py.Group):
        yield "paths", {"path": path}
    if not isinstance(target, h5py.Dataset):
        return
    try:
        few = target.size is None or target.size * max(target.dtype.itemsize, 8) <= MOST_BYTES
        rank = len(target.shape or ())
        shape = target.shape or ()
    except Exception:
        few, rank, shape = True, 0, ()
    selections = [None] if few else []
    if rank:
        selections += [
            ",".join(["0:3"] + [":" if few else "1:4"] * (rank - 1)),
            ",".join(["-1"] + [":2"] * (rank - 1)),
        ]
        if rank > 1:
            selections.append(",".join(["::2" if few else ":9:2"] * (rank - 1) + ["0"]))
    for selection in selections:
        chosen = {"selection": selection} if selection else {}
        for form in ("json", "bin", "npy", "csv") + (("tiff",) if tifffile else ()):
            yield "data", {"path": path, "format": form, **chosen}
        yield "data", {"path": path, "flatten": "true", **chosen}
        yield "data", {"path": path, "format": "bin", "dtype": "safe", **chosen}
        yield "stats", {"path": path, **chosen}


def parts_of(stored):
    """A type of the file and all that it is made of."""
    yield stored
    if isinstance(stored, h5py.h5t.TypeCompoundID):
        for i in range(stored.get_nmembers()):
            yield from parts_of(stored.get_member_type(i))
    elif isinstance(stored, (h5py.h5t.TypeArrayID, h5py.h5t.TypeVlenID)):
        yield from parts_of(stored.get_super())


def is_swapped(part):
    if not isinstance(part, h5py.h5t.TypeVlenID):
        return False
    item = part.get_super()
    return (
        isinstance(item, (h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID))
        and item.get_order() == h5py.h5t.ORDER_BE
    )


def is_disordered(part):
    if not isinstance(part, h5py.h5t.TypeCompoundID):
        return False
    offsets = [part.get_member_offset(i) for i in range(part.get_nmembers())]
    return offsets != sorted(offsets)


def attribute_names(target):
    try:
        return list(target.attrs)
    except Exception:
        return []  # as where one is damaged


def attribute_types(target):
    for name in attribute_names(target):
        try:
            yield h5py.h5a.open(target.id, name.encode()).get_type()
        except Exception:
            pass


def marks_of(target):
    dataset = isinstance(target, h5py.Dataset)
    stored = [target.id.get_type()] if dataset else []
    parts = [part for one in (*stored, *attribute_types(target)) for part in parts_of(one)]
    kinds = list(leaves(target.dtype)) if dataset else []
    return Marks(
        any(kind.kind == "O" for kind in kinds),
        len(kinds) > 1 or any(kind.char in "gG" for kind in kinds),
        any(isinstance(one, h5py.h5t.TypeFloatID) and 8 < one.get_size() < 16 for one in stored),
        any(kind.kind == "c" for kind in kinds),
        any(map(is_swapped, parts)),
        any(map(is_disordered, parts)),
    )


def compare_apart(program, file, found):
    """In another process. What it found is lost where libhdf5 ends that."""
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, 2 * (MOST_SECONDS + SECONDS_OF_ONE,))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        out = collections.defaultdict(list)
        compare(program, file, out)
        with os.fdopen(write_end, "wb") as pipe:
            pickle.dump(out, pipe)
        sys.stdout.flush()
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        told = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        found["files that end libhdf5's process"].append(file)
        return
    for name, list_ in pickle.loads(told).items():
        found[name] += list_


def compare(program, file, found):
    try:
        with h5py.File(file, "r") as opened:
            marks = {}
            asked = []
            every = objects(opened)
            for path, target in every[:: len(every) // MOST_OBJECTS + 1]:
                try:
                    marks[path] = Marks() if target is None else marks_of(target)
                except Exception:
                    marks[path] = Marks()
                asked += questions(path, target)
    except Exception as error:
        found["files that h5py does not open"].append(f"{file}: {error}")
        return
    server = Server(program, file)
    if not server.url:
        found["files that are not served"].append(file)
        return
    random.Random(file).shuffle(asked)  # so that those that are left out are of all kinds
    for endpoint, query in asked:
        if time.process_time() > MOST_SECONDS:
            found["files of which questions were left out"].append(file)
            break
        status, mine = server.get(endpoint, query)
        his_status, his = theirs(file, endpoint, query)
        kind = kind_of(endpoint, query)
        found["answers"].append(kind)
        try:
            agree = status == his_status and (status != 200 or equal(endpoint, query, mine, his))
        except Exception as error:
            mine, agree = mine + f" [{error}]".encode(), False
        if agree:
            found["equal"].append(kind)
            continue
        difference = Difference(file, endpoint, query, status, mine, his_status, his, marks[query["path"]])
        name = next((name for name, explains in REASONS if holds(explains, difference)), None)
        difference = difference._replace(mine=mine[:MOST_BYTES_SHOWN], his=his[:MOST_BYTES_SHOWN])
        if name:
            found["reason: " + name].append(difference)
        else:
            found["unexplained"].append(difference)
            if len(found["unexplained"]) <= MOST_SHOWN:
                print("unexplained", shown(difference), flush=True)
    server.end()


def kind_of(endpoint, query):
    return f"data as {query.get('format', 'json')}" if endpoint == "data" else endpoint


def print_kinds(found):
    differences = [
        (name, difference)
        for name, list_ in found.items()
        for difference in list_
        if isinstance(difference, Difference)
    ]
    with_reason = collections.Counter(
        kind_of(d.endpoint, d.query) for name, d in differences if name != "unexplained"
    )
    unexplained = collections.Counter(
        kind_of(d.endpoint, d.query) for name, d in differences if name == "unexplained"
    )
    answers, equal = (collections.Counter(found[name]) for name in ("answers", "equal"))
    print(f"{'':14} {'answers':>8} {'equal':>8} {'a reason':>8} {'none':>8}")
    for kind in sorted(answers):
        print(f"{kind:14} {answers[kind]:8} {equal[kind]:8} {with_reason[kind]:8} {unexplained[kind]:8}")


def shown(difference):
    if not isinstance(difference, Difference):
        return str(difference)
    return (
        f"{os.path.basename(difference.file)} {difference.endpoint} {difference.query}\n      here  "
        f" {difference.status} {difference.mine}\n      theirs {difference.his_status} {difference.his}"
    )


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    found = collections.defaultdict(list)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for file in words[1:]:
            compare_apart(words[0], file, found)
            found["files"].append(file)
    except KeyboardInterrupt:
        print("ended before its last file")
    print_kinds(found)
    for name, list_ in sorted(found.items(), key=lambda entry: -len(entry[1])):
        print(f"{len(list_):8} {name}")
        if "--verbose" in sys.argv and name not in ("answers", "equal", "files", "unexplained"):
            for difference in list_[:MOST_SHOWN]:
                print("   ", shown(difference))
    return 1 if found["unexplained"] else 0


sys.exit(main())
