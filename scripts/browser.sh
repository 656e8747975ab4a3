#!/usr/bin/env bash
# A browser for the tests of pages: Debian's, where there is none and it may be installed. Otherwise this says what is
# skipped and how to get it, and fails only where a browser is required (RNNCHECK_BROWSER=required).
set -uo pipefail

for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
if ! command -v apt-get >/dev/null; then
    why="there is no apt-get"
elif ! "${as_root[@]}" true 2>/dev/null; then
    why="that needs root, or sudo without a password"
else
    echo "installing Debian's package chromium for the tests of pages" >&2
    { "${as_root[@]}" apt-get -qq update &&
        "${as_root[@]}" apt-get -qq install --yes --no-install-recommends chromium; } >/dev/null && exit 0
    why="apt-get failed"
fi
echo "no Chromium, and it cannot be installed here ($why): the tests that open reports in a browser are skipped;" \
    "install Chromium or Chrome so that chromium, chromium-browser or google-chrome is on the PATH" >&2
[ "${RNNCHECK_BROWSER:-}" != required ]
