# Sourced by the scripts: makes a virtual environment with brimful in it, and makes it anew only when its inputs changed.

say() { printf 'brimful: %s\n' "$*" >&2; }

find_python() { # a Python of at least 3.11, or the way to one
    local name
    for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        if [ -n "$name" ] && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            # not the one of an activated environment, which may be the very one that is about to be made anew
            "$name" -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))'
            return
        fi
    done
    say "no Python of at least 3.11 was found"
    say "  fix: apt-get install python3 (Debian 12 has 3.11), or name one: PYTHON=/path/to/python3 $0"
    exit 2
}

need_venv() { # Debian splits venv from python3
    "$1" -c 'import ensurepip, venv' 2>/dev/null && return
    local log
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "Python cannot make virtual environments here: its module ensurepip is missing"
        say "  fix: sudo apt-get install python3-venv"
        exit 2
    fi
    say "installing the system package python3-venv (apt-get), which Python needs to make virtual environments"
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv; } >"$log" 2>&1; then
        cat "$log" >&2
        say "apt-get could not install python3-venv (see above)"
        exit 2
    fi
    rm -f "$log"
}

environment() { # environment DIR "GROUP ..." REQUIREMENT [WHAT]: make DIR with this project (and dependency groups) in it
    local dir=$1 groups=$2 requirement=$3 python stamp
    local what=${4:-"what brimful needs, and what tests and checks it, about 160 MB,"}
    # the names of the modules count too: an editable install remembers where each of them was
    stamp=$PWD:$( (find src -name "*.py" | LC_ALL=C sort; cat pyproject.toml CMakeLists.txt native/* scripts/environment.sh) | sha256sum | cut -d' ' -f1)
    if [ -x "$dir/bin/brimful" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    python=$(find_python)
    need_venv "$python"
    if ! command -v c++ >/dev/null && ! command -v g++ >/dev/null && ! command -v clang++ >/dev/null; then
        say "no C++ compiler: the native module is left out, pure Python is used (slower; apt-get install g++ changes that)"
    fi
    say "making $dir: downloading $what from PyPI"
    say "  (and, to build: CMake, 30 MB, where the system has none; nanobind, scikit-build-core, 1 MB), then building; a minute or two"
    rm -rf "$dir"
    "$python" -m venv "$dir"
    local pip=("$dir/bin/python" -m pip install --quiet --disable-pip-version-check)
    trap 'say "making $dir failed (see above); what is missing is downloaded again at the next start"' ERR
    "${pip[@]}" --upgrade "pip>=25.1"
    # shellcheck disable=SC2086 # the groups are words
    "${pip[@]}" --editable "$requirement" ${groups:+$(printf -- "--group %s " $groups)}
    trap - ERR
    printf '%s' "$stamp" >"$dir/stamp"
}
