"""A SWMR writer's file is read through a mount with -o survive whose server is killed at each of its appends,
half of the time stopped before, so that the growth is seen by the next server alone."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

PROGRAM, SOURCE, MOUNT = sys.argv[1:]
STEP = 1500


def server():
    with open(MOUNT + "/.h5/status", encoding="utf-8") as status:
        return next(int(line[5:]) for line in status if line.startswith("pid: "))


def read_until(descriptor, wanted):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = np.frombuffer(os.pread(descriptor, wanted * 8 + 100, 0), "<i8")
        assert (found == np.arange(len(found))).all(), f"other bytes among {len(found)} numbers"
        if len(found) == wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"{len(found)} numbers where there are {wanted}")


def main():
    with h5py.File(SOURCE, "w", libver="latest") as file:
        data = file.create_dataset("x", data=np.arange(1000), maxshape=(None,), chunks=(1000,), dtype="<i8")
        file.swmr_mode = True
        subprocess.run([PROGRAM, "-o", "survive", SOURCE, MOUNT], check=True)
        descriptor = os.open(MOUNT + "/x", os.O_RDONLY)
        for kill in range(8):
            pid = server()
            if kill % 2:
                os.kill(pid, signal.SIGSTOP)
            size = len(data) + STEP
            data.resize((size,))
            data[size - STEP :] = np.arange(size - STEP, size)
            data.flush()
            os.kill(pid, signal.SIGKILL)
            read_until(descriptor, size)
        os.close(descriptor)


main()
