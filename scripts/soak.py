#!/usr/bin/python3
"""soak.py HOURS H5MOUNT FAULT_FS [OPTIONS]: see soak.sh.

A file with every kind of storage lies on a file system with faults (tests/faults/fault_fs.cpp). Reader processes do
random things with a mount of it, each read compared with what h5py and NumPy wrote; this process changes the faults,
mounts anew now and then, and watches the daemon. An error is right only while there are faults, or shortly after."""

import collections
import errno
import hashlib
import io
import json
import mmap
import multiprocessing
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

READERS = 12
GRACE = 3.0  # seconds after a fault in which what begins may still meet its errors
REMOUNT_EVERY = 120.0
FAULT_ERRORS = {errno.EIO, errno.EINTR, errno.ETIMEDOUT, errno.ESTALE}
CACHE = 32 << 20
MEMORY_BOUND = CACHE + (128 << 20)


def make(path):
    """Writes the file; returns {path in the mount: its bytes}."""
    generator = np.random.default_rng(15)
    known = {}
    with h5py.File(path, 'w') as f:
        def add(name, data, **options):
            f.create_dataset(name, data=data, **options)
            known[name] = np.ascontiguousarray(data).tobytes()
        add('plain', generator.integers(0, 1000, 2_000_000))
        add('chunked/deflate', generator.integers(0, 1000, (700, 900)), chunks=(64, 128), compression='gzip', shuffle=True)
        add('chunked/checked', generator.integers(0, 9, 500_000).astype('i4'), chunks=(5000,), fletcher32=True)
        add('chunked/lzf', generator.integers(0, 9, (300, 300, 4)).astype('u2'), chunks=(50, 70, 4), compression='lzf')
        add('chunked/plain', generator.random((500, 400)), chunks=(33, 47))
        add('large', generator.integers(0, 100, (64, 512, 512)).astype('i2'), chunks=(1, 512, 512), compression='gzip', compression_opts=1)
        add('compact', np.arange(100, dtype='i2'))
        words = ['word %d' % (i * i) for i in range(20_000)]
        f.create_dataset('words', data=words, dtype=h5py.string_dtype(), chunks=(500,))
        known['words'] = ''.join(word + '\n' for word in words).encode()
        layout = h5py.VirtualLayout((2, 700, 900), 'i8')
        for i in range(2):
            layout[i] = h5py.VirtualSource('.', 'chunked/deflate', (700, 900))
        f.create_virtual_dataset('view', layout)
        known['view'] = known['chunked/deflate'] * 2
        for i in range(300):
            f.create_group('groups/%03d' % i).attrs['number'] = i
        table = np.empty(5000, np.dtype([('a', 'i4'), ('b', 'f4')]))
        table['a'], table['b'] = np.arange(5000), np.arange(5000) / 4
        add('table', table, chunks=(400,))
    known['.h5/npy/chunked/plain.npy'] = None  # compared by loading
    known['.h5/csv/table.csv'] = ('a,b\n' + ''.join('%d,%s\n' % (a, float(b)) for a, b in table)).encode()
    return known


class Wrong(Exception):
    pass


def compare(have, want, where):
    """A read that meets a fault behind its beginning is short, as read(2) has it."""
    if have == want:
        return
    if len(have) < len(want) and want.startswith(have):
        raise OSError(errno.EIO, 'short read of ' + where)
    raise Wrong(where)


