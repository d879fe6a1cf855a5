"""/.h5/decoded/mtx: sparse matrices as Matrix Market files, held against anndata, scipy and R's Matrix."""
import errno
import json
import os
import random
import shutil

import h5py
import numpy as np

from mounting import MountTest, direct, error, read
from support.program import H5MOUNT, run, until

try:
    import anndata
    import pandas
    import scipy.io
    import scipy.sparse
except ModuleNotFoundError:
    anndata = None

MTX = ".h5/decoded/mtx/"
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")


def entries_of(path):
    """The header's field and shape; of each line row and column from 0, and the value's words."""
    first, sizes, *lines = read(path).decode().split("\n")
    assert lines.pop() == "" and len(set(map(len, lines))) <= 1, path
    assert os.stat(path).st_size == len(read(path)), path
    rows, columns, count = map(int, sizes.split())
    words = [line.split() for line in lines]
    assert len(words) == count, (path, count)
    return first.split()[3], (rows, columns), [(int(w[0]) - 1, int(w[1]) - 1, *w[2:]) for w in words]


def stored(matrix):
    """The same of a compressed matrix, in the order in which it is stored."""
    lines = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    pair = (lines, matrix.indices) if matrix.format == "csr" else (matrix.indices, lines)
    return list(zip(pair[0].tolist(), pair[1].tolist(), matrix.data.tolist()))


def write_compressed(group, matrix, index="i8", names=("data", "indices", "indptr"), **how):
    for name, part in zip(names, (matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index))):
        group.create_dataset(name, data=part, **(how if len(part) > 5 else {}))


