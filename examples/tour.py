"""The tour: runs the commands of the README on the files beside this one, and shows what they print."""

import shlex
import subprocess
import sys
from pathlib import Path

STOPS = (
    ("A VM that names a size and a guest, and says nothing else.", "cat examples/web.yaml"),
    ("What it becomes, and who decided what.", "virtctl expand -f examples/web.yaml --explain"),
    ("Sizes that the instance type leaves to the VM.", "virtctl expand -f examples/custom.yaml -o yaml"),
    ("What is wrong with these, all at once.", "virtshape lint examples/broken"),
    ("A size of one's own.", "virtctl customize u1.medium --catalog --name u1.mysize --vcpus 4 --memory 4Gi"),
    ("The catalog.", "virtshape catalog --series u1 -o table"),
)


def main() -> int:
    """Walk through all stops."""
    commands = Path(sys.executable).parent
    for number, (purpose, line) in enumerate(STOPS, 1):
        sys.stdout.write(f"\n{number}. {purpose}\n\n$ {line}\n")
        sys.stdout.flush()
        program, *words = shlex.split(line)
        found = commands / program
        ran = subprocess.run([found if found.exists() else program, *words], check=False)
        if ran.returncode not in (0, 1):
            return ran.returncode
    sys.stdout.write(f"\nThe commands are in {commands}: source {commands}/activate, then virtctl --help.\n")
    return 0


sys.exit(main())
