"""Every case by this program and by an earlier one, in turns, without the references: the group of rows that
says whether anything became slower. The ratio is the earlier one's time over this one's, within a round."""
from statistics import median, quantiles

from cases import Bench, duration
from report import Row

GROUPS = (
    "contiguous",
    "tiles",
    "cat",
    "views",
    "series",
    "pencils",
    "tables",
    "slices",
    "together",
    "million",
    "names",
)


class BothPrograms(Bench):
    def compare(self, case, ours, others, rounds=None, shown=duration):
        newer, new, old = self.program, [], []
        for i in range(self.rounds):
            for program, times in ((newer, new), (self.baseline, old))[:: 1 if i % 2 else -1]:
                self.program = program
                times.append(ours().wall)
        self.program = newer
        ratios = [b / a for a, b in zip(new, old)]
        low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else 3 * ratios
        self.add(
            Row(
                case,
                f"the earlier one (quartiles {low:.2f} to {high:.2f})",
                ratios,
                ours=shown(median(new)),
                theirs=shown(median(old)),
            )
        )

    def warm(self):
        """Pages that the kernel has: no request reaches either program."""

    together_cached = warm

    def million(self):
        for kind in ("extensible", "btree"):
            file = f"{kind}-1000000"
            self.compare(
                f"mount to first bytes, 1,000,000 chunks, {kind}", lambda f=file: self.first_bytes(f), []
            )
            self.tiny_chunks(kind, file)

    def lookup(self, links):
        self.compare("one lookup in 100,000 links, cold", lambda: self.one_lookup(links), [])