def forget(descriptor):
    """Drops the kernel's pages, so that reads are requests."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


class Reader:
    """What one process does, until `stop`: counts operations and errors by cause; wrong bytes are written down."""

    def __init__(self, mount, known, seed):
        self.mount, self.known, self.random = mount, known, random.Random(seed)
        self.names = [name for name, data in known.items() if data is not None]
        self.counts = collections.Counter()
        self.digests = {name: hashlib.sha256(data).digest() for name, data in known.items() if data is not None}

    def path(self, name):
        return os.path.join(self.mount, name)

    def whole(self):
        name = self.random.choice(self.names)
        digest = hashlib.sha256()
        with open(self.path(name), 'rb', buffering=0) as file:
            forget(file.fileno())
            while part := file.read(self.random.choice((4096, 65536, 1 << 20))):
                digest.update(part)
        if digest.digest() != self.digests[name]:
            raise Wrong(f'{name}: the whole file')

    def pieces(self):
        name = self.random.choice(self.names)
        data = self.known[name]
        descriptor = os.open(self.path(name), os.O_RDONLY)
        try:
            forget(descriptor)
            for _ in range(20):
                offset, length = self.random.randrange(len(data)), self.random.choice((1, 100, 4096, 70_000))
                compare(os.pread(descriptor, length, offset), data[offset:offset + length],
                        f'{name}: {length} bytes at {offset}')
        finally:
            os.close(descriptor)

    def mapped(self):
        # A fault in a mapping is a signal, so this asks for the bytes by a read first.
        name = self.random.choice(('plain', 'chunked/deflate'))
        data = self.known[name]
        with open(self.path(name), 'rb') as file:
            offset = self.random.randrange(0, len(data) - 8192, 4096)
            compare(os.pread(file.fileno(), 8192, offset), data[offset:offset + 8192],
                    f'{name}: 8192 bytes at {offset}')
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
                if view.size() != len(data):
                    raise Wrong(f'{name}: size {view.size()}')

    def tree(self):
        names = []
        for directory, _, files in os.walk(self.mount, onerror=self.failed):
            names += [os.path.join(directory, file) for file in files]
        if not names:
            raise OSError(errno.ENOENT, 'no mount is there, between two')
        # Where a stat fails, os.walk takes a directory for a file.
        if any(stat.S_ISDIR(os.stat(name).st_mode) for name in names):
            raise OSError(errno.EIO, 'a stat failed in the walk')
        if len(names) != 10:
            raise Wrong(f'{len(names)} files')

    def failed(self, error):
        raise error

    def attributes(self):
        number = self.random.randrange(300)
        value = os.getxattr(self.path('groups/%03d' % number), 'user.number')
        if value != b'%d' % number:
            raise Wrong(f'attribute {number}: {value}')
        os.listxattr(self.path('large'))

    def views(self):
        with open(self.path('.h5/npy/chunked/plain.npy'), 'rb') as file:
            array = np.load(io.BytesIO(file.read()))
        if array.tobytes() != self.known['chunked/plain']:
            raise Wrong('chunked/plain.npy')
        with open(self.path('.h5/metadata.jsonl'), 'rb') as file:
            for line in file:
                json.loads(line)
        row = self.random.randrange(64)
        with open(self.path(f'.h5/slice/large/{row}'), 'rb') as file:
            if file.read() != self.known['large'][row * 524288:(row + 1) * 524288]:
                raise Wrong(f'slice {row} of large')

    def run(self, stop, faults_until, report):
        doings = (self.whole, self.pieces, self.pieces, self.mapped, self.tree, self.attributes, self.views)
        wrong = []
        while not stop.is_set():
            doing, begun = self.random.choice(doings), time.time()
            try:
                doing()
                self.counts['operations'] += 1
            except Wrong as error:
                wrong.append(f'{doing.__name__}: {error}')
            except (OSError, ValueError) as error:
                number = getattr(error, 'errno', None)
                # A mount that is being replaced has no files, or is another one.
                if number in FAULT_ERRORS | {errno.ENOTCONN, errno.ENOENT, errno.ENODATA} and begun < faults_until.value:
                    self.counts['errors: ' + errno.errorcode.get(number, str(error))] += 1
                else:
                    wrong.append(f'{doing.__name__}: {error!r} without a fault')
            if len(wrong) > 20:
                break
        report.put((self.counts, wrong))


def read_for_ever(mount, known, seed, stop, faults_until, report):
    Reader(mount, known, seed).run(stop, faults_until, report)


class Daemon:
    """A mount's process."""

    def __init__(self, program, options, file, mount):
        self.mount = mount
        subprocess.run([program, '-o', options, file, mount], check=True)
        self.pid = int(subprocess.run(['pgrep', '-n', '-f', f'{program} .*{mount}'], check=True, capture_output=True).stdout)

    def sizes(self):
        with open(f'/proc/{self.pid}/status') as status:
            lines = dict(line.split(':', 1) for line in status)
        return {'memory': int(lines['RssAnon'].split()[0]) << 10,
                'threads': int(lines['Threads']), 'descriptors': len(os.listdir(f'/proc/{self.pid}/fd'))}

    def end(self):
        for _ in range(600):
            if subprocess.run(['umount', self.mount], capture_output=True).returncode == 0:
                break
            time.sleep(.1)
        else:
            return 'busy for a minute'
        for _ in range(100):
            if not os.path.exists(f'/proc/{self.pid}'):
                return ''
            time.sleep(.1)
        return 'the process lives on after the unmount'


