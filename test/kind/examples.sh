#!/usr/bin/env bash
# Applies every example to the cluster of the current context: good ones must be stored, bad ones denied.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
kubectl=${KUBECTL:-kubectl}
failures=0

for file in examples/*.yaml; do
  if said=$($kubectl apply -f "$file" 2>&1); then
    printf 'stored: %s\n' "$file"
  else
    printf 'REFUSED: %s\n%s\n' "$file" "$said"
    failures=$((failures + 1))
  fi
done
for file in examples/bad/*.yaml; do
  if said=$($kubectl apply -f "$file" 2>&1); then
    printf 'STORED: %s\n%s\n' "$file" "$said"
    failures=$((failures + 1))
  elif [[ $said == *' is invalid: '* ]]; then
    printf 'denied: %s\n' "$file"
  else
    printf 'NOT JUDGED: %s\n%s\n' "$file" "$said"
    failures=$((failures + 1))
  fi
done
exit $((failures > 0))
