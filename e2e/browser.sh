#!/usr/bin/env bash
# Installs what the pages' tests need, where it is missing: Chromium, Firefox, WebKit,
# tmux, and, unpacked into CACHE, axe-core and the driver of the playwright that go.mod names.
# Says nothing if all is there.
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
command -v ip >/dev/null || apt iproute2 || say "ip (iproute2) is missing: the test of two machines will fail"

if ! grep -qs "\"version\": \"$version\"" "$driver/package/package.json"; then
	say "playwright-core $version"
	rm -rf "$driver" "$driver.new"
	mkdir -p "$driver.new"
	(cd "$driver.new" && npm pack --silent "playwright-core@$version" >/dev/null </dev/null && tar xzf ./*.tgz && rm ./*.tgz)
	mv "$driver.new" "$driver"
fi

# The smoke set in two other families of browsers.
others=()
command -v WebKitWebDriver >/dev/null || others+=(webkit2gtk-driver)
command -v Xvfb >/dev/null || others+=(xvfb)
command -v firefox-esr >/dev/null || command -v firefox >/dev/null || others+=(firefox-esr)
if [ ${#others[@]} -gt 0 ]; then
	apt "${others[@]}" || say "without ${others[*]}, the tests in other browsers are left out"
fi

axe=$cache/axe-core # the rules of accessibility that every page is held to
axe_version=4.14.1
if ! grep -qs "\"version\": \"$axe_version\"" "$axe/package/package.json"; then
	say "axe-core $axe_version"
	rm -rf "$axe" "$axe.new"
	mkdir -p "$axe.new"
	(cd "$axe.new" && npm pack --silent "axe-core@$axe_version" >/dev/null </dev/null && tar xzf ./*.tgz && rm ./*.tgz)
	mv "$axe.new" "$axe"
fi

# The tests look for the same names in the same order.
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then exit 0; fi
done
if [ -n "${CHROMIUM:-}" ] || compgen -G "$cache/browsers/chromium-*/chrome-*/chrome" >/dev/null; then exit 0; fi
apt chromium || PLAYWRIGHT_BROWSERS_PATH=$cache/browsers node "$driver/package/cli.js" install chromium </dev/null >&2
