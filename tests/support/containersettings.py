"""
Add this machine's settings to a container that an OCI runtime is about to create.

Docker executes this and then runc: `docker build` has no options for mounts and environment variables of
commands. What is added to containers does not become part of images.
"""

import json
import sys
from pathlib import Path


def add_settings(bundle: Path, settings: Path) -> None:
    """Add a mount and environment variables from a JSON file to the configuration of a container."""
    added = json.loads(settings.read_text())
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    mount = {"destination": added["target"], "type": "bind", "source": added["source"], "options": ["rbind", "ro"]}
    config["mounts"].append(mount)
    config["process"]["env"] += [f"{name}={value}" for name, value in added["variables"].items()]
    path.write_text(json.dumps(config))


if __name__ == "__main__":
    settings_file, *arguments = sys.argv[1:]
    if "create" in arguments:
        add_settings(Path(arguments[arguments.index("--bundle") + 1]), Path(settings_file))
