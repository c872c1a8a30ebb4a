#!/bin/sh
# Makes the project's own environment in .venv: uv, Python 3.13, every library, and a look at what
# Blender needs of the system. Asks nothing; a second run takes a second.
set -eu
cd "$(dirname "$0")/.."

fail() {
    printf '%s\n%s\n' "$1" "$2" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || echo "Tried on Linux only; going on." >&2

# --- uv: the one on the PATH, else one in the project's own folder -------------------------------
python_with_pip() {
    for candidate in python3.13 python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c '' >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

if command -v uv >/dev/null 2>&1; then
    uv=uv
else
    uv=.uv/bin/uv
    if ! "$uv" --version >/dev/null 2>&1; then
        python=$(python_with_pip) || fail \
            "There is neither uv nor Python 3 here." \
            "As root: apt-get install --yes python3 python3-pip"
        echo "Installing uv into .uv …"
        rm -rf .uv
        # Debian's python3 comes without ensurepip, so that a venv may have no pip; pip can do without one.
        if "$python" -m venv .uv >/dev/null 2>&1 && .uv/bin/python -m pip install --quiet uv; then
            :
        else
            rm -rf .uv
            "$python" -m pip install --quiet --target .uv uv || fail \
                "uv could not be installed with $python." \
                "As root: apt-get install --yes python3-pip python3-venv; or install uv yourself."
        fi
    fi
fi

# --- Python 3.13: uv looks on the PATH; pyenv's lie elsewhere unless they are switched on -----------
wanted=$(cat .python-version)
if [ -z "${UV_PYTHON:-}" ] && ! "$uv" python find --no-python-downloads "$wanted" >/dev/null 2>&1; then
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}/versions/$wanted".*/bin/python; do
        if [ -x "$candidate" ]; then
            UV_PYTHON=$candidate
            export UV_PYTHON
        fi
    done
fi

[ -d .venv ] || echo "Fetching the libraries into .venv, Blender among them: more than half a gigabyte …"
"$uv" sync --locked --quiet || fail \
    "The environment could not be made (Python $wanted and the libraries of uv.lock)." \
    "The lines above say why. Where Python $wanted cannot be fetched: pyenv install $wanted"

.venv/bin/python -P -m farm.embedded.libraries
