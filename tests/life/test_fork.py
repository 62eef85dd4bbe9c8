"""A process that is forked while threads of its parent write can write and change as its parent can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.life.conftest import Owner

SCRIPT = """
import os, signal, sys, threading, time
from commonplace import Memory

memory = Memory.open(sys.argv[1])
memory.remember("The gate is red.", long_term=True)
stop = threading.Event()

def write() -> None:
    number = 0
    while not stop.is_set():
        memory.remember(f"parent {number}")
        number += 1

def fresh() -> None:
    with Memory.open(sys.argv[1]) as other:
        other.remember("of a child with a memory of its own")

CHANGES = {
    "remember": lambda: memory.remember("of a child"),
    "long-term": lambda: memory.remember("of a child, for long", long_term=True),
    "another memory": fresh,
    "correct": lambda: memory.correct("The gate is red.", "The gate is blue."),
    "long-lived": lambda: None,
}
threads = [threading.Thread(target=write) for _ in range(3)]
for thread in threads:
    thread.start()
living = 0
for place, (name, change) in enumerate(CHANGES.items()):
    time.sleep(0.05 + 0.02 * place)
    child = os.fork()
    if not child:
        signal.alarm(100)
        if name == "long-lived":
            time.sleep(90)
        change()
        os._exit(0)
    if name == "long-lived":
        living = child
    else:
        print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
time.sleep(0.5)
stop.set()
for thread in threads:
    thread.join()
memory.remember("the last of the parent")  # a child that lives on keeps nobody from writing
os.kill(living, signal.SIGKILL)
"""


def test_a_child_that_is_forked_while_threads_write(owner: Owner) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(owner.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    names = ("remember", "long-term", "another memory", "correct")
    assert done.stdout.split("\n")[:-1] == [f"{name} 0" for name in names], done.stderr
    owner.ok("sync")  # writes what waited for another writer
    day = "".join(path.read_text() for path in (owner.folder / "memory").glob("*.md"))
    assert [day.count(line) for line in ("of a child\n", "with a memory of its own", "last of the parent")] == [
        1, 1, 1,
    ]  # fmt: skip
    long = owner.read("MEMORY.md")
    assert "for long" in long
    assert "The gate is blue." in long
