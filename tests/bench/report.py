"""Writes the table and the chart."""
import html
import math
from statistics import median


class Row:
    """One row of the table: the median of the rounds' ratios, and the promised ratio."""

    def __init__(self, case, beside, ratios, target=None, at_most=False, ours="", theirs="", processor=None):
        self.case, self.beside, self.target, self.at_most = case, beside, target, at_most
        self.ratio = median(ratios)
        self.spread = (min(ratios), max(ratios))
        self.ours, self.theirs, self.processor = ours, theirs, processor

    def reached(self):
        if self.target is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


def number(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def markdown(rows, heading, notes):
    lines = [
        f"# {heading}",
        "",
        *notes,
        "",
        "| case | beside | ratio | spread | wanted | | h5mount | the other | ratio of CPU seconds |",
        "|---|---|---:|---:|---:|---|---:|---:|---:|",
    ]
    for row in rows:
        sign = {None: "", True: "yes", False: "**no**"}[row.reached()]
        wanted = "" if row.target is None else ("≤ " if row.at_most else "≥ ") + number(row.target)
        spread = f"{number(row.spread[0])}–{number(row.spread[1])}"
        lines.append(
            f"| {row.case} | {row.beside} | {number(row.ratio)} | {spread} | {wanted} | {sign} "
            f"| {row.ours} | {row.theirs} | {number(row.processor)} |"
        )
    return "\n".join(lines) + "\n"


def svg(rows, heading):
    """Bars on a logarithmic scale, with a tick at the promised ratio."""
    shown = [row for row in rows if row.ratio > 0 and not row.at_most]
    left, width, step, top = 470, 420, 20, 46
    low = math.floor(math.log10(min([0.5, *(r.ratio for r in shown)])))
    high = math.ceil(math.log10(max([10, *(r.ratio for r in shown)])))
    at = lambda value: left + (math.log10(value) - low) / (high - low) * width
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}"'
            f' height="{top + step * len(shown) + 30}" font-family="sans-serif" font-size="12">'
        ),
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="10" y="20" font-size="15">{html.escape(heading)}</text>',
    ]
    bottom = top + step * len(shown)
    for power in range(low, high + 1):
        x = at(10.0**power)
        out.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{top - 8}" y2="{bottom}" stroke="#ddd"/>')
        out.append(
            f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle" fill="#666">{10.0 ** power:g}×</text>'
        )
    for i, row in enumerate(shown):
        y = top + i * step
        begin, end = sorted((at(1), at(row.ratio)))
        colour = {None: "#8a9bb0", True: "#3a7d44", False: "#b5432f"}[row.reached()]
        label = html.escape(f"{row.case} / {row.beside}")
        out.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{label}</text>')
        out.append(
            f'<rect x="{begin:.0f}" y="{y}" width="{max(end - begin, 1):.0f}" height="13" fill="{colour}"/>'
        )
        out.append(f'<text x="{max(end, at(1)) + 6:.0f}" y="{y + 11}">{number(row.ratio)}</text>')
        if row.target:
            x = at(row.target)
            out.append(
                f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{y - 2}" y2="{y + 15}" stroke="#000" stroke-width="2"/>'
            )
    out.append("</svg>")
    return "\n".join(out) + "\n"
