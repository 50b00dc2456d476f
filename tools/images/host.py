"""Settings of this machine that builds use and images do not contain: package mirrors, proxies, CA certificates."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

MIRROR: Final = "http://deb.debian.org/debian"
"""The mirror to use if this machine does not run Debian."""

PLACE: Final = "/mnt"
"""Mount point of the settings while commands run: an empty directory that exists in Debian's images."""

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_OWN_AUTHORITIES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_INHERITED: Final = re.compile(r"(PIP|UV)_|(https?|no|HTTPS?|NO)_(proxy|PROXY)$")
_LOCAL: Final = re.compile(r"PIP_FIND_LINKS|PIP_CERT|\w+_CACHE_DIR|UV_PROJECT_ENVIRONMENT|UV_PYTHON|UV_LINK_MODE")
_AUTHORITIES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def write_settings(directory: Path, suite: str) -> None:
    """Write the settings that are mounted at `PLACE`, and apt's options for mmdebstrap."""
    directory.mkdir(parents=True, exist_ok=True)
    sources = list_sources(suite)
    (directory / "sources.list").write_text("".join(f"{line}\n" for line in sources))
    dumped = _run("apt-config", "dump") if Path("/usr/bin/apt-config").exists() else ""
    options = re.findall(r"^Acquire::(?:https?|ftp|Retries|ForceIPv[46]|Check-Valid-Until)\b.*$", dumped, re.MULTILINE)
    (directory / "options").write_text("".join(f"{line}\n" for line in options))
    lists = [f'Dir::Etc::sourcelist "{PLACE}/sources.list";', 'Dir::Etc::sourceparts "-";']
    (directory / "apt.conf").write_text("".join(f"{line}\n" for line in [*options, *lists]))
    if _OWN_AUTHORITIES.exists():
        shutil.copyfile(_OWN_AUTHORITIES, directory / "ca.crt")


def list_sources(suite: str) -> list[str]:
    """Return apt's sources for a release: the mirrors of this machine if it runs Debian."""
    release = dict(re.findall(r"^(\w+)=\"?([^\"\n]*)", Path("/etc/os-release").read_text(), re.MULTILINE))
    if release.get("ID") != "debian":
        security = f"deb {MIRROR}-security {suite}-security main"
        return [f"deb {MIRROR} {suite} main", f"deb {MIRROR} {suite}-updates main", security]
    own = release["VERSION_CODENAME"]
    targets = _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    found = [line.split() for line in sorted(set(targets.splitlines()))]
    return [
        f"deb {uri} {suite}{name.removeprefix(own)} main"
        for uri, name, component in found
        if component == "main" and name.startswith(own)
    ]


def build_environment() -> dict[str, str]:
    """Return the environment variables that make commands use the settings."""
    inherited = {
        name: value for name, value in os.environ.items() if _INHERITED.match(name) and not _LOCAL.fullmatch(name)
    }
    authorities = dict.fromkeys(_AUTHORITIES, f"{PLACE}/ca.crt") if _OWN_AUTHORITIES.exists() else {}
    return {**inherited, **authorities, "APT_CONFIG": f"{PLACE}/apt.conf"}


def _run(*line: str) -> str:
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout
