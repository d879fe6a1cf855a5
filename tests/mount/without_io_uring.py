#!/usr/bin/env python3
"""without_io_uring.py setup|enter COMMAND…: runs a command under a seccomp filter that answers io_uring_setup(2), as the
default profiles of container programs do, or io_uring_enter(2) with EPERM. As root, so that programs that are started may
still gain rights."""
import ctypes
import errno
import os
import struct
import sys

CALLS = {'setup': 425, 'enter': 426}  # on every architecture
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # of BPF
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def main(forbidden, *command):
    instructions = b''.join(struct.pack('HBBI', *one) for one in (
        (LOAD, 0, 0, 0),  # the system call's number
        (JUMP_EQUAL, 0, 1, CALLS[forbidden]),
        (RETURN, 0, 0, ERROR | errno.EPERM),
        (RETURN, 0, 0, ALLOW)))
    kept = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack('HP', len(instructions) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        sys.exit(f'seccomp: {os.strerror(ctypes.get_errno())}')
    os.execvp(command[0], command)


main(*sys.argv[1:])
