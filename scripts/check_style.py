#!/usr/bin/env python3
"""Checks the rules of docs/CONTRIBUTING.md that need no compiler.

    check_style.py [--rules RULE,…]

Rules: includes (only along the arrows of MAY_USE and MAY_USE_FOLDERS, without circles), lengths (files of at
most 500 lines, functions of at most 70, folders of at most 40 files), columns (lines of at most 110, of
Python too), locks (annotated ones only), reads (sources fill by fill_whole), citations (documents cited in
comments exist), dead (functions that a header declares and nothing uses), names (sources of tests are
test_x.cpp), joined (names of unnamed namespaces that two sources of a module have, or that hide a function of
its headers: they are compiled together), promise (docs/promise.md names tests that exist), python (programs
in Python stand in files, not in strings of tests). Prints `file:line: message`; exit code 1 where there is
any.
"""
import argparse, bisect, collections, fnmatch, os, re, sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
MAX_FILE_LINES = 500
MAX_FILES = 40  # of a folder
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 110
MAX_PYTHON_LINES = 10  # in a string

# The modules that each module may include besides itself and base: the arrows of docs/architecture.md.
MAY_USE = {
    "base": [],
    "sign": [],
    "io": [],
    "remote": ["io", "sign"],
    "format": [],
    "filter": [],
    "cache": [],
    "metadata": ["io", "format", "filter"],
    "chunk": ["metadata", "format"],
    "ahead": ["chunk", "metadata", "format", "filter"],
    "object": ["ahead", "metadata", "format", "io"],
    "salvage": ["chunk", "object", "metadata", "format", "filter", "io"],
    "dataset": ["object", "chunk", "filter", "cache", "metadata", "format", "io"],
    "text": ["metadata", "format", "filter"],
    "view": ["meaning", "text", "dataset", "object", "ahead", "metadata", "format"],
    "meaning": ["text", "dataset", "object", "metadata", "format", "cache"],
    "join": ["meaning", "text", "dataset", "object", "metadata", "format", "io", "cache"],
    "tree": [
        "cache",
        "join",
        "view",
        "meaning",
        "text",
        "dataset",
        "object",
        "ahead",
        "metadata",
        "format",
        "filter",
        "io",
    ],
    "store": ["tree"],
    "check": ["text", "dataset", "chunk", "object", "metadata", "format", "filter", "cache", "io"],
    "fuse": ["tree", "dataset"],
    "survive": ["fuse", "tree", "dataset"],
    "front": ["tree", "view", "text", "dataset", "object", "metadata", "format", "cache", "sign"],
    "serve": ["front", "tree", "view", "text", "dataset", "object", "format", "sign"],
    "cli": [
        "salvage",
        "remote",
        "sign",
        "serve",
        "store",
        "fuse",
        "survive",
        "front",
        "check",
        "tree",
        "join",
        "text",
        "dataset",
        "object",
        "cache",
        "filter",
        "format",
        "io",
    ],
}
# Modules whose sources lie in folders: which others each folder may include besides itself; "" stands for the
# files that are in none. Those may include every folder.
MAY_USE_FOLDERS = {
    "tree": {
        "core": [],
        "objects": ["core"],
        "views": ["objects", "core"],
        "zarr": ["views", "objects", "core"],
        "references": ["zarr", "views", "objects", "core"],
        "icechunk": ["references", "views", "objects", "core"],
        "forest": ["", "views", "objects", "core"],
    },
    "dataset": {
        "core": [],
        "chunked": ["core"],
        "convert": ["core"],
        "concat": ["convert", "core"],
        "sparse": ["chunked", "core"],
        "concat": ["convert", "core"],
        "virtual": ["convert", "core"],
    },
    "salvage": {
        "find": [],
        "mend": ["find"],
        "chunks": ["mend", "find"],
    },
    "meaning": {
        "maps": [""],
        "pandas": [""],
    },
    "join": {
        "cards": [""],
        "made": [""],
        "plan": ["cards", ""],
    },
    "view": {
        "table": [""],
        "parquet": ["", "table"],
        "zarr": [""],
    },
    "cli": {
        "words": [],
        "open": ["words"],
        "mount": ["open", "words"],
    },
    "fuse": {
        "loop": [],
        "ops": ["loop"],
        "listings": ["ops", "loop"],
        "session": ["listings", "ops", "loop"],
    },
    "remote": {
        "transport": [],
        "aws": ["transport"],
        "cache": [],
    },
    "serve": {
        "http": [],
        "source": ["http"],
        "api": ["source", "http"],
        "site": ["api", "source", "http"],
        "s3": ["site", "source", "http"],
    },
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEPENDENCY = re.compile(r"\b([a-z]+)_dep\b")


def all_files():
    """Paths from the root of all sources, in an archive without git too; not those of build directories."""
    found = [name for name in os.listdir(ROOT) if os.path.isfile(os.path.join(ROOT, name))]
    for top in ("src", "include", "tests", "scripts", "docs"):
        for place, _, names in os.walk(os.path.join(ROOT, top)):
            found += [os.path.relpath(os.path.join(place, name), ROOT) for name in names]
    return sorted(found)


def tracked(*patterns):
    return [name for name in all_files() if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def module_of(name):
    parts = name.split("/")
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[2] if parts[:2] == ["include", "h5mount"] else None


# ---- includes


def check_includes(name, text):
    module = module_of(name)
    if module is None:
        return
    if module not in MAY_USE:
        yield 1, f"module {module} is not in MAY_USE"
        return
    if name.endswith(".h") and "#pragma once" not in text:
        yield 1, "no #pragma once"
    allowed = {module, "base", *MAY_USE[module]}
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, included = match.group(1) == '"', match.group(2)
        if included.startswith("h5mount/"):
            other = included.split("/")[1]
            if other not in allowed:
                yield number, f"{module} may not use {other}"
            elif not os.path.exists(os.path.join(ROOT, "include", included)):
                yield number, f"no such public header: {included}"
        elif quoted and not os.path.exists(os.path.join(ROOT, os.path.dirname(name), included)):
            yield number, f"{included} is not a private header of {module}"
        if included.startswith("fuse") and not quoted and module != "fuse":
            yield number, "only the module fuse may use libfuse"
        if re.match(r"hdf5|H5[A-Z]*public|H5Cpp", included):
            yield number, "the product does not use libhdf5"


def check_links(module):
    """Link dependencies in the module's meson.build that MAY_USE does not allow."""
    named = set(DEPENDENCY.findall(read(f"src/{module}/meson.build")))
    for other in sorted((named & MAY_USE.keys()) - {module, "base", *MAY_USE[module]}):
        yield 1, f"{module} may not link {other}"


def folder_of(name):
    """The folder of a source of a module that has folders: "" beside them; None in other modules."""
    parts = name.split("/")
    if parts[0] != "src" or len(parts) < 3 or parts[1] not in MAY_USE_FOLDERS:
        return None
    return parts[2] if len(parts) > 3 else ""


def private_includes(name, text):
    """(line, path from the root) of each private header that a source includes."""
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match and match.group(1) == '"' and not match.group(2).startswith("h5mount/"):
            yield number, os.path.normpath(os.path.join(os.path.dirname(name), match.group(2)))


def check_folders(name, text):
    folder = folder_of(name)
    if not folder:
        return
    folders = MAY_USE_FOLDERS[name.split("/")[1]]
    if folder not in folders:
        yield 1, f"folder {folder} is not in MAY_USE_FOLDERS"
        return
    for number, included in private_includes(name, text):
        other = folder_of(included)
        if other is not None and other not in (folder, *folders[folder]):
            yield number, f"folder {folder} may not use {other or 'files that are in no folder'}"


def circles(arrows):
    """Each circle of the graph once, as the list of its places; `arrows`: place to places."""
    state, path, found = {}, [], []

    def enter(place):
        state[place] = "on the path"
        path.append(place)
        for other in sorted(arrows.get(place, ())):
            if other not in state:
                enter(other)
            elif state[other] == "on the path":
                found.append(path[path.index(other) :])
        path.pop()
        state[place] = "left"

    for place in sorted(arrows):
        if place not in state:
            enter(place)
    return found


def check_circles(texts):
    """Circles of sources, a header and the source of its name being one place."""
    arrows = collections.defaultdict(set)
    for name, text in texts.items():
        own = os.path.splitext(name)[0]
        for _, included in private_includes(name, text):
            if included in texts and os.path.splitext(included)[0] != own:
                arrows[own].add(os.path.splitext(included)[0])
    for circle in circles(arrows):
        yield circle[0] + ".cpp", 1, "a circle of includes: " + " -> ".join([*circle, circle[0]])


# ---- lengths


def without_comments_and_strings(text):
    """The same text, line for line, with comments and literals blanked out."""
    token = re.compile(
        r'R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
        r"|//[^\n]*|/\*(?:.|\n)*?\*/"
    )
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def kind_of_block(head):
    """The kind of block that follows `head`, the text since the last `;`, `{` or `}`."""
    head = head.strip()
    if re.search(r"\bnamespace\b", head):
        return "scope"
    if re.search(r"\b(class|struct|union|enum)\b", head) and not re.search(
        r"\)\s*(const|noexcept|override|->|$)", head
    ):
        return "scope"
    if re.search(r"\bextern\s*$", head):
        return "scope"
    return "function" if ")" in head else "other"


def functions(text):
    """(first line, last line) of every function body at namespace or class scope; lambdas belong to their
    function."""
    code = re.sub(
        r"^\s*#.*(?:\\\n.*)*$",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        without_comments_and_strings(text),
        flags=re.M,
    )
    stack, head_start, line = [], 0, 1
    newlines = [position for position, char in enumerate(code) if char == "\n"]

    def line_of(position):
        return bisect.bisect_left(newlines, position) + 1

    for position, char in enumerate(code):
        if char == "{":
            head = code[head_start:position]
            inside = any(kind != "scope" for kind, _ in stack)
            first = head_start + len(head) - len(head.lstrip())
            stack.append(("inner" if inside else kind_of_block(head), first))
            head_start = position + 1
        elif char == "}":
            if stack:
                kind, first = stack.pop()
                if kind == "function":
                    yield line_of(first), line_of(position)
            head_start = position + 1
        elif char == ";":
            head_start = position + 1


def check_numbers(names):
    """Folders with more sources than anybody looks through."""
    for folder, number in sorted(collections.Counter(os.path.dirname(name) for name in names).items()):
        if number > MAX_FILES:
            yield folder, 1, f"{number} files, at most {MAX_FILES}"


def check_lengths(name, text):
    lines = text.split("\n")
    if len(lines) - 1 > MAX_FILE_LINES:
        yield 1, f"{len(lines) - 1} lines, at most {MAX_FILE_LINES}"
    if name.startswith("tests/"):
        return  # tables of cases may be long
    for first, last in functions(text):
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, f"a function of {last - first + 1} lines, at most {MAX_FUNCTION_LINES}"


def check_columns(text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, at most {MAX_COLUMNS}"


PLAIN_LOCK = re.compile(r"\bstd::(mutex|condition_variable\w*|lock_guard|scoped_lock)\b")


def check_locks(name, text):
    if name.endswith("thread_annotations.h"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        if found := PLAIN_LOCK.search(line.split("//")[0]):
            why = "clang cannot check its use; base/thread_annotations.h has ones that it can"
            yield number, f"{found[0]}: {why}"


SOURCE_CLASS = re.compile(r"^class (\w+)[^;{]*:[^;{]*\b(?:io::)?ByteSource\b[^;{]*\{", re.MULTILINE)
WHOLE_READ = "Status read_at(std::uint64_t offset, MutableByteSpan out) const override {\n    return "


def check_reads(text):
    """A source counts what it fills: io::fill_whole is all that its read_at consists of."""
    for found in SOURCE_CLASS.finditer(text):
        at = text.find(WHOLE_READ, found.end())
        if at < 0 or not text.startswith(("fill_whole(", "io::fill_whole("), at + len(WHOLE_READ)):
            yield text.count("\n", 0, found.start()) + 1, f"{found[1]}::read_at does not return fill_whole(…)"


# ---- citations

DOCUMENT = re.compile(r"(?<![\w./%-])((?:[\w.-]+/)*[\w-]+\.(?:md|py|sh))\b")
SHOUTED = re.compile(r"\b(CONTRACT|DESIGN|FORMAT-NOTES|FUSE-NOTES|FACTS)\b")


def check_citations(name, text, documents):
    """Documents that a comment names: by their path from the root, from the file, or by their name alone."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = (
            line[line.find("//") :]
            if "//" in line
            else line
            if name.endswith((".md", ".py", ".build"))
            else ""
        )
        for match in SHOUTED.finditer(comment):
            if not name.endswith(".py"):
                yield number, f"{match.group(1)} is not a document of this repository"
        if name.endswith(".py"):
            continue
        for cited in DOCUMENT.findall(comment):
            if os.path.basename(cited) not in documents:
                yield number, f"no such document: {cited}"


# ---- the promise

TEST = re.compile(r"^TEST(?:_F|_P|_VIEW)?\(\s*(\w+)\s*,\s*(\w+)", re.M)
NAMED_TEST = re.compile(r"\[(\w+\.\w+)\](?!\()")


def unittests(text):
    """Class.name of each test of Python's unittest."""
    for part in re.split(r"^(?=class )", text, flags=re.M):
        if found := re.match(r"class (\w+)", part):
            yield from (f"{found[1]}.{name}" for name in re.findall(r"^    def (test_\w+)", part, re.M))


def check_promise(text, texts):
    """Every row of the tables names its tests, and they exist."""
    known = {".".join(match) for body in texts.values() for match in TEST.findall(body)}
    known.update(name for file in tracked("tests/*.py") for name in unittests(read(file)))
    promises = False  # what is above the first table of promises are words about them
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("| "):
            promises = False
        elif line == "| promise | held by |":
            promises = True
        elif promises and line != "| --- | --- |":
            named = NAMED_TEST.findall(line)
            if not named:
                yield number, "a promise that no test holds"
            for name in named:
                if name not in known:
                    yield number, f"no such test: {name}"


# ---- Python in strings

RAW_STRING = re.compile(r'R"(\w*)\(((?:.|\n)*?)\)\1"')
PYTHON_LINE = re.compile(
    r"^\s*(?:import \w|from [\w.]+ import |def \w+\(.*\):|(?:for|with|while|if) .*:|assert |print\(|f\[)",
    re.M,
)


def check_python(name, text):
    """A few lines of Python that write a test's file may stand in a string, programs may not."""
    long = [
        match
        for match in RAW_STRING.finditer(text)
        if PYTHON_LINE.search(match[2]) and len(match[2].strip().split("\n")) > MAX_PYTHON_LINES
    ]
    for match in long:
        yield (
            text.count("\n", 0, match.start()) + 1,
            f"{len(match[2].strip().split(chr(10)))} lines of Python in a string, at most {MAX_PYTHON_LINES}",
        )


# ---- dead functions

DECLARED = re.compile(r"\b([a-z][a-z0-9_]{3,})\s*\(")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = {
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "catch",
    "static_assert",
    "decltype",
    "alignas",
    "requires",
    "noexcept",
    "explicit",
    "operator",
    "assert",
    "defined",
}


def check_dead(sources, texts):
    """Functions of headers that occur nowhere but in their declaration and definition."""
    codes = {name: without_comments_and_strings(text) for name, text in texts.items()}
    words = collections.Counter(word for code in codes.values() for word in WORD.findall(code))
    calls = collections.Counter(word for code in codes.values() for word in DECLARED.findall(code))
    for name in sources:
        if not name.endswith(".h"):
            continue
        bodies = [(first, last) for first, last in functions(texts[name]) if last > first]
        for number, line in enumerate(codes[name].split("\n"), 1):
            if line.lstrip().startswith("#") or "return" in line:
                continue
            if any(first < number <= last for first, last in bodies):
                continue
            for function in DECLARED.findall(line.split("H5_THREAD_ATTRIBUTE")[0]):
                seen = words[function]
                if function not in KEYWORDS and seen == calls[function] and seen <= (1 if "{" in line else 2):
                    yield name, number, f"nothing uses {function}"


# ---- sources that are compiled together

NAMED_TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
NAMED_VALUE = re.compile(
    r"^(?:inline |static |constexpr |const |thread_local )+[\w:<>,\s*&]*?\b(\w+)(?:\[[^\]]*\])*\s*(?:=|\{|$)"
)
NAMED_FUNCTION = re.compile(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)[^()]*$")


def parameter_types(parameters):
    """The types in a list of parameters, as near as a script comes to it: without names and defaults."""
    parts = [re.sub(r"=.*", "", part).strip() for part in parameters.split(",")]
    return ",".join(re.sub(r"(?<=[\s&*>])\w+$", "", part).replace(" ", "") for part in parts)


def name_declared(head):
    """What a declaration at namespace scope, up to its `{` or `;`, makes known; None where it is nothing of
    its own."""
    head = re.sub(r"\[\[[^\]]*\]\]", "", " ".join(head.split()))
    if re.search(r"\boperator\b", head):
        return None
    if head.startswith("using ") and "=" in head:
        return head.replace(" ", "")
    if kind_of_block(head) == "scope" and NAMED_TYPE.search(head):
        return NAMED_TYPE.search(head).group(1)
    value = NAMED_VALUE.match(head)
    if value and "(" not in head.split("=")[0]:
        return value.group(1)
    function = NAMED_FUNCTION.search(head.split("=")[0])
    if function and head[: function.start(1)].endswith("::"):
        return None  # a member of a class
    return f"{function.group(1)}({parameter_types(function.group(2))})" if function else None


def unnamed_names(text):
    """(enclosing namespace and name, line) of what unnamed namespaces of a source define."""
    code = re.sub(
        r"^\s*#.*(?:\\\n.*)*$",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        without_comments_and_strings(text),
        flags=re.M,
    )
    stack, start = [], 0
    for position, char in enumerate(code):
        if char not in "{};":
            continue
        head = code[start:position]
        if stack and stack[-1] == "unnamed" and char in "{;" and head.strip():
            name = name_declared(head)
            if name and not (char == ";" and name.endswith(")")):
                more = (
                    re.findall(r",\s*(k[A-Z]\w*)\s*=", head)
                    if NAMED_VALUE.match(" ".join(head.split()))
                    else []
                )
                for each in [name, *more]:
                    yield "::".join([*stack[:-1], each]), code.count("\n", 0, position) + 1
        if char == "{":
            plain = re.fullmatch(r"\s*namespace(\s+[\w:]+)?\s*", head)
            stack.append((plain.group(1) or "unnamed").strip() if plain else "inner")
        elif char == "}" and stack:
            stack.pop()
        start = position + 1


def check_joined(sources, texts):
    """A build with -Djoined=true compiles sources of a module together: what is unnamed in one, the next one
    sees."""
    known, declared = {}, {}
    for name in sources:
        if name.endswith(".h"):
            for function in re.findall(
                r"^(?!return|using|typedef|class|struct)\w[\w:<>,&* ]*?[ &*](\w+)\(", texts[name], re.M
            ):
                declared[(module_of(name), f"h5mount::{module_of(name)}::{function}")] = name
            for kind in re.findall(r"^(?:class|struct|enum class|using) (\w+)", texts[name], re.M):
                known[(module_of(name), f"h5mount::{module_of(name)}::{kind}")] = name
    for name in sources:
        if not name.endswith(".cpp"):
            continue
        for word, number in unnamed_names(texts[name]):
            alias = re.match(r"(.*::)?using(\w+)=", word)
            if alias:  # the same alias twice is allowed; one that hides a type of the module is not
                word = f"{alias.group(1) or ''}{alias.group(2)}"
                if (module_of(name), word) not in known:
                    continue
            first = known.setdefault((module_of(name), word), name)
            if first == name:  # whatever its parameters: what is unnamed is found first, and alone
                first = declared.get((module_of(name), word.split("(")[0]), name)
            if first != name:
                why = "with -Djoined=true they are compiled together"
                yield name, number, f"{word} is also in {first}: {why}"


# ---- all

TEST_CASE = re.compile(r"^TEST(_F|_P|_VIEW)?\(", re.M)
TEST_FILE = re.compile(r"/test_\w+\.cpp$")


def findings():
    sources = tracked("src/*.cpp", "src/*.h", "include/*.h")
    tests = tracked("tests/*.cpp", "tests/*.h")
    texts = {name: read(name) for name in sources + tests}
    documents = {os.path.basename(name) for name in tracked("*.md", "*.py", "*.sh")}
    for name in sources:
        yield from ((name, number, "includes", words) for number, words in check_includes(name, texts[name]))
        yield from ((name, number, "includes", words) for number, words in check_folders(name, texts[name]))
    yield from (
        (name, number, "includes", words)
        for name, number, words in check_circles({name: texts[name] for name in sources})
    )
    for module in MAY_USE:
        yield from (
            (f"src/{module}/meson.build", number, "includes", words) for number, words in check_links(module)
        )
    for name in sources:
        yield from ((name, number, "locks", words) for number, words in check_locks(name, texts[name]))
        yield from ((name, number, "reads", words) for number, words in check_reads(texts[name]))
    for name in tracked("*.py"):
        yield from ((name, number, "columns", words) for number, words in check_columns(read(name)))
    yield from ((name, number, "lengths", words) for name, number, words in check_numbers(sources))
    for name in sources + tests:
        yield from ((name, number, "lengths", words) for number, words in check_lengths(name, texts[name]))
        yield from ((name, number, "columns", words) for number, words in check_columns(texts[name]))
        yield from (
            (name, number, "citations", words)
            for number, words in check_citations(name, texts[name], documents)
        )
        if (
            name.endswith(".cpp")
            and name not in sources
            and TEST_CASE.search(texts[name])
            and not TEST_FILE.search(name)
        ):
            yield name, 1, "names", "a source of tests is called test_x.cpp"
    for name in tests:
        yield from ((name, number, "python", words) for number, words in check_python(name, texts[name]))
    for name in tracked("*.md", "*meson.build"):
        yield from (
            (name, number, "citations", words)
            for number, words in check_citations(name, read(name), documents)
        )
    yield from (
        ("docs/promise.md", number, "promise", words)
        for number, words in check_promise(read("docs/promise.md"), texts)
    )
    yield from ((name, number, "joined", words) for name, number, words in check_joined(sources, texts))
    yield from ((name, number, "dead", words) for name, number, words in check_dead(sources, texts))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rules",
        help="some of includes,lengths,columns,locks,reads,citations,promise,dead,joined,names,python",
    )
    args = parser.parse_args()
    found = [finding for finding in findings() if args.rules is None or finding[2] in args.rules.split(",")]
    for name, number, _, words in found:
        print(f"{name}:{number}: {words}")
    for rule, number in sorted(collections.Counter(rule for _, _, rule, _ in found).items()):
        print(f"{rule}: {number}")
    sys.exit(1 if found else 0)


main()
