#!/usr/bin/env python3
"""Writes a C++ source that holds files: the definition of page_assets() of src/serve/site/assets.h.

    embed_files.py OUTPUT FILE…
"""
import os, sys

MAX_LITERAL = 8000  # bytes of one string literal; adjacent ones are joined by the compiler


def literals(data):
    """The bytes as string literals, a line each."""
    escaped = ["\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\?' else chr(byte) for byte in data]
    for begin in range(0, len(escaped), MAX_LITERAL):
        yield '"' + "".join(escaped[begin : begin + MAX_LITERAL]) + '"'


def main():
    output, files = sys.argv[1], sys.argv[2:]
    with open(output, "w", encoding="ascii") as out:
        out.write(
            '#include "site/assets.h"\n\nnamespace h5mount::serve {\nnamespace {\n\nusing namespace'
            " std::literals;\n\n"
        )
        out.write("constexpr Asset kAssets[] = {\n")
        for file in files:
            with open(file, "rb") as source:
                data = source.read()
            out.write('{"%s"sv,\n' % os.path.basename(file))
            out.write("\n".join(literals(data)) + "sv},\n")
        out.write("};\n\n}  // namespace\n\nstd::span<const Asset> page_assets() {\n  return kAssets;\n}\n\n")
        out.write("}  // namespace h5mount::serve\n")


main()
