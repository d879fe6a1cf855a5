#!/usr/bin/env python3
"""Presses Tab in an interactive shell: press_tab.py bash|zsh|fish LINE WORD…

LINE is typed on a terminal of its own; the status is 1 unless each WORD is shown within half a minute after
Tab.
"""
import os, pty, select, sys, time

STARTS = {
    "bash": (
        ["bash", "--norc", "-i"],
        ". /usr/share/bash-completion/bash_completion; bind 'set bell-style none'",
    ),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -d /tmp/zcompdump"),
    "fish": (["fish", "-i"], "set -g fish_autosuggestion_enabled 0"),
}


def read_until(terminal, words, seconds):
    """What the terminal shows until it has all the words."""
    shown = ""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not all(word in shown for word in words):
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError:
                break
    return shown


def main():
    shell, line, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    command, start = STARTS[shell]
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    # The mark is typed in two parts, so that what is found is what the shell answered and not what was typed.
    os.write(terminal, (start + "; echo rea''dy\n").encode())
    read_until(terminal, ["ready"], 30)
    os.write(terminal, (line + "\t\t").encode())
    shown = read_until(terminal, words, 30)
    os.kill(process, 9)
    os.waitpid(process, 0)
    missing = [word for word in words if word not in shown]
    if missing:
        print(f"{shell} does not show {missing} after Tab: {shown!r}")
    sys.exit(1 if missing else 0)


main()
