#!/usr/bin/env python3
"""Runs the pod of scripts/package/examples/pod.yaml as far as mounts go: run_pod.py H5MOUNT FILE VOLUME

Side car and reader are processes with mount namespaces of their own, whose volume VOLUME propagates mounts as
the file says. Prints what the reader prints, and "unmounted" where nothing is mounted in its namespace once
the side car has ended. Run it as root in a mount namespace of its own (unshare -m).
"""
import json, os, re, subprocess, sys, time

POD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/package/examples/pod.yaml")
# What util-linux's unshare calls Kubernetes' names.
PROPAGATIONS = {"Bidirectional": "unchanged", "HostToContainer": "slave"}


def container(text, name):
    part = text[text.index(f"- name: {name}\n      image") :]
    words = json.loads(re.search(r"^      (?:args|command): (\[.*\])$", part, re.M).group(1))
    kind = re.search(r"mountPath: /tree, mountPropagation: (\w+)", part).group(1)
    return words, ["unshare", "-m", "--propagation", PROPAGATIONS[kind]]


def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        if time.monotonic() > end:
            sys.exit("it took more than a minute")
        time.sleep(0.05)


def main():
    program, source, volume = sys.argv[1:]
    with open(POD, encoding="utf-8") as file:
        text = file.read()
    subprocess.run(["mount", "-t", "tmpfs", "pod", volume], check=True)
    subprocess.run(["mount", "--make-shared", volume], check=True)
    words, apart = container(text, "h5mount")
    places = {"/data/run.h5": source, "/tree": volume}
    side_car = subprocess.Popen(apart + [program] + [places.get(word, word) for word in words])
    # The reader's namespace is there from the beginning, as that of a container that is started at the same
    # time.
    words, apart = container(text, "reader")
    words = [word.replace("/tree", volume) for word in words]
    with subprocess.Popen(apart + words, stdout=subprocess.PIPE, text=True) as reader:
        print(reader.communicate(timeout=60)[0], end="", flush=True)
    side_car.terminate()
    side_car.wait(60)
    wait_for(lambda: not os.path.exists(volume + "/.h5"))
    print("unmounted")


main()