def rules_of(choose, size):
    """A few faults, at random."""
    def somewhere(most):
        begin = choose.randrange(size)
        return f'{begin} {begin + choose.randrange(1, most)}'
    kinds = {'eio': lambda: f'eio {somewhere(200_000)}', 'short': lambda: f'short {choose.choice((1000, 3333, 70_000))}',
             'delay': lambda: f'delay {choose.choice((1, 5))}', 'hang': lambda: f'hang {somewhere(50_000)}'}
    return {kind: kinds[kind]() for kind in choose.sample(sorted(kinds), choose.randrange(1, 3))}


def main():
    hours, program, fault_fs = float(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    options = ','.join([f'cache_size={CACHE}', *sys.argv[4:]])
    place = tempfile.mkdtemp(prefix='h5mount-soak-')
    source, faulty, mount, rules = (os.path.join(place, name) for name in ('source', 'faulty', 'mount', 'rules'))
    for directory in (source, faulty, mount):
        os.mkdir(directory)
    known = make(source + '/f.h5')
    size = os.path.getsize(source + '/f.h5')
    subprocess.run([fault_fs, source, rules, faulty], check=True)
    stop, faults_until, report = multiprocessing.Event(), multiprocessing.Value('d', 0.0), multiprocessing.Queue()
    troubles, faults, choose = [], collections.Counter(), random.Random(1)
    first = last = None
    peak = mounts = 0
    daemon = Daemon(program, options, faulty + '/f.h5', mount)
    readers = [multiprocessing.Process(target=read_for_ever, args=(mount, known, seed, stop, faults_until, report))
               for seed in range(READERS)]
    for reader in readers:
        reader.start()
    end, mounted = time.time() + hours * 3600, time.time()
    try:
        while time.time() < end:
            time.sleep(choose.uniform(2, 6))
            made = rules_of(choose, size)
            faults_until.value = time.time() + 1e6
            with open(rules + '.next', 'w') as out:
                out.write('\n'.join(made.values()) + '\n')
            os.rename(rules + '.next', rules)
            faults.update(made.keys())
            time.sleep(choose.uniform(1, 4))
            open(rules, 'w').close()
            faults_until.value = time.time() + GRACE
            if not os.path.exists(f'/proc/{daemon.pid}'):
                troubles.append('the daemon died')
                break
            if not all(reader.is_alive() for reader in readers):  # too much was wrong
                troubles.append('a reader gave up')
                break
            last = daemon.sizes()
            first = first or last
            peak = max(peak, last['memory'])
            if time.time() - mounted > REMOUNT_EVERY:
                faults_until.value = time.time() + 1e6
                subprocess.run(['umount', '-l', mount], check=True)
                daemon = Daemon(program, options, faulty + '/f.h5', mount)
                faults_until.value = time.time() + GRACE
                mounts, mounted = mounts + 1, time.time()
    finally:
        open(rules, 'w').close()
        stop.set()
    counts, deadline = collections.Counter(), time.time() + 120
    for reader in readers:
        counted, wrong = report.get(timeout=max(1, deadline - time.time()))
        counts.update(counted)
        troubles += wrong
    for reader in readers:
        reader.join()
    if left := daemon.end():
        troubles.append(left)
    subprocess.run(['umount', faulty], check=True)
    shutil.rmtree(place)
    if peak > MEMORY_BOUND:
        troubles.append(f'a peak of {peak >> 20} MiB of memory, {MEMORY_BOUND >> 20} allowed')
    print(f'{hours} h, {READERS} readers, {mounts} mounts anew')
    for name, count in sorted(counts.items()):
        print(f'{count:10} {name}')
    print('faults: ' + ', '.join(f'{count} {kind}' for kind, count in sorted(faults.items())))
    print(f'first: {first}\nlast:  {last}\npeak of memory: {peak >> 20} MiB')
    for trouble in troubles[:40]:
        print('WRONG: ' + trouble)
    print(f'{len(troubles)} troubles')
    return bool(troubles)


if __name__ == '__main__':
    sys.exit(main())
