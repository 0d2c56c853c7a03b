#!/usr/bin/env bash
# Installs real engines from npm into DIR, each in a folder of its own, with
# links to their programs in DIR/bin. Codex is required; another engine that
# cannot be installed here is named and left out.
#
#   engines.sh DIR
set -uo pipefail

dir=$1
mkdir -p "$dir/bin"

# engine PROGRAM PACKAGE
engine() {
	local program=$1 package=$2 home=$dir/$1
	if [ -x "$dir/bin/$program" ] && [ "$(cat "$home/package" 2>/dev/null)" = "$package" ]; then
		return 0
	fi
	rm -rf "$home" "$dir/bin/$program"
	mkdir -p "$home"
	if npm install --silent --no-audit --no-fund --prefix "$home" "$package" >"$home/npm.log" 2>&1 </dev/null &&
		[ -e "$home/node_modules/.bin/$program" ]; then
		ln -s "../$program/node_modules/.bin/$program" "$dir/bin/$program"
		echo "$package" >"$home/package"
		echo "$package: installed"
		return 0
	fi
	echo "$package: could not be installed, left out: $(tail -n 1 "$home/npm.log")" >&2
	return 1
}

# The versions that the rules and presets were proven on ("Tried" in runner/), so
# that a run can be repeated. Without a version npm takes the newest that asks for
# no newer node than is here, which is an old one: Claude 2.1.197 and Qwen 0.15.10
# under node 20, on which 2.1.332 and 0.24.4 run too.
engine claude @anthropic-ai/claude-code@2.1.332
engine gemini @google/gemini-cli@0.61.0
engine opencode opencode-ai@1.18.33
engine copilot @github/copilot@1.0.102
engine qwen @qwen-code/qwen-code@0.24.4
engine codex @openai/codex@0.171.0 || { echo "Codex is required." >&2; exit 1; }
