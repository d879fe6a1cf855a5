#!/usr/bin/python3
"""soak_far.py MINUTES H5MOUNT [--changes N] [--readers N]: see soak_far.sh.

Element i of a dataset is `version << 40 | i`, so that a read shows which version of the object each of its bytes is of.
The versions lie differently in their files: what is read by one's structures in another would be seen too."""

import argparse
import collections
import errno
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 4  # seconds, of a request
GRACE = 2 * TIMEOUT + 4  # after a fault: `read` takes twice the timeout at most
INDEX = (1 << 40) - 1
VERSIONS = 16
CLUSTER = 25  # changes one after the other, before a pause
ALLOWED = {errno.EIO, errno.ESTALE, errno.EINTR, errno.ENOTCONN, errno.ENOENT, errno.EACCES}


class Wrong(Exception):
    pass


class Server:
    """far_server.py, which can end and come back at the same port."""

    def __init__(self, directory, *options):
        self.directory, self.options, self.port = directory, options, 0
        self.start()

    def start(self):
        script = os.path.join(HERE, '..', 'tests', 'remote', 'far_server.py')
        for _ in range(50):
            self.process = subprocess.Popen([sys.executable, script, self.directory, '--port', str(self.port),
                                             *self.options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            said = self.process.stdout.readline()
            if said:
                break
            time.sleep(.1)  # the port may be in use for a moment
        self.port = int(said)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, path):
        for _ in range(20):
            try:
                with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/{path}', timeout=30) as answer:
                    return answer.read()
            except OSError:  # on a machine that is busy with other things
                time.sleep(1)
        raise RuntimeError('the server does not answer')

    def set(self, faults=''):
        self.ask('.set?' + faults)

    def url(self, name):
        return f'http://127.0.0.1:{self.port}/{name}'


def elements(version, begin, end):
    return np.arange(begin, end, dtype='<u8') | np.uint64(version << 40)


def write(path, version, names, count):
    """Datasets of `count` elements: one contiguous, the others in chunks, behind as much as the version says."""
    with h5py.File(path, 'w', libver='latest' if version % 2 else 'earliest') as file:
        file.create_dataset('before', data=np.zeros(1 + version % 5 * 700, 'u1'))
        for name in names[::-1] if version % 3 == 0 else names:
            if name == 'contiguous':
                data = file.create_dataset(name, (count,), '<u8')
            else:
                how = {'shuffle': True, 'compression': 'gzip', 'compression_opts': 1} if name == 'packed' else {}
                data = file.create_dataset(name, (count,), '<u8', chunks=(5_000 + version % 4 * 3_000,), **how)
            for at in range(0, count, 1 << 20):
                data[at:at + (1 << 20)] = elements(version, at, min(at + (1 << 20), count))


def version_of(data, begin, version=None):
    """The version that all of `data`, which begins at that element, is of."""
    found = np.frombuffer(data[:len(data) // 8 * 8], '<u8')
    if len(found) == 0:
        return version
    version = int(found[0]) >> 40 if version is None else version
    wrong = np.flatnonzero(found != elements(version, begin, begin + len(found)))
    if len(wrong):
        at = int(wrong[0])
        raise Wrong(f'element {begin + at} is {int(found[at]):#x}, not of version {version}')
    return version


def waiting_threads(pid):
    """What each thread of a process waits for, by the kernel; and, where there is a debugger, its stacks, printed."""
    said = []
    for task in sorted(os.listdir(f'/proc/{pid}/task'), key=int):
        words = [task]
        for what in ('comm', 'wchan', 'syscall'):
            try:
                with open(f'/proc/{pid}/task/{task}/{what}') as file:
                    words.append(file.read().split(' 0x')[0].strip())
            except OSError:  # it has ended, or none may look
                words.append('?')
        said.append(' '.join(words))
    if shutil.which('gdb'):
        subprocess.run(['gdb', '-p', str(pid), '-batch', '-ex', 'thread apply all backtrace 16'], stderr=subprocess.DEVNULL,
                       timeout=300)
    return said


def held_elsewhere(mount):
    """Processes in other mount namespaces that have the mount still: those that were made while it was there have a copy."""
    own, out = os.readlink('/proc/self/ns/mnt'), []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/ns/mnt') != own:
                with open(f'/proc/{pid}/mountinfo') as mounts:
                    if any(line.split()[4].endswith(mount) for line in mounts):
                        out.append(pid)
        except OSError:
            pass
    return out


class Daemon:
    def __init__(self, program, url, mount, *options):
        self.program, self.mount = program, mount
        words = [program, '-f', '-o', ','.join([f'timeout={TIMEOUT}', *options]), url, mount]
        for _ in range(10):
            self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
            for _ in range(300):
                if os.path.ismount(mount):
                    return
                if self.process.poll() is not None:
                    break
                time.sleep(.1)
        raise RuntimeError('it cannot be mounted')

    def sizes(self):
        """Threads; descriptors, sockets apart, of which there are as many as connections are kept."""
        pid = self.process.pid
        names = []
        for number in os.listdir(f'/proc/{pid}/fd'):
            try:
                names.append(os.readlink(f'/proc/{pid}/fd/{number}'))
            except OSError:
                pass
        sockets = sum(name.startswith('socket:') for name in names)
        with open(f'/proc/{pid}/status') as status:
            lines = dict(line.split(':', 1) for line in status)
        return {'threads': int(lines['Threads']), 'descriptors': len(names) - sockets, 'sockets': sockets,
                'memory': int(lines['RssAnon'].split()[0]) >> 10}

    def end(self, lazily=False):
        words = ['umount', '-l', self.mount] if lazily else ['umount', self.mount]
        for _ in range(600):
            if subprocess.run(words, capture_output=True).returncode == 0:
                break
            time.sleep(.1)
        else:
            self.process.kill()
            self.process.wait()
            return 'the mount is busy for a minute'
        try:
            self.process.wait(30)
            return ''
        except subprocess.TimeoutExpired:
            pass
        # The mount is there until it has ended in every namespace, and h5mount serves it rightly.
        for holder in held_elsewhere(self.mount):
            print(f'process {holder} of another mount namespace holds the mount', flush=True)
            subprocess.run(['nsenter', '-t', holder, '-m', 'umount', '-l', self.mount], capture_output=True)
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            said = waiting_threads(self.process.pid)
            self.process.kill()
            self.process.wait()
            return f'the process lives on two minutes after the unmount: {said}'
        return ''


def read_ranges(path, count, choose):
    """Reads ranges of an open file, sometimes in order, sometimes of the kernel's pages: all of one version."""
    version, reads = None, 0
    fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if choose.randrange(4) == 0 else 0))
    try:
        if choose.randrange(4):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        at, in_order = choose.randrange(count), choose.randrange(2)
        for _ in range(choose.choice((3, 10, 40))):
            length = choose.choice((512, 4096, 70_000, 1 << 20)) // 512 * 512
            at = at // 64 * 64
            data = os.pread(fd, length, at * 8)
            version = version_of(data, at, version)
            reads += 1
            at = at + len(data) // 8 if in_order else choose.randrange(count)
            if at >= count:
                break
        return version, reads
    finally:
        os.close(fd)


class Loop:
    """What reader processes share: counts, what was wrong, and when errors are right."""

    def __init__(self):
        self.stop = multiprocessing.Event()
        self.faults_until = multiprocessing.Value('d', 0.0)
        self.met = multiprocessing.Value('l', 0)
        self.report = multiprocessing.Queue()

    def start(self, targets):
        self.processes = [multiprocessing.Process(target=target, args=arguments) for target, *arguments in targets]
        for process in self.processes:
            process.start()

    def run(self, doing):
        """Calls `doing` until the end; it returns counts."""
        counts, wrong = collections.Counter(), []
        while not self.stop.is_set() and len(wrong) < 20:
            try:
                counts.update(doing())
            except Wrong as error:
                wrong.append(str(error))
            except OSError as error:
                if error.errno in ALLOWED and time.time() < self.faults_until.value:
                    counts['errors: ' + errno.errorcode[error.errno]] += 1
                    time.sleep(.02)
                else:
                    wrong.append(f'{error!r} without a fault, {time.time() - self.faults_until.value:.1f} s after one')
        self.report.put((counts, wrong))

    def meet(self):
        with self.met.get_lock():
            self.met.value += 1

    def end(self):
        self.stop.set()
        counts, troubles = collections.Counter(), []
        for _ in self.processes:
            counted, wrong = self.report.get(timeout=300)
            counts.update(counted)
            troubles += wrong
        for process in self.processes:
            process.join()
        return counts, troubles


def show(title, counts, troubles):
    print(title)
    for name, count in sorted(counts.items()):
        print(f'{count:10} {name}')
    for trouble in troubles[:40]:
        print('WRONG: ' + trouble)
    print(f'{len(troubles)} troubles', flush=True)
    return len(troubles)


NAMES = ['contiguous', 'packed', 'chunks']


def reads_of_mount(loop, mount, count, seed):
    choose, last = random.Random(seed), [None]

    def once():
        try:
            version, reads = read_ranges(os.path.join(mount, choose.choice(NAMES)), count, choose)
        except OSError:
            if last[0] is not None:  # not of one that was met before
                loop.meet()
            last[0] = None
            raise
        if version not in (None, last[0]):
            last[0] = version
            loop.meet()
            return {'reads': reads, 'files opened': 1, 'other versions seen': 1}
        return {'reads': reads, 'files opened': 1}

    loop.run(once)


def cats(loop, program, url, count, seed):
    choose = random.Random(seed)

    def once():
        names = choose.sample(NAMES, 2)
        done = subprocess.run([program, '-o', f'timeout={TIMEOUT}', '--cat', url, *names], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        data, version = done.stdout, None
        # Of a dataset that failed there is a part, behind which the next one begins.
        if done.returncode == 0:
            if len(data) != 2 * count * 8:
                raise Wrong(f'--cat wrote {len(data)} bytes without an error')
            version = version_of(data[:count * 8], 0)
            version_of(data[count * 8:], 0, version)
            return {'--cat whole': 1}
        found = np.frombuffer(data[:len(data) // 8 * 8], '<u8')
        if len(set((found >> np.uint64(40)).tolist())) > 1:
            raise Wrong('--cat wrote bytes of two versions')
        loop.meet()
        said = done.stderr.decode(errors='replace').strip().split(': ')[-1]
        return {'--cat failed: ' + said[:60]: 1}

    loop.run(once)


def changes(program, number, readers, place):
    """Replaces the object so often, each time when a reader has met the last change, or soon after."""
    www, mount, pool = (os.path.join(place, name) for name in ('www', 'mount', 'pool'))
    for directory in (www, mount, pool):
        os.mkdir(directory)
    count = 120_000
    for version in range(VERSIONS):
        write(f'{pool}/{version}', version, NAMES, count)
    shutil.copy(f'{pool}/0', www + '/f.h5')
    server = Server(www)
    daemon = Daemon(program, server.url('f.h5'), mount, 'reload')
    loop, choose = Loop(), random.Random(3)
    loop.faults_until.value = time.time() + 1e6
    loop.start([(reads_of_mount, loop, mount, count, seed) for seed in range(readers)] +
               [(cats, loop, program, server.url('f.h5'), count, seed) for seed in (100, 101)])
    began, version, met = time.time(), 0, 0
    first = last = None
    try:
        for made in range(number):
            # The pool's files and the one before are other objects, by their inode and time.
            version = choose.choice([other for other in range(VERSIONS) if other != version])
            shutil.copyfile(f'{pool}/{version}', www + '/next')
            before = loop.met.value
            os.rename(www + '/next', www + '/f.h5')
            end = time.time() + .15
            while loop.met.value == before and time.time() < end:
                time.sleep(.002)
            met += loop.met.value != before
            # A mount looks for another version twice a second.
            time.sleep(1.2 if made % CLUSTER == 0 else choose.choice((0, .01, .03)))
            if made % 500 == 499:
                last = daemon.sizes()
                first = first or last
                print(f'{made + 1} changes, {met} met, {time.time() - began:.0f} s: {last}', flush=True)
            if not all(process.is_alive() for process in loop.processes):
                break
    finally:
        loop.stop.set()
        if sys.exc_info()[0]:
            daemon.end(lazily=True)
    counts, troubles = loop.end()
    left = daemon.end()
    server.stop()
    if left:
        troubles.append(left)
    counts['changes'], counts['changes met by a reader before the next'] = made + 1, met
    return show(f'{made + 1} changes of the object, {readers} readers and 2 of --cat, {time.time() - began:.0f} s; '
                f'first {first}, last {last}', counts, troubles)


def one_fault(choose, server):
    """Begins a fault; returns its name, and whether the mount is stale for good afterwards."""
    kind = choose.choice(['silent', 'trickle', 'fail', 'fail', 'reset', 'reset', 'long', 'shifted', 'whole', 'gzip', 'star',
                          'unsaid', 'tag', 'time', 'length', 'gone', 'paused', 'killed', 'delay'])
    few = choose.choice((1, 3, 30))
    said = {'silent': f'silent={few}', 'trickle': f'trickle={choose.choice((500, 20_000, 300_000))}',
            'fail': f'fail={few}:{choose.choice((408, 429, 500, 502, 503, 504, 403))}',
            'reset': f'reset={few}:{choose.choice((0, 1, 1000, 100_000, 1_500_000))}', 'tag': 'tag="other"',
            'time': 'time=other', 'length': f'length={choose.choice((5, 10**9))}', 'delay': 'delay=0.3'}
    if kind == 'paused':
        os.kill(server.process.pid, signal.SIGSTOP)
    elif kind == 'killed':
        server.stop()
    else:
        server.set(urllib.parse.quote(said.get(kind, kind)))
    return kind, kind in ('tag', 'time', 'length')


def end_fault(kind, server):
    if kind == 'paused':
        os.kill(server.process.pid, signal.SIGCONT)
    elif kind == 'killed':
        server.start()
    server.set()


def reads_with_faults(loop, mount, count, seed):
    choose = random.Random(seed)

    def once():
        version, reads = read_ranges(os.path.join(mount, choose.choice(NAMES)), count, choose)
        if version not in (None, 1):
            raise Wrong(f'version {version}')
        return {'reads': reads, 'files opened': 1}

    loop.run(once)


def walks_with_faults(loop, mount):
    def once():
        names = sorted(os.listdir(mount))
        if names and names != sorted(['.h5', 'before', *NAMES]) and names != sorted(['before', *NAMES]):
            raise Wrong(f'names {names}')
        for name in NAMES:
            os.stat(os.path.join(mount, name))
        time.sleep(.05)
        return {'walks': 1}

    loop.run(once)


def faults(program, minutes, readers, place):
    www, mount = place + '/www', place + '/mount'
    os.makedirs(www, exist_ok=True)
    os.makedirs(mount, exist_ok=True)
    count = 4_500_000  # together more than the 64 MiB that a mount keeps of what it has fetched
    write(www + '/g.h5', 1, NAMES, count)
    server = Server(www)
    daemon = Daemon(program, server.url('g.h5'), mount, 'cache_size=48M')
    loop, choose = Loop(), random.Random(5)
    loop.start([(reads_with_faults, loop, mount, count, seed) for seed in range(readers)] +
               [(walks_with_faults, loop, mount)])
    kinds, troubles, sizes, mounts = collections.Counter(), [], [], 1
    began = shown = time.time()
    try:
        while time.time() < began + minutes * 60:
            time.sleep(choose.uniform(1, 3))
            loop.faults_until.value = time.time() + 1e6
            kind, stale = one_fault(choose, server)
            kinds[kind] += 1
            time.sleep(choose.choice((.3, 2, TIMEOUT * 1.5)))
            end_fault(kind, server)
            if stale or kinds.total() % 40 == 0:
                troubles += [trouble for trouble in [daemon.end(lazily=True)] if trouble]
                daemon = Daemon(program, server.url('g.h5'), mount, 'cache_size=48M')
                mounts += 1
            loop.faults_until.value = time.time() + GRACE
            # Now and then all errors must have passed.
            if kinds.total() % 8 == 0:
                time.sleep(GRACE + 3)
                sizes.append(daemon.sizes())
            if daemon.process.poll() is not None:
                troubles.append('the daemon died')
                break
            if not all(process.is_alive() for process in loop.processes):
                troubles.append('a reader gave up')
                break
            if time.time() - shown > 300:
                shown = time.time()
                print(f'{(shown - began) / 60:.0f} minutes, {kinds.total()} faults, {sizes[-1:]}', flush=True)
    finally:
        loop.stop.set()
        if server.process.poll() is None:
            os.kill(server.process.pid, signal.SIGCONT)
        if sys.exc_info()[0]:
            daemon.end(lazily=True)
    counts, wrong = loop.end()
    troubles += wrong
    if left := daemon.end():
        troubles.append(left)
    server.stop()
    counts['mounts'] = mounts
    for kind, number in kinds.items():
        counts['fault: ' + kind] = number
    for what in sizes[0] if sizes else []:
        values = [size[what] for size in sizes]
        print(f'{what}, in {len(values)} calm moments: {min(values)} to {max(values)}, last {values[-1]}')
    return show(f'{(time.time() - began) / 60:.1f} minutes of faults, {readers} readers', counts, troubles)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('minutes', type=float)
    parser.add_argument('program')
    parser.add_argument('--changes', type=int, default=10_000)
    parser.add_argument('--readers', type=int, default=4)
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    troubles = 0
    for part, wanted in ((changes, args.changes), (faults, args.minutes)):
        if wanted <= 0:
            continue
        with tempfile.TemporaryDirectory(prefix='h5mount-soak-far-') as place:
            troubles += part(program, wanted, args.readers, place)
    return bool(troubles)


if __name__ == '__main__':
    sys.exit(main())
