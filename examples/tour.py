"""Tour: run the offline commands of docs/get-started.md on the example files and print their output."""

import shlex
import subprocess
import sys
from pathlib import Path

STOPS = (
    ("A VM with an instance type, a preference and a disk.", "cat examples/web.yaml"),
    ("The expanded VM, with the source of each field.", "virtctl expand -f examples/web.yaml --explain"),
    ("An instance type that leaves vCPUs and memory to the VM.", "virtctl expand -f examples/custom.yaml -o yaml"),
    ("All problems of invalid manifests.", "virtshape lint examples/broken"),
    ("A custom instance type.", "virtctl customize u1.medium --catalog --name u1.mysize --vcpus 4 --memory 4Gi"),
    ("The catalog.", "virtshape catalog --series u1 -o table"),
)


def main() -> int:
    """Run the commands in order; stop at an exit status other than 0 and 1, and return that status."""
    commands = Path(sys.executable).parent
    for number, (purpose, line) in enumerate(STOPS, 1):
        sys.stdout.write(f"\n{number}. {purpose}\n\n$ {line}\n")
        sys.stdout.flush()
        program, *arguments = shlex.split(line)
        found = commands / program
        ran = subprocess.run([found if found.exists() else program, *arguments], check=False)
        if ran.returncode not in (0, 1):
            return ran.returncode
    sys.stdout.write(f"\nThe commands are in {commands}: source {commands}/activate, then virtctl --help.\n")
    return 0


sys.exit(main())