def made(shape, dtype, density=0.4, seed=1, form="csr"):
    rng = np.random.default_rng(seed)
    matrix = scipy.sparse.random(*shape, density, format=form, random_state=seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        matrix.data = (
            rng.standard_normal(matrix.nnz)
            * 10.0
            ** rng.integers(-3 if kind.itemsize == 2 else -30, 4 if kind.itemsize == 2 else 30, matrix.nnz)
        ).astype(kind)
    elif kind.kind == "b":
        matrix.data = rng.integers(0, 2, matrix.nnz).astype(bool)
    elif kind.kind == "c":
        matrix.data = (rng.standard_normal(matrix.nnz) + 1j * rng.standard_normal(matrix.nnz)).astype(kind)
    else:
        info = np.iinfo(kind)
        matrix.data = rng.integers(
            info.min, info.max, matrix.nnz, dtype=kind.newbyteorder("="), endpoint=True
        )
        matrix.data = matrix.data.astype(kind)
    return matrix


def unsorted(matrix):
    out = matrix.copy()
    for first, last in zip(out.indptr, out.indptr[1:]):
        out.indices[first:last] = out.indices[first:last][::-1].copy()
        out.data[first:last] = out.data[first:last][::-1].copy()
    return out


class MatricesTest(MountTest):
    def setUp(self):
        super().setUp()
        if anndata is None:
            self.skipTest("no anndata")

    def assert_matrix(self, path, want, transposed=False):
        """Exactly the stored entries, in their order; then what scipy.io.mmread makes of them."""
        field, shape, have = entries_of(path)
        kind = want.data.dtype
        self.assertEqual(field, {"f": "real", "c": "complex"}.get(kind.kind, "integer"))
        self.assertEqual(shape, want.shape[::-1] if transposed else want.shape)
        number = {
            "f": kind.type,
            "c": lambda *pair: kind.type(complex(*map(kind.type(0).real.dtype.type, pair))),
        }
        have = [(row, column, number.get(kind.kind, int)(*words)) for row, column, *words in have]
        have = [(c, r, v) if transposed else (r, c, v) for r, c, v in have]
        np.testing.assert_equal(have, stored(want))
        if kind.kind == "u" and kind.itemsize == 8:
            return len(have)  # scipy 1.10 takes integers for signed ones
        seen = scipy.io.mmread(path)
        seen = seen.T if transposed else seen
        want = want.tocoo()  # mmread keeps the order and does not add up either
        self.assertEqual(seen.shape, want.shape)
        np.testing.assert_array_equal(seen.tocoo().row, want.row)
        np.testing.assert_array_equal(seen.tocoo().col, want.col)
        np.testing.assert_array_equal(seen.tocoo().data.astype(kind), want.data)
        return len(have)

    def matrices(self):
        kinds = "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 ? c8 c16 >i4 >f8 >u2".split()
        out = {"of_%s" % kind.replace(">", "big_").replace("?", "bool"): made((7, 9), kind) for kind in kinds}
        out.update({"csc_%s" % kind: made((7, 9), kind, form="csc") for kind in ("f4", "i8")})
        out["empty"] = scipy.sparse.csr_matrix((4, 6), dtype="f4")
        out["none_by_none"] = scipy.sparse.csr_matrix((0, 0), dtype="f8")
        out["no_rows"] = scipy.sparse.csc_matrix((0, 5), dtype="i4")
        out["one_row"], out["one_column"] = made((1, 8), "f4"), made((8, 1), "f4")
        out["unsorted"] = unsorted(made((6, 12), "f8", 0.7))
        out["dense"] = made((5, 4), "f4", 1.0)
        out["sparse_rows"] = made((900, 50), "i2", 0.002)
        out["many"] = made((300, 200), "f4", 0.3)
        zeros = made((5, 5), "f8")
        zeros.data[::2] = 0
        out["zeros"] = zeros
        twice = made((4, 4), "f8", 0.5)
        twice.indices[:] = 1
        out["twice"] = twice
        odd = made((3, 5), "f8", 0.9)
        odd.data[:6] = np.nan, np.inf, -np.inf, -0.0, 5e-324, np.finfo("f8").max
        out["odd"] = odd
        return out

    def test_bare_matrices_and_those_of_anndata_elsewhere(self):
        """Each type, order of bytes and shape, without a convention and with AnnData's, chunked and not."""
        entries = 0
        with h5py.File("m.h5", "w") as f:
            for number, (name, matrix) in enumerate(self.matrices().items()):
                how = {"chunks": (5,), "compression": "gzip"} if number % 2 else {}
                bare = f.create_group("bare/" + name)
                write_compressed(bare, matrix, "i4" if number % 3 else ">i8", **how)
                if number % 4:
                    bare["shape"] = matrix.shape
                else:
                    bare.attrs["shape"] = matrix.shape
                if matrix.shape[0] == matrix.shape[1]:
                    bare.attrs["format"] = matrix.format
                for of, words in ("anndata", ("encoding-type", "shape")), (
                    "old",
                    ("h5sparse_format", "h5sparse_shape"),
                ):
                    group = f.create_group("%s/%s" % (of, name))
                    write_compressed(group, matrix, "u2" if number % 3 else "i4", **how)
                    group.attrs[words[0]] = matrix.format + ("_matrix" if of == "anndata" else "")
                    group.attrs[words[1]] = matrix.shape
        mnt = self.mount("m.h5")
        for name, matrix in self.matrices().items():
            for of in "bare", "anndata", "old":
                place = "%s%s%s/%s" % (mnt, MTX, of, name)
                self.assertEqual(os.listdir(place), ["matrix.mtx"])
                entries += self.assert_matrix(place + "/matrix.mtx", matrix)
                told = {"matrix": matrix.format} | ({} if of == "bare" else {"convention": "AnnData"})
                for path in place, place + "/matrix.mtx", mnt + of + "/" + name:
                    self.assertEqual(json.loads(os.getxattr(path, "user.hdf5.decoded")), told)
        self.assertGreater(entries, 50000)

    def test_what_r_reads(self):
        """Matrix::readMM, which is what Seurat's Read10X calls."""
        if shutil.which("Rscript") is None:
            self.skipTest("no R")
        names = [
            name for name in self.matrices() if not name.startswith(("of_c", "of_u8", "of_i8", "csc_i8"))
        ]
        with h5py.File("m.h5", "w") as f:
            for name in names:
                group, matrix = f.create_group(name), self.matrices()[name]
                write_compressed(group, matrix)
                group.attrs["encoding-type"], group.attrs["shape"] = matrix.format + "_matrix", matrix.shape
        mnt = self.mount("m.h5")
        paths = ["%s%s%s/matrix.mtx" % (mnt, MTX, name) for name in names]
        p = run("Rscript", "--vanilla", os.path.join(FIXTURES, "read_matrices.R"), *paths)
        self.assertEqual(p.returncode, 0, p)
        lines = p.stdout.splitlines()
        for name in names:
            matrix = self.matrices()[name]
            self.assertEqual(lines.pop(0).split(), [str(n) for n in (*matrix.shape, matrix.nnz)], name)
            for row, column, value in stored(matrix):
                words = lines.pop(0).split()
                self.assertEqual((int(words[0]), int(words[1])), (row, column), name)
                np.testing.assert_equal(matrix.dtype.type(float(words[2])), matrix.dtype.type(value), name)
        self.assertEqual(lines, [])

    def test_annotated_data(self):
        x = made((6, 4), "f4")
        obs, var = ["cell%d" % i for i in range(6)], ["a", "b\tc\nd", 'e"f', "\u00e9"]
        data = anndata.AnnData(x, pandas.DataFrame({"n": range(6)}, obs), pandas.DataFrame(index=var))
        data.layers["counts"] = scipy.sparse.csc_matrix(made((6, 4), "i4", seed=2))
        data.obsp["near"] = made((6, 6), "f8", seed=3)
        data.obsm["parts"] = made((6, 3), "f8", seed=4)
        data.raw = anndata.AnnData(
            made((6, 9), "f4", seed=5), data.obs, pandas.DataFrame(index=["raw%d" % i for i in range(9)])
        )
        data.write("a.h5ad")
        read_back = anndata.read_h5ad("a.h5ad")
        with h5py.File("a.h5ad", "a") as f:
            f.copy("/", f.create_group("mod"), "rna")  # another root of AnnData
            f["linked"] = h5py.SoftLink("/layers/counts")
        mnt = self.mount("a.h5ad") + MTX
        matrices = {
            "X": read_back.X,
            "layers/counts": read_back.layers["counts"],
            "raw/X": read_back.raw.X,
            "mod/rna/X": read_back.X,
            "linked": read_back.layers["counts"],
        }
        for name, matrix in matrices.items():
            self.assert_matrix("%s%s/matrix.mtx" % (mnt, name), matrix, transposed=True)
            self.assertEqual(read("%s%s/barcodes.tsv" % (mnt, name)).decode().splitlines(), obs)
            names = (
                ["raw%d" % i for i in range(9)] if name == "raw/X" else ["a", "b\\tc\\nd", 'e"f', "\u00e9"]
            )
            self.assertEqual(
                read("%s%s/features.tsv" % (mnt, name)).decode().split("\n"),
                ["%s\t%s\tGene Expression" % (n, n) for n in names] + [""],
            )
            self.assertEqual(
                read("%s%s/genes.tsv" % (mnt, name)).decode().split("\n"),
                ["%s\t%s" % (n, n) for n in names] + [""],
            )
            told = json.loads(os.getxattr("%s%s/genes.tsv" % (mnt, name), "user.hdf5.decoded"))
            self.assertEqual(told, {"convention": "AnnData", "matrix": matrix.format, "transposed": True})
        for name, matrix in ("obsp/near", read_back.obsp["near"]), ("obsm/parts", read_back.obsm["parts"]):
            self.assertEqual(os.listdir(mnt + name), ["matrix.mtx"])
            self.assert_matrix("%s%s/matrix.mtx" % (mnt, name), matrix)
        self.assertEqual(os.readlink(mnt + "linked"), "layers/counts")
        self.assertEqual(os.listdir(mnt + "obs"), [])

    def test_names_of_tables_before_groups(self):
        """Files of anndata before 0.7: tables are compounds, and raw data stand beside X."""
        x = made((3, 2), "f4")
        with h5py.File("a.h5ad", "w") as f:
            for name in "X", "raw.X":
                group = f.create_group(name)
                write_compressed(group, x, "i4")
                group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", x.shape
            for name, of in ("obs", "c1 c2 c3"), ("var", "g1 g2"), ("raw.var", "r1 r2"):
                rows = [(i, text.encode()) for i, text in enumerate(of.split())]
                f[name] = np.array(rows, [("n", "i4"), ("index", "S2")])
        mnt = self.mount("a.h5ad") + MTX
        self.assert_matrix(mnt + "raw.X/matrix.mtx", x, transposed=True)
        self.assertEqual(read(mnt + "X/barcodes.tsv"), b"c1\nc2\nc3\n")
        self.assertEqual(read(mnt + "X/genes.tsv"), b"g1\tg1\ng2\tg2\n")
        self.assertEqual(read(mnt + "raw.X/genes.tsv"), b"r1\tr1\nr2\tr2\n")

    def test_names_that_are_nullable_or_do_not_fit(self):
        x = made((3, 2), "f4")
        with h5py.File("a.h5ad", "w") as f:
            group = f.create_group("X")
            write_compressed(group, x, "i4")
            group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", x.shape
            f.create_group("obs").attrs["_index"] = "names"
            f["obs/names/values"], f["obs/names/mask"] = ["c1", "c2", "c3"], [False] * 3
            f["var/index"] = ["one", "two", "three"]
        mnt = self.mount("a.h5ad") + MTX
        self.assertEqual(sorted(os.listdir(mnt + "X")), ["barcodes.tsv", "matrix.mtx"])
        self.assertEqual(read(mnt + "X/barcodes.tsv"), b"c1\nc2\nc3\n")
        self.assert_matrix(mnt + "X/matrix.mtx", x, transposed=True)
        self.assertEqual(error(os.stat, mnt + "X/genes.tsv"), "No such file or directory")

    def write_10x(self, f, counts):
        """As Cell Ranger writes: features by barcodes, compressed along the barcodes."""
        barcodes = np.array(["CELL-%d" % i for i in range(counts.shape[1])], "S18")
        ids, names = (
            np.array([word % i for i in range(counts.shape[0])], "S20") for word in ("ENSG%d", "Gene %d")
        )
        new = f.create_group("matrix")
        write_compressed(new, counts, chunks=(30,), compression="gzip")
        new.create_dataset("shape", data=np.array(counts.shape, "i4"))
        new.create_dataset("barcodes", data=barcodes, compression="gzip")
        features = new.create_group("features")
        features["id"], features["name"] = ids, names
        features["feature_type"] = np.array(
            ["Antibody Capture" if i % 4 == 0 else "Gene Expression" for i in range(counts.shape[0])], "S20"
        )
        features["genome"] = np.full(counts.shape[0], b"GRCh38")
        features["_all_tag_keys"] = np.array([b"genome"])
        old = f.create_group("GRCh38")
        write_compressed(old, counts)
        old["shape"], old["barcodes"], old["genes"], old["gene_names"] = counts.shape, barcodes, ids, names

    def test_10x(self):
        counts = made((40, 30), "i4", 0.2, form="csc")
        with h5py.File("t.h5", "w") as f:
            self.write_10x(f, counts)
        mnt = self.mount("t.h5") + MTX
        self.assertEqual(os.listdir(mnt + "matrix/features"), [])
        for name in "matrix", "GRCh38":
            place = mnt + name + "/"
            self.assert_matrix(place + "matrix.mtx", counts)
            self.assertEqual(
                read(place + "barcodes.tsv").decode().split(), ["CELL-%d" % i for i in range(30)]
            )
            types = ["Antibody Capture" if i % 4 == 0 else "Gene Expression" for i in range(40)]
            lines = ["ENSG%d\tGene %d" % (i, i) for i in range(40)]
            self.assertEqual(read(place + "genes.tsv").decode().splitlines(), lines)
            lines = [
                "%s\t%s" % (line, kind if name == "matrix" else "Gene Expression")
                for line, kind in zip(lines, types)
            ]
            self.assertEqual(read(place + "features.tsv").decode().splitlines(), lines)
            told = {"convention": "10x", "matrix": "csc"}
            self.assertEqual(json.loads(os.getxattr(place, "user.hdf5.decoded")), told)
        p = run(H5MOUNT, "--cat", "t.h5", "/.h5/decoded/mtx/matrix/matrix.mtx")
        self.assertEqual(p.stdout, read(mnt + "matrix/matrix.mtx").decode())

    def test_matlab(self):
        matrices = {"real": made((5, 7), "f8", form="csc"), "logical": made((3, 4), "?", form="csc")}
        with h5py.File("v.mat", "w", userblock_size=512) as f:
            for name, matrix in matrices.items():
                group = f.create_group(name)
                group.attrs["MATLAB_class"] = np.bytes_("double" if name == "real" else "logical")
                group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
                matrix = matrix.astype("u1") if name == "logical" else matrix
                write_compressed(group, matrix, "u8", names=("data", "ir", "jc"))
            pairs = f.create_group("pairs")
            pairs.attrs["MATLAB_sparse"] = np.uint64(2)
            pairs["data"] = np.array([(1.5, -2), (0, 3)], [("real", "f8"), ("imag", "f8")])
            pairs["ir"], pairs["jc"] = np.array([1, 0], "u8"), np.array([0, 1, 2], "u8")
            zeros = f.create_group("zeros")
            zeros.attrs["MATLAB_sparse"] = np.uint64(4)
            zeros["jc"] = np.zeros(4, "u8")
        mnt = self.mount("v.mat") + MTX
        for name, matrix in matrices.items():
            self.assert_matrix("%s%s/matrix.mtx" % (mnt, name), matrix)
        seen = scipy.io.mmread(mnt + "pairs/matrix.mtx").toarray()
        np.testing.assert_array_equal(seen, [[0, 3j], [1.5 - 2j, 0]])
        self.assertEqual(scipy.io.mmread(mnt + "zeros/matrix.mtx").shape, (4, 3))
        told = {"convention": "MATLAB", "matrix": "csc"}
        self.assertEqual(json.loads(os.getxattr(mnt + "zeros", "user.hdf5.decoded")), told)

    def test_any_range(self):
        """Ranges of bytes, also of rows without entries and of more pointers than are held."""
        rng = random.Random(1)
        with h5py.File("r.h5", "w") as f:
            for name, matrix in ("few", made((50000, 30), "f4", 0.02)), (
                "rows",
                made((1 << 21, 3), "i1", 3e-3),
            ):
                group = f.create_group(name)
                write_compressed(group, matrix, chunks=(1000,), compression="gzip")
                group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
                if name == "rows":
                    want = matrix
        mnt = self.mount("r.h5") + MTX
        whole = {name: read("%s%s/matrix.mtx" % (mnt, name)) for name in ("few", "rows")}
        self.assert_matrix(mnt + "rows/matrix.mtx", want)
        mnt = self.mount("r.h5") + MTX
        for _ in range(150):
            name = rng.choice(list(whole))
            offset, length = rng.randrange(len(whole[name])), rng.choice((1, 100, 5000, 300000))
            with open("%s%s/matrix.mtx" % (mnt, name), "rb") as f:
                f.seek(offset)
                self.assertEqual(
                    f.read(length), whole[name][offset : offset + length], (name, offset, length)
                )

    def test_wrong_pointers_and_indices(self):
        """What is wrong is an error of its own bytes; nothing is written wrong."""
        x = made((400, 60), "f8", 0.5)
        count = x.nnz
        with h5py.File("w.h5", "w") as f:

            def matrix(name, **parts):
                group = f.create_group(name)
                for part in "data", "indices", "indptr":
                    group[part] = parts.get(part, getattr(x, part))
                group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", parts.get("shape", x.shape)

            matrix("good")
            falls, beyond, behind = x.indptr.astype("i8"), x.indptr.astype("i8"), x.indptr.astype("i8")
            falls[300], beyond[300], behind[:3] = 5, 1 << 40, 20
            matrix("falls", indptr=falls)
            matrix("beyond", indptr=beyond)
            matrix("behind", indptr=behind)
            matrix("negative", indptr=np.where(np.arange(401) == 300, -1, x.indptr))
            for name, value in ("outside", 60), ("below", -1):
                indices = x.indices.copy()
                indices[count // 2] = value
                matrix(name, indices=indices)
            matrix("fewer_pointers", indptr=x.indptr[:-1])
            matrix("fewer_indices", indices=x.indices[:-10])
            matrix("spare", data=np.append(x.data, [1.0] * 7), indices=np.append(x.indices, [0] * 7))
            matrix("more_data", data=np.append(x.data, [1.0] * 7))
            matrix("text", data=np.full(count, b"x"))
            matrix("huge", shape=(1 << 62, 60))
            matrix("square", data=x.data.reshape(-1, 1))
            matrix("wide_index", indices=x.indices.astype("f8"))
        mnt = self.mount("w.h5") + MTX
        whole = read(mnt + "good/matrix.mtx")
        header = whole.index(b"\n", whole.index(b"\n") + 1) + 1
        width = (len(whole) - header) // count
        end_of = {"falls": x.indptr[299], "beyond": x.indptr[299], "negative": x.indptr[299]}
        for name, entry in end_of.items():
            path = "%s%s/matrix.mtx" % (mnt, name)
            self.assertEqual(os.stat(path).st_size, len(whole))
            with open(path, "rb", buffering=0) as f:
                good = header + int(entry) * width
                for begin in 0, good - 5000:
                    os.lseek(f.fileno(), begin, 0)
                    self.assertEqual(f.read(4096), whole[begin : begin + 4096], name)
                for begin in good + 4096, (good + len(whole)) // 2, len(whole):
                    got = direct(path, (begin - 1) // 4096 * 4096, 4096)
                    self.assertEqual(getattr(got, "errno", got), errno.EIO, name)
        for name in "outside", "below":
            path = "%s%s/matrix.mtx" % (mnt, name)
            self.assertEqual(error(read, path), "Input/output error")
            with open(path, "rb", buffering=0) as f:
                self.assertEqual(f.read(4096), whole[:4096])
                f.seek(len(whole) - 5000)
                self.assertEqual(f.read(), whole[-5000:])
        for name in "fewer_pointers", "behind", "fewer_indices", "spare", "huge":
            self.assertEqual(error(read, "%s%s/matrix.mtx" % (mnt, name)), "Input/output error", name)
        for name in "text", "square", "wide_index":
            self.assertEqual(os.listdir(mnt + name), [], name)
        for name in "good", "more_data":
            self.assertEqual(read("%s%s/matrix.mtx" % (mnt, name)), whole)
        log = read(mnt + "../../log").decode()
        self.assertIn("SparseMatrix.indptr", log)
        self.assertIn("SparseMatrix.indices", log)

    def test_what_is_no_matrix(self):
        x = made((4, 6), "f4")
        with h5py.File("n.h5", "w") as f:
            for name, shape in (
                ("none", None),
                ("one", [4]),
                ("three", [4, 6, 1]),
                ("text", b"4,6"),
                ("other", [5, 7]),
                (
                    "negative",
                    [-4, 6],
                ),
                ("floats", [4.0, 6.0]),
            ):
                group = f.create_group(name)
                write_compressed(group, x)
                if shape is not None:
                    group["shape"] = shape
            for name, kind in ("number", 5), ("list", ["csr_matrix"] * 3), ("null", h5py.Empty("f4")):
                group = f.create_group("kind_" + name)
                write_compressed(group, x)
                group.attrs["encoding-type"] = kind
            f.create_group("alone").attrs["encoding-type"] = "csr_matrix"
            f.create_group("matlab").attrs["MATLAB_sparse"] = "many"
            f["matlab/jc"] = [0, 1]
            inside = f.create_group("inside")  # names that its files have, and a circle
            write_compressed(inside, x)
            inside.attrs["shape"] = x.shape
            write_compressed(inside.create_group("matrix.mtx"), x)
            inside["matrix.mtx"].attrs["shape"] = x.shape
            inside["matrix.mtx/circle"], inside["genes.tsv"] = inside, h5py.SoftLink("/inside/matrix.mtx")
        mnt = self.mount("n.h5") + MTX
        for name in os.listdir(mnt):
            want = ["%67enes.tsv", "%6Datrix.mtx", "matrix.mtx"] if name == "inside" else []
            self.assertEqual(sorted(os.listdir(mnt + name)), want, name)
        self.assert_matrix(mnt + "inside/matrix.mtx", x)
        self.assert_matrix(mnt + "inside/%6Datrix.mtx/matrix.mtx", x)
        self.assert_matrix(mnt + "inside/%67enes.tsv/matrix.mtx", x)
        self.assertTrue(os.path.samefile(mnt + "inside/%6Datrix.mtx/circle", mnt + "inside"))
        self.assertEqual(error(os.stat, mnt + "none/matrix.mtx"), "No such file or directory")
        self.assertEqual(error(os.getxattr, mnt + "none", "user.hdf5.decoded"), "No data available")

    def test_a_root_that_is_a_matrix(self):
        x = made((4, 6), "f4")
        with h5py.File("x.h5", "w") as f:
            write_compressed(f, x)
            f["shape"] = x.shape
        mnt = self.mount("x.h5")
        self.assertEqual(os.listdir(mnt + MTX), ["matrix.mtx"])
        self.assert_matrix(mnt + MTX + "matrix.mtx", x)

    def test_small_files_that_ask_for_much(self):
        with h5py.File("b.h5", "w") as f:
            group = f.create_group("many_pointers")
            group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", [(1 << 45) - 1, 5]
            for name, kind in ("data", "f4"), ("indices", "i4"), ("indptr", "i8"):
                group.create_dataset(name, (1 << 45,), kind, chunks=(1 << 16,), compression="gzip")
            group = f.create_group("names")
            group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", [3, 1 << 40]
            write_compressed(group, made((3, 5), "f4"))
        mnt = self.mount("b.h5") + MTX
        with open(mnt + "many_pointers/matrix.mtx", "rb", buffering=0) as f:
            self.assertGreater(os.fstat(f.fileno()).st_size, 1 << 45)
            self.assertEqual(error(f.read, 4096), "File too large")  # too much work
        self.assertTrue(read(mnt + "names/matrix.mtx"))

    def test_a_matrix_that_grows(self):
        want = made((40, 10), "f4", 0.5)
        half = int(want.indptr[20])
        f = h5py.File("g.h5", "w", libver="latest")
        group = f.create_group("m")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", want.shape
        for name in "data", "indices":
            group.create_dataset(name, data=getattr(want, name)[:half], maxshape=(None,), chunks=(16,))
        group.create_dataset("indptr", data=np.minimum(want.indptr, half), chunks=(16,), maxshape=(None,))
        f.swmr_mode = True
        path = self.mount("g.h5") + MTX + "m/matrix.mtx"
        self.assertEqual(entries_of(path)[1], want.shape)
        for name in "data", "indices":
            group[name].resize((want.nnz,))
            group[name][half:] = getattr(want, name)[half:]
            group[name].flush()
        group["indptr"][...] = want.indptr
        group["indptr"].flush()
        until(
            lambda: os.stat(path).st_size and error(read, path) == "none" and self.is_whole(path, want),
            "grown",
        )
        f.close()

    def is_whole(self, path, want):
        try:
            return len(entries_of(path)[2]) == want.nnz and self.assert_matrix(path, want) == want.nnz
        except AssertionError:
            return False
