#!/usr/bin/env python3
"""kill_reader.py SIGNAL COMMAND…: starts a command whose read takes long, kills it while it reads, and says
what became of it: "killed" where it was gone within ten seconds, else what went wrong. With --idle PID as the
first words, also waits until that process uses no processor time any more."""
import os
import signal
import subprocess
import sys
import time


def ticks(pid):
    fields = open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def comes_to_rest(pid, seconds):
    ends = time.monotonic() + seconds
    before = ticks(pid)
    while time.monotonic() < ends:
        time.sleep(0.5)
        now = ticks(pid)
        if now - before <= 3:  # of 50: what watches cost
            return True
        before = now
    return False


def main(words):
    daemon = None
    if words[0] == "--idle":
        daemon, words = words[1], words[2:]
    number = getattr(signal, words[0])
    child = subprocess.Popen(
        words[1:],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(1.5)
    if child.poll() is not None:
        return "it ended by itself, with %d" % child.returncode
    child.send_signal(number)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        return "it is not gone"
    if child.returncode != -number:
        return "it ended with %d" % child.returncode
    if daemon and not comes_to_rest(daemon, 15):
        return "killed, and the mount works on"
    return "killed"


print(main(sys.argv[1:]))
