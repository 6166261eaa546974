#!/usr/bin/env bash
# Applies every example to the cluster of the current context: good ones must be stored, bad ones denied.
# With $OPERATOR the CRDs are the operator's, which have the audience in oidcConfigRef and know no other place of it.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
kubectl=${KUBECTL:-kubectl}
failures=0

# apply FILE
apply() {
  local move='/^    oidcConfigRef:/,/^    audience:/ s/^    audience:/      audience:/'
  sed "${OPERATOR:+$move}" "$1" | $kubectl apply -f - 2>&1
}

for file in examples/*.yaml; do
  if said=$(apply "$file"); then
    printf 'stored: %s\n' "$file"
  else
    printf 'REFUSED: %s\n%s\n' "$file" "$said"
    failures=$((failures + 1))
  fi
done
for file in examples/bad/*.yaml; do
  if said=$(apply "$file"); then
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
