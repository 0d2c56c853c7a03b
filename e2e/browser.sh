#!/usr/bin/env bash
# Installs what the pages' tests need, where it is missing: Chromium, tmux, and
# the driver of the playwright that go.mod names, unpacked into CACHE. Says
# nothing if all is there.
#
#   browser.sh CACHE
set -euo pipefail

cache=$1
driver=$cache/playwright-driver
version=1.52.0 # what playwright-go v0.5200 speaks, exactly

say() { echo "browser.sh: $*" >&2; }

# apt installs Debian packages if we may.
apt() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	say "apt-get install $*"
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get update -q && apt-get install -q -y --no-install-recommends "$@"; } >"$cache/apt.log" 2>&1 </dev/null || {
		tail -n 20 "$cache/apt.log" >&2
		return 1
	}
}

mkdir -p "$cache"

command -v node >/dev/null && command -v npm >/dev/null || apt nodejs npm || {
	say "node and npm are needed: install them and try again"
	exit 1
}
command -v tmux >/dev/null || apt tmux || say "tmux is missing: the tests that need it will fail"

if ! grep -qs "\"version\": \"$version\"" "$driver/package/package.json"; then
	say "playwright-core $version"
	rm -rf "$driver" "$driver.new"
	mkdir -p "$driver.new"
	(cd "$driver.new" && npm pack --silent "playwright-core@$version" >/dev/null </dev/null && tar xzf ./*.tgz && rm ./*.tgz)
	mv "$driver.new" "$driver"
fi

# The tests look for the same names in the same order.
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then exit 0; fi
done
if [ -n "${CHROMIUM:-}" ] || compgen -G "$cache/browsers/chromium-*/chrome-*/chrome" >/dev/null; then exit 0; fi
apt chromium || PLAYWRIGHT_BROWSERS_PATH=$cache/browsers node "$driver/package/cli.js" install chromium </dev/null >&2
