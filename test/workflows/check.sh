#!/usr/bin/env bash
# Examines the workflows and the actions with actionlint, built once from the Go module pinned beside this file, and with shellcheck every
# shell script. What is not installed is skipped with one line; in CI (CI=true) that is a failure.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

# has PROGRAM WHAT HOW: whether PROGRAM is installed; where not, says what is left out and how to get it.
has() {
  command -v "$1" >/dev/null && return
  printf '%s is not on the PATH: %s is not examined; %s\n' "$1" "$2" "$3" >&2
  [[ ${CI:-} != true ]] || exit 1
  return 1
}

if has go 'no workflow' 'install Go (https://go.dev/dl/)'; then
  GOWORK=off go -C test/workflows tool actionlint
  for action in action.yml .github/actions/*/action.yaml; do
    node test/workflows/action-as-workflow.ts "$action" |
      GOWORK=off go -C test/workflows tool actionlint -stdin-filename "$action" -
  done
fi
if has shellcheck 'no shell script' 'install it as your system does (apt-get install shellcheck, brew install shellcheck)'; then
  git ls-files -z -- '*.sh' .ci/run | xargs -0 shellcheck
fi
