#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the time given.
set -eu
cd "$(dirname "$0")/.."
time=${1:-20s}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# fuzz runs one target. Go before 1.27 sometimes takes the end of its own time
# for a failure (golang/go#75804): it says "context deadline exceeded" then, and
# names no input. A failure that has an input is one, whatever else it says.
fuzz() { # folder, target
  if go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 10x -parallel 2 >"$out" 2>&1; then
    cat "$out"
    return
  fi
  cat "$out"
  grep -qE '^ +context deadline exceeded$' "$out" || return 1
  ! grep -qE 'Failing input written|panic:|_test\.go:' "$out"
}

grep -rlE '^func Fuzz' --include='*_test.go' internal cmd *.go 2>/dev/null | sort | while read -r file; do
  dir=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | awk '{print $2}' | while read -r target; do
    echo "--- $dir $target ($time)"
    fuzz "$dir" "$target"
  done
done
