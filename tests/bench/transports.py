#!/usr/bin/python3
"""What io_uring and directories without an open gain: h5mount by both transports, an earlier h5mount (--baseline), and trivial
FUSE in both of libfuse's loops, alternating; medians, and ratios within a round. As root: the kernel's parameter is set, and
set back. Run by `scripts/bench.sh --transports [--rounds N] [--baseline H5MOUNT]`."""
import argparse
import os
import random
import subprocess
import sys
import time
from statistics import median

import h5py
import numpy

TILE_ROWS, TILE_ROW = 8192, 16384  # rows, and bytes of each
PARAMETER = '/sys/module/fuse/parameters/enable_uring'


def make_data(directory):
    groups, many, plain, tiles = (f'{directory}/transports-{name}.h5' for name in ('groups', 'many', 'plain', 'tiles'))
    if not os.path.exists(plain):
        with h5py.File(groups, 'w', libver='latest') as file:
            for i in range(100):
                for j in range(100):
                    below = file.create_group(f'd{i}/d{j}')
                    for k in range(10):
                        below.create_group(f'd{k}')
        with h5py.File(many, 'w', libver='latest') as file:
            for i in range(10000):
                file[f'g/dataset{i:05}'] = numpy.int32(i)
        with h5py.File(plain, 'w') as file:
            file['data'] = numpy.random.default_rng(1).integers(0, 255, 1 << 30, dtype='u1')
    if not os.path.exists(tiles):
        with h5py.File(tiles, 'w', libver='latest') as file:
            numbers = numpy.random.default_rng(1).poisson(20, (TILE_ROWS, TILE_ROW // 2)).astype('<u2')
            file.create_dataset('deflated', data=numbers, chunks=(256, 256), compression='gzip', shuffle=True)
            file.create_dataset('unfiltered', data=numbers, chunks=(256, 256))
    with open(f'{plain}.raw', 'wb') as raw, open(plain, 'rb') as file:
        with h5py.File(plain, 'r') as opened:
            file.seek(opened['data'].id.get_offset())
        os.copy_file_range(file.fileno(), raw.fileno(), 1 << 30)
    return {'groups': groups, 'many': many, 'plain': plain, 'tiles': tiles}


class Mounted:
    """`command`: the words of a program, environment variables for it first."""

    def __init__(self, command, place):
        self.place, self.outside = place, os.stat(os.path.dirname(place)).st_dev
        os.makedirs(place, exist_ok=True)
        # In a session of its own, so that Ctrl-C does not end the mount before it is left.
        self.process = subprocess.Popen(['env', *command, place], stderr=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        while os.stat(self.place).st_dev == self.outside:
            time.sleep(0.002)
        time.sleep(0.1)  # the read-ahead is raised

    def __exit__(self, *_):
        subprocess.run(['umount', self.place], check=True)
        self.process.wait()


def timed(*command):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def pages_of(path):
    """A function that reads the page of a number."""
    if path.endswith('.h5'):
        dataset = h5py.File(path)['data']
        return lambda page: dataset[page << 12:(page + 1) << 12]
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    return lambda page: os.pread(fd, 4096, page << 12)


def at_random(path, readers, count=4000):
    begin, children = time.monotonic(), []
    for reader in range(readers):
        child = os.fork()
        if child == 0:
            chosen, read = random.Random(reader), pages_of(path)
            for _ in range(count):
                read(chosen.randrange(1 << 18))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return (time.monotonic() - begin) / (readers * count)


def lookups_beside(path, place):
    """The 99th percentile of lookups of names that are not there, while four programs read."""
    cats = [subprocess.Popen(['cat', path], stdout=subprocess.DEVNULL) for _ in range(4)]
    taken = []
    while any(cat.poll() is None for cat in cats):
        begin = time.monotonic()
        os.path.exists(f'{place}/missing{len(taken)}')
        taken.append(time.monotonic() - begin)
        time.sleep(0.002)
    return sorted(taken)[len(taken) * 99 // 100] if taken else 0.0


def walk(command, place):
    with Mounted(command, place):
        return {'find': timed('find', place), 'find -size': timed('find', place, '-size', '+1M'), 'du': timed('du', place)}


def listings(command, place):
    with Mounted(command, place):
        first = timed('ls', '-l', f'{place}/g')
    with Mounted(command, place):
        return {'ls -l at first': first, 'ls': timed('ls', f'{place}/g'), 'ls -l after ls': timed('ls', '-l', f'{place}/g')}


def reads(command, place):
    path = f'{place}/data'
    with Mounted(command, place):
        out = {'random, one reader': at_random(path, 1), 'random, four': at_random(path, 4)}
    with Mounted(command, place):
        out['cat 1 GiB'] = timed('cat', path)
    with Mounted(command, place):
        out['lookup beside four cat, p99'] = lookups_beside(path, place)
    return out


def tiles_of(command, place):
    out = {}
    for name in ('deflated', 'unfiltered'):
        with Mounted(command, place):
            out[f'cat of {name} tiles'] = timed('cat', f'{place}/{name}')
    with Mounted(command, place):
        fd, begin = os.open(f'{place}/deflated', os.O_RDONLY), time.monotonic()
        for row in range(TILE_ROWS):
            os.pread(fd, 2, row * TILE_ROW)
        out['column of deflated tiles'] = time.monotonic() - begin
        os.close(fd)
    return out


def systems(options, data):
    """name: (walk, listings, reads, tiles) as commands, and whether rings are allowed."""
    def h5mount(program, *more, without=''):
        return [[f'H5MOUNT_WITHOUT={without}', program, '-f', *more, data[file]] for file in ('groups', 'many', 'plain', 'tiles')]
    out = {'rings': (h5mount(options.program, '-o', 'io_uring=on'), True),
           'rings, OPENDIR': (h5mount(options.program, '-o', 'io_uring=on', without='no-opendir'), True),
           '/dev/fuse': (h5mount(options.program, '-o', 'io_uring=off'), False),
           '/dev/fuse, OPENDIR': (h5mount(options.program, '-o', 'io_uring=off', without='no-opendir'), False)}
    for name in ('rings', '/dev/fuse'):  # polling and binding to the client's processor serve small requests one by one
        commands = h5mount(options.program, '-o', 'io_uring=' + ('on' if out[name][1] else 'off'), without='wait-choice')
        out[name + ', no wait-choice'] = ([commands[0], None, commands[2], None], out[name][1])
    if options.baseline:
        out['baseline'] = (h5mount(options.baseline), False)
    for name, loop in (('trivial, threads', []), ('trivial, one thread', ['-s'])):
        out[name] = ([[f'{options.tools}/trivial_tree', *loop], None,
                      [f'{options.tools}/trivial_fuse', *loop, data['plain'] + '.raw'], None], False)
    return out


def one(commands, place):
    groups, many, plain, tiles = commands
    out = walk(groups, place)
    if many:
        out |= listings(many, place)
    if tiles:
        out |= tiles_of(tiles, place)
    return out | reads(plain, place)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--program', required=True)
    parser.add_argument('--tools', required=True)
    parser.add_argument('--baseline')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--directory', default='/var/tmp/h5mount-bench')
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    data = make_data(options.directory)
    try:
        with open(PARAMETER) as file:
            before = file.read()
    except OSError:
        raise SystemExit(f'Linux {os.uname().release} has no FUSE over io_uring')
    measured = {}
    try:
        for number in range(options.rounds):
            all_of_them = list(systems(options, data).items())
            first = number % len(all_of_them)  # what comes first in a round is slower
            for name, (commands, rings) in all_of_them[first:] + all_of_them[:first]:
                with open(PARAMETER, 'w') as file:
                    file.write('Y' if rings else 'N')
                begin = time.monotonic()
                for row, seconds in one(commands, f'{options.directory}/mnt-transports').items():
                    measured.setdefault(row, {}).setdefault(name, []).append(seconds)
                print(f'round {number + 1} of {options.rounds}: {name}, {time.monotonic() - begin:.0f} s', file=sys.stderr)
            for row, readers in (('random, one reader', 1), ('random, four', 4)):
                measured[row].setdefault('h5py', []).append(at_random(data['plain'], readers))
    except KeyboardInterrupt:
        pass  # what is measured so far is reported
    finally:
        with open(PARAMETER, 'w') as file:
            file.write(before)
    report(measured)


def report(measured):
    for row, systems_of in measured.items():
        scale, unit = (1e6, 'µs') if row.startswith('random') else (1e3, 'ms')
        print(f'{row}: ' + '; '.join(f'{name} {median(all_of) * scale:.1f} {unit}' for name, all_of in systems_of.items()))
        trivials = [all_of for name, all_of in systems_of.items() if name.startswith('trivial')]
        if not trivials:
            continue
        best = min(trivials, key=median)
        for name, all_of in systems_of.items():
            if not name.startswith('trivial'):
                print(f'    {name} / the better trivial: {median(a / b for a, b in zip(all_of, best)):.2f}')


main()
