#!/usr/bin/env bash
# Shows the chart on a cluster of kind: image built and loaded, chart installed beside the operator's, armed, examined by
# doctor, examples judged, replicas replaced under writes, uninstalled without a trace.
# Needs docker, kind, kubectl, helm and ghcr.io. $CLUSTER is made, and deleted in the end unless $KEEP is set; $OPERATOR is
# the version of the operator's charts.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
cluster=${CLUSTER:-vmcp-admission}
image=vmcp-admission:kind
namespace=vmcp-system
charts=oci://ghcr.io/stacklok/toolhive
operator=${OPERATOR:-0.44.0}
kubeconfig=$(mktemp)
export KUBECONFIG=$kubeconfig

say() { printf -- '--- %s\n' "$*"; }
policy() {
  kubectl get validatingwebhookconfiguration vmcp-admission -o 'jsonpath={.webhooks[0].failurePolicy}' 2>/dev/null || true
}
# wait_for WHAT COMMAND...: until COMMAND succeeds, at most two minutes.
wait_for() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 120; tries++)); do
    if "$@"; then return; fi
    sleep 1
  done
  say "waited in vain for $what"
  return 1
}
# written: one write that is right, as a dry run.
written() {
  kubectl create --dry-run=server -f - <<'RESOURCE'
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: written, namespace: default }
spec: { type: unauthenticated }
RESOURCE
}
is_armed() { [[ $(policy) == Fail ]]; }
are_gone() {
  [[ $(kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o name) != *vmcp-admission* ]]
}
# cli ARGUMENT...: the CLI of the image, as the administrator of the cluster.
cli() {
  docker run --rm --network host --user "$(id -u):$(id -g)" --volume "$kubeconfig:/kubeconfig:ro" \
    --entrypoint /nodejs/bin/node "$image" /app/dist/cli/main.js "$@" --kubeconfig /kubeconfig
}
# finish: says what the cluster looks like when something failed, and cleans up.
finish() {
  local code=$?
  if ((code != 0)); then
    kubectl -n toolhive-system get pods || true
    kubectl -n "$namespace" get all,events || true
    kubectl -n "$namespace" logs -l app.kubernetes.io/part-of=vmcp --tail=50 --prefix || true
  fi
  [[ -n ${KEEP:-} ]] || kind delete cluster --name "$cluster" || true
  rm -f -- "$kubeconfig"
  exit "$code"
}

say 'cluster of one control plane and two workers'
kind create cluster --name "$cluster" --wait 120s --config - <<'CONFIG'
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes: [{ role: control-plane }, { role: worker }, { role: worker }]
CONFIG
trap finish EXIT

say 'image'
docker build -t "$image" .
kind load docker-image --name "$cluster" "$image"

say "the operator's charts, $operator"
install=(--version "$operator" --namespace toolhive-system --create-namespace --wait --timeout 5m)
helm install toolhive-operator-crds "$charts/toolhive-operator-crds" "${install[@]}"
helm install toolhive-operator "$charts/toolhive-operator" "${install[@]}"

say 'ours'
kubectl apply -f deploy/kustomize/base/namespace.yaml
chart=(vmcp-admission deploy/helm/vmcp-admission --namespace "$namespace" --set image.tag=kind --set image.pullPolicy=Never)
helm install "${chart[@]}" --wait --timeout 3m
wait_for 'the webhook to be armed' is_armed

say 'the pods that answer may not write webhook configurations'
may_write() {
  kubectl auth can-i patch validatingwebhookconfigurations/vmcp-admission --as "system:serviceaccount:$namespace:$1"
}
if may_write vmcp-admission; then exit 1; fi
may_write vmcp-admission-leader

say 'doctor finds nothing wrong'
cli doctor --namespace "$namespace" --wait 120

say 'CRDs that are not ours are left alone'
if helm upgrade "${chart[@]}" --set crds.enabled=true --dry-run=server >/dev/null 2>&1; then
  say 'the chart would have replaced them'
  exit 1
fi

say 'examples'
OPERATOR=$operator test/kind/examples.sh

say 'replicas replaced under writes'
kubectl -n "$namespace" rollout restart deployment vmcp-admission
(kubectl -n "$namespace" rollout status deployment vmcp-admission --timeout=3m >/dev/null) &
rollout=$!
writes=0
while kill -0 "$rollout" 2>/dev/null; do
  written >/dev/null
  writes=$((writes + 1))
done
wait "$rollout"
say "$writes writes, none failed"

say 'no pods: deletions and labels pass, changes are refused'
kubectl -n "$namespace" scale deployment vmcp-admission --replicas=0
kubectl -n "$namespace" wait --for=delete pod -l app.kubernetes.io/name=vmcp-admission --timeout=90s
kubectl label -f examples/bearer-token.yaml shown=yes --overwrite >/dev/null
if said=$(written 2>&1); then
  say 'a resource was admitted with nobody there'
  exit 1
elif [[ $said != *'failed calling webhook'* ]]; then
  say "$said"
  exit 1
fi
kubectl delete -f examples/bearer-token.yaml --timeout=60s >/dev/null

say 'uninstalled: the configurations go with the ClusterRole that owns them, and the operator stays'
helm uninstall vmcp-admission --namespace "$namespace" --wait
wait_for 'the configurations to go' are_gone
kubectl -n toolhive-system wait --for=condition=Available --timeout=60s deployment --all
say 'all passed'
