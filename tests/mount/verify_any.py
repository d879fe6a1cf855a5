#!/usr/bin/env python3
"""Runs the corpus' verify_mount.py, whose reader of whole-file manifests expects keys that the filter and
sparse manifests do not have: they are given empty.

    verify_any.py VERIFY_MOUNT.PY ARGUMENT ...
"""
import importlib.util, json, sys

spec = importlib.util.spec_from_file_location("verify_mount", sys.argv[1])
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
load = json.load


def whole(file):
    manifest = load(file)
    if isinstance(manifest, dict) and "datasets" in manifest:
        manifest.setdefault("objects", {})
        manifest["note"] = manifest.get("note") or ""
    return manifest


tool.json.load = whole
sys.argv = sys.argv[1:]
sys.exit(tool.main())
