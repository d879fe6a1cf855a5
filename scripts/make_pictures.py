#!/usr/bin/env python3
"""Makes the README's pictures: terminal sessions, a table as it is stored and decoded, and what is faster by
how much, each for light and dark pages.

    make_pictures.py BUILD [DIRECTORY]         default: docs/pictures
    make_pictures.py --check BUILD             whether those that are there are what it would make

The session is run, with the programs of the build directory BUILD, in a mount of the example
(tests/data/weather.h5); the speeds are those of tests/bench/results/full.md. The exit code of --check is 77
where nothing can be mounted.
"""
import argparse, html, math, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
THEMES = {
    "light": dict(
        page="#ffffff",
        frame="#d0d7de",
        text="#1f2328",
        dim="#59636e",
        command="#0550ae",
        bar="#2f7d5b",
        slower="#b5432f",
    ),
    "dark": dict(
        page="#0d1117",
        frame="#3d444d",
        text="#e6edf3",
        dim="#9198a1",
        command="#79c0ff",
        bar="#3fb27f",
        slower="#e5786d",
    ),
}
SESSION = [
    "h5mount weather.h5 /mnt/weather",
    "cd /mnt/weather && ls -CFw 80",
    "getfattr -d -m 'dtype|shape|units' observations/temperature",
    "od -A d -t f4 -N 16 observations/temperature",
    "head -n 3 .h5/csv/observations.csv",
    "awk -F, '$4 == \"SUSPECT\"' .h5/csv/observations.csv | wc -l",
    "cd && umount /mnt/weather",
]
DECODED = [
    "h5mount weather.h5 /mnt/weather && cd /mnt/weather/.h5",
    "head -n 4 csv/observations.csv",
    "head -n 4 decoded/csv/observations.csv",
    "cd && umount /mnt/weather",
]
JOINED = [
    "h5mount --list -l era5 2020.nc/t2m 2021.nc/t2m 2022.nc/t2m",
    "h5mount -o join=time --list -l era5 /.h5/joined/t2m",
    "h5mount -o join=time --cat era5 /.h5/joined/.h5/decoded/csv/t2m.csv | head -n 5",
]
CHAR, LINE = 8.43, 19  # of the font, at 14 pixels

# What a picture shows of the results: (row, beside) as the table has them, and how the picture names them.
SPEEDS = [
    ("tiles deflate, cat", "C H5Dread in slices", "cat of deflated tiles", "C with H5Dread"),
    ("tiles deflate, cat", "h5py, whole", "", "h5py"),
    ("tiles deflate, cat", "h5dump -b", "", "h5dump -b"),
    ("integers as csv, cat", "Python's csv over h5py", "integers as CSV", "Python's csv over h5py"),
    ("integers as csv, cat", "pandas' to_csv", "", "pandas"),
    ("floats as ndjson, cat", "h5dump -y -w 0", "floats as NDJSON", "h5dump"),
    ("contiguous, cold", "trivial FUSE", "contiguous data", "a plain file through FUSE"),
    ("tiles unfiltered, cat", "C H5Dread in slices", "unfiltered tiles", "C with H5Dread"),
    ("series, 4 KiB at random, cold", "h5py", "4 KiB at random", "h5py"),
]


# Makes files of one variable, each packed in its own way and with times of its own.
YEARS = """
import h5py
for i, (units, step) in enumerate((("days", 1), ("hours", 24), ("days", 1))):
    with h5py.File(f"era5/{2020 + i}.nc", "w") as file:
        time = file.create_dataset("time", data=[step * (i * 2 + j) for j in range(2)], dtype="i4")
        time.attrs["units"] = f"{units} since 2020-12-31"
        time.make_scale("time")
        t2m = file.create_dataset("t2m", (2,), "i2", chunks=(1 + i % 2,))
        t2m[...] = [round((10 + 2 * i + j) * 2 * (i + 1)) for j in range(2)]
        t2m.attrs.update(scale_factor=0.5 / (i + 1), units="K")
        t2m.dims[0].attach_scale(time)
"""


def run_session(build, commands):
    """[(command, output)]; None where nothing can be mounted."""
    program = os.path.join(os.path.abspath(build), "src", "cli", "h5mount")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or shutil.which("getfattr") is None:
        return None
    out = []
    with tempfile.TemporaryDirectory() as home:
        place = os.path.join(home, "weather")
        os.mkdir(place)
        os.symlink(os.path.join(ROOT, "tests", "data", "weather.h5"), place + ".h5")
        os.mkdir(os.path.join(home, "era5"))
        subprocess.run(["/usr/bin/python3", "-c", YEARS], cwd=home, check=True)
        os.mkdir(os.path.join(home, "bin"))
        os.symlink(program, os.path.join(home, "bin", "h5mount"))
        environment = {"PATH": f"{home}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": home}
        where = home
        try:
            for command in commands:
                # The shell tells behind a NUL where it ended.
                script = command.replace("/mnt/weather", place) + "; printf '\\0%s' \"$PWD\""
                said = subprocess.run(
                    ["sh", "-c", script],
                    cwd=where,
                    env=environment,
                    text=True,
                    timeout=120,
                    check=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                ).stdout
                said, _, where = said.rpartition("\0")
                out.append((command, said.replace(place, "/mnt/weather").strip("\n")))
        finally:
            subprocess.run(["umount", "-q", "-l", place], stderr=subprocess.DEVNULL, check=False)
    return out


