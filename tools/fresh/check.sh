#!/usr/bin/env bash
# Tests `make up` and `make test` in clean Debian installations with only git, make, python3 and ca-certificates.
#
#     tools/fresh/check.sh                     # what CI runs: bookworm/container, trixie/user, trixie/root
#     tools/fresh/check.sh trixie/user         # one case: SUITE/root, SUITE/user or SUITE/container
#     FRESH_TESTS=tests/unit tools/fresh/check.sh sid/root
#
# Each case clones HEAD, runs `make up`, runs the README's tour until the demo guest has printed its hardware, and runs
# FRESH_TESTS: by default all unit tests in bookworm/container and trixie/user, and a few of them in other cases. `root` has
# all capabilities, `user` has no sudo, `container` is root with Docker's capabilities. Suites are checked in parallel. Root
# file systems and downloads are cached. apt and pip use the configuration of the host. FRESH_SECONDS limits all cases
# together.
set -euo pipefail
cd "$(dirname "$0")/../.."

here=$PWD/tools/fresh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtshape/fresh
cases=("$@")
[ ${#cases[@]} -gt 0 ] || cases=(bookworm/container trixie/user trixie/root)
seconds=${FRESH_SECONDS:-1800}

# In CI, a check that cannot run is a failure.
skip() { echo "Fresh machines are not checked: $*" >&2; [ -z "${CI:-}" ]; exit; }

[ "$(id -u)" -eq 0 ] || skip "only root can create and enter the root directories"
if ! command -v mmdebstrap >/dev/null && [ -n "${CI:-}" ]; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null || true
fi
for tool in mmdebstrap unshare setpriv chroot; do
    command -v $tool >/dev/null || skip "$tool is not installed (apt-get install -y mmdebstrap util-linux)"
done
unshare --mount --pid --fork true 2>/dev/null || skip "namespaces are not allowed here"

choose_tests() { # CASE
    case $1 in
        bookworm/container | trixie/user) echo tests/unit ;;
        *) echo tests/unit/launcher/images tests/unit/launcher/node tests/unit/engine ;;
    esac
}

# Copy the host's apt settings, such as proxies, to the root file system.
write_apt_settings() {
    apt-config dump | grep -E '^Acquire::(https?|ftp|Retries|ForceIPv[46]|Check-Valid-Until|CompressionTypes)\b' || true
}

# Print the host's package sources, rewritten for another suite; print nothing if the host does not run Debian.
list_sources() {
    local own
    own=$(. /etc/os-release && echo "$ID $VERSION_CODENAME")
    [ "${own% *}" = debian ] || return 0
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
        while read -r uri release component; do
            [ "$component" = main ] || continue
            case $1:$release in
                sid:"${own#* }") echo "deb $uri sid main" ;;
                sid:*) ;;
                *:"${own#* }"*) echo "deb $uri $1${release#"${own#* }"} main" ;;
            esac
        done
}

make_root() { # SUITE: creates the archive of its root file system once
    local suite=$1 work
    [ ! -e "$cache/$suite.tar" ] || return 0
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/making.XXXXXX")
    write_apt_settings >"$work/settings"
    list_sources "$suite" >"$work/sources"
    local sources=("$work/sources")
    [ -s "$work/sources" ] || sources=()
    mmdebstrap --quiet --variant=minbase --include=git,make,python3,ca-certificates --aptopt="$work/settings" \
        --dpkgopt=force-unsafe-io "$suite" "$work/root.tar" "${sources[@]}" || { rm -rf "$work"; return 1; }
    mv "$work/root.tar" "$cache/$suite.tar"
    rm -rf "$work"
}

check() { # SUITE WHO
    local suite=$1 who=$2 tests root
    tests=${FRESH_TESTS-$(choose_tests "$suite/$who")}
    root=$(mktemp -d "$cache/root.XXXXXX")
    # shellcheck disable=SC2064 # expand the variable now
    trap "rm -rf --one-file-system '$root'" EXIT
    tar -xf "$cache/$suite.tar" -C "$root"
    mkdir -p "$cache/$suite/archives" "$cache/$suite/downloads-root" "$cache/$suite/downloads-user" "$root/fresh"
    git bundle create --quiet "$root/fresh/repository" HEAD
    cp "$here/inside.sh" "$root/fresh/"
    cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e "$file" ] || cp --dereference "$file" "$root$file"
    done
    env | grep -E '^(PIP|UV)_|^(https?|no|HTTPS?|NO)_(proxy|PROXY)=|^(SSL_CERT|REQUESTS_CA|CURL_CA)' |
        grep -vE '^(PIP_FIND_LINKS|[A-Z]+_CACHE_DIR)=' | sed "s/'/'\\\\''/g; s/=\(.*\)/='\1'/; s/^/export /" >"$root/fresh/settings" || true
    chmod -R a+rX "$root/fresh"
    timeout --kill-after=30 "$((seconds > SECONDS ? seconds - SECONDS : 1))" unshare --mount --pid --fork --kill-child --propagation private \
        bash "$here/enter.sh" "$root" "$cache/$suite" "$who" "$tests"
}

# Check the cases of a suite one after the other, because they share apt's directory of downloads.
check_suite() { # SUITE
    local case start failed=0
    if ! make_root "$1"; then
        printf '%s: not checked: creating a root file system of '"$1"' failed\n' $(list_cases "$1") >&2
        [ -z "${CI:-}" ]
        return
    fi
    for case in $(list_cases "$1"); do
        start=$SECONDS
        if (check "$1" "${case#*/}" 2>&1 | sed -u "s|^|$case: |"); then
            echo "$case: works ($((SECONDS - start)) s)"
        else
            echo "$case: FAILED ($((SECONDS - start)) s)" >&2
            failed=1
        fi
    done
    return $failed
}

list_cases() { # SUITE
    printf '%s\n' "${cases[@]}" | grep "^$1/"
}

failed=0
running=()
for suite in $(printf '%s\n' "${cases[@]%/*}" | sort -u); do
    check_suite "$suite" &
    running+=($!)
done
for process in "${running[@]}"; do
    wait "$process" || failed=1
done
exit $failed