def text_at(x, y, text, colour, **more):
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}"'
        f' xml:space="preserve"{attributes}>{html.escape(text)}</text>'
    )


def picture(width, height, title, theme, font, parts):
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
                f' width="{width:g}" height="{height:g}" font-family="{font}" font-size="14" role="img">'
            ),
            f"<title>{html.escape(title)}</title>",
            (
                f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6" '
                f'fill="{theme["page"]}" stroke="{theme["frame"]}"/>'
            ),
            *parts,
            "</svg>",
            "",
        ]
    )


def session_picture(sessions, title, theme):
    """Of several sessions, side by side."""
    parts, left, most = [], 16, 0
    for session in sessions:
        lines = []
        for command, said in session:
            lines += [("$ ", command)] + [("", line) for line in said.splitlines()]
        for number, (prompt, text) in enumerate(lines):
            y = 28 + LINE * number
            if prompt:
                parts.append(text_at(left, y, prompt, theme["dim"]))
            parts.append(text_at(left + CHAR * len(prompt), y, text, theme["command" if prompt else "text"]))
        left += CHAR * max(len(prompt + text) for prompt, text in lines) + 32
        most = max(most, len(lines))
    return picture(
        math.ceil(left - 16),
        24 + LINE * most + 4,
        title,
        theme,
        "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        parts,
    )


def results():
    """{(case, beside): ratio} of the full benchmarks."""
    with open(os.path.join(ROOT, "tests", "bench", "results", "full.md"), encoding="utf-8") as file:
        cells = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in file
            if line.startswith("|")
        ]
    out = {}
    for row in cells:
        if re.fullmatch(r"[\d.]+", row[2]):
            out.setdefault((row[0], row[1]), float(row[2]))
    return out


def speed_picture(ratios, theme):
    """Bars from 1, to the right where h5mount is faster; the scale is logarithmic."""
    left, unit, step, top = 460, 150, 26, 58
    parts = [text_at(16, 28, "h5mount beside others: times as fast", theme["text"], font_size=16)]
    bottom = top + step * len(SPEEDS)
    for times in (0.5, 1, 2, 5, 10, 20, 50):
        x = round(left + 60 + unit * math.log10(times), 1)
        parts.append(
            f'<line x1="{x:g}" x2="{x:g}" y1="{top - 8}" y2="{bottom - 4}" stroke="{theme["frame"]}"/>'
        )
        parts.append(text_at(x, bottom + 14, f"{times:g}×", theme["dim"], text_anchor="middle", font_size=12))
    for number, (case, beside, shown, other) in enumerate(SPEEDS):
        ratio, y = ratios[(case, beside)], top + step * number
        one, end = left + 60, round(left + 60 + unit * math.log10(ratio), 1)
        if shown:
            parts.append(text_at(16, y + 12, shown, theme["text"]))
        parts.append(text_at(172, y + 12, "beside " + other, theme["dim"], font_size=13))
        parts.append(
            f'<rect x="{min(one, end):g}" y="{y}" width="{max(abs(end - one), 1):g}" height="16" rx="2" '
            f'fill="{theme["bar" if ratio >= 1 else "slower"]}"/>'
        )
        parts.append(
            text_at(
                max(one, end) + 6, y + 12, f"{ratio:.2g}×" if ratio < 10 else f"{ratio:.0f}×", theme["text"]
            )
        )
    return picture(
        830,
        bottom + 28,
        "Speed of h5mount beside other programs",
        theme,
        "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif",
        parts,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("build")
    parser.add_argument("directory", nargs="?", default=os.path.join(ROOT, "docs", "pictures"))
    args = parser.parse_args()
    session, decoded, joined = (run_session(args.build, one) for one in (SESSION, DECODED, JOINED))
    if session is None:
        print("no /dev/fuse that may be used, or no getfattr")
        sys.exit(77)
    ratios, wrong = results(), []
    for name, theme in THEMES.items():
        for kind, made in (
            ("session", session_picture([session], "A terminal session with h5mount", theme)),
            (
                "decoded",
                session_picture([[one] for one in decoded[1:3]], "A table, stored and decoded", theme),
            ),
            ("joined", session_picture([joined], "Three files, joined along time", theme)),
            ("speed", speed_picture(ratios, theme)),
        ):
            place = os.path.join(args.directory, f"{kind}-{name}.svg")
            if args.check:
                with open(place, encoding="utf-8") as file:
                    if file.read() != made:
                        wrong.append(place)
            else:
                os.makedirs(args.directory, exist_ok=True)
                with open(place, "w", encoding="utf-8") as file:
                    file.write(made)
    for place in wrong:
        print(f"{place} is not what scripts/make_pictures.py makes now")
    sys.exit(1 if wrong else 0)


main()
