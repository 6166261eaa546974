#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kubectl and helm for the end-to-end tests from the Go modules pinned
# beside this file, once: what is already in the cache folder is left alone. Takes minutes the first time.
#
#   export KUBEBUILDER_ASSETS=$(test/e2e/binaries/build.sh)
#   export HELM=$(test/e2e/binaries/build.sh helm)     # helm alone
#   export CLIENTS=$(test/e2e/binaries/build.sh clients)   # Flux and Argo CD with their CRDs, for npm run clients
#
# Standard output is the folder (of helm alone, its path) and nothing else; progress and errors go to
# standard error. helm has a folder of its own and a link in that of the others. The folder is in $VMCP_E2E_CACHE, else in $XDG_CACHE_HOME/vmcp-admission, else in
# ~/.cache/vmcp-admission; its name holds the versions. Needs bash and Go.
set -euo pipefail
called_in=$PWD
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

say() { printf 'build.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# pinned_version FILE MODULE: the version, without its v, that the go.mod FILE requires of MODULE.
pinned_version() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^(require)?[[:space:]]*"$2"[[:space:]]+v([^[:space:]]+) ]]; then
      printf '%s\n' "${BASH_REMATCH[2]}"
      return
    fi
  done <"$1"
  fail "$1 does not require $2"
}

# require_go FOLDER: fails unless the Go on the PATH (or the one it fetches) can read FOLDER/go.mod.
require_go() {
  local answer wanted
  # shellcheck disable=SC2016 # a command to copy
  command -v go >/dev/null || fail 'go is not on the PATH; install Go (https://go.dev/dl/), or take the binaries' \
    'from: export KUBEBUILDER_ASSETS=$(setup-envtest use -p path)'
  answer=$(cd "$1" && go list -m 2>&1) && return
  wanted=$(sed -n 's/^go //p' "$1/go.mod")
  fail "$(go env GOVERSION) cannot build here; Go $wanted or newer is needed. It said: $answer"
}

# build FOLDER PACKAGE NAME [LINKER FLAGS]: builds PACKAGE of the module in FOLDER as $out/NAME,
# under a temporary name until it is complete.
build() {
  local folder=$1 package=$2 name=$3 flags="-s -w ${4:-}" started=$SECONDS
  if [[ -x $out/$name ]]; then
    say "$name: already there"
    return
  fi
  require_go "$folder"
  say "$name: building"
  temporary=$out/.$name.$$
  (cd "$folder" && go build -mod=readonly -buildvcs=false -trimpath -ldflags "$flags" -o "$temporary" "$package") >&2 ||
    fail "$name: the build failed"
  mv -f -- "$temporary" "$out/$name"
  say "$name: built in $((SECONDS - started)) s"
}

# take MODE FOLDER MODULE PATTERN NAME: copies files of a module that FOLDER/go.mod requires into $out/NAME.
take() {
  local sources
  sources=$(cd "$2" && go list -mod=readonly -m -f '{{.Dir}}' "$3")
  mkdir -p -- "$out/$5"
  # shellcheck disable=SC2086 # a pattern
  install -m "$1" -- "$sources"/$4 "$out/$5"
}

kube=$(pinned_version kubernetes/go.mod k8s.io/kubernetes)
etcd=$(pinned_version etcd/go.mod go.etcd.io/etcd/server/v3)
helm=$(pinned_version helm/go.mod helm.sh/helm/v3)
cache=${VMCP_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmcp-admission}
[[ $cache == /* ]] || cache=$called_in/$cache
out=$cache/kube-$kube-etcd-$etcd
helm_out=$cache/helm-$helm
mkdir -p -- "$out" "$helm_out"
# What an interrupted run left (its Go may write after its shell is gone).
for stale in "$out"/.*.[0-9]* "$helm_out"/.*.[0-9]* "$cache"/flux-*/.*.[0-9]*; do
  kill -0 "${stale##*.}" 2>/dev/null || rm -f -- "$stale"
done
temporary=
trap 'rm -f -- "$temporary"' EXIT
export GOWORK=off CGO_ENABLED=0

# The Kubernetes version that charts are told where there is no cluster to ask is that of its client-go.
client=$(pinned_version helm/go.mod k8s.io/client-go)
IFS=. read -r _ minor _ <<<"$client"
capabilities=helm.sh/helm/v3/pkg/chartutil
helm_version="-X helm.sh/helm/v3/internal/version.version=v$helm"
helm_version+=" -X $capabilities.k8sVersionMajor=1 -X $capabilities.k8sVersionMinor=$minor"
out=$helm_out build helm helm.sh/helm/v3/cmd/helm helm "$helm_version"
if [[ ${1:-} == helm ]]; then
  printf '%s\n' "$helm_out/helm"
  exit
fi

if [[ ${1:-} == clients ]]; then
  flux=$(pinned_version flux/go.mod github.com/fluxcd/kustomize-controller)
  argo=$(pinned_version argo-cd/go.mod github.com/argoproj/argo-cd/v3)
  out=$cache/flux-$flux-argo-cd-$argo
  mkdir -p -- "$out"
  for controller in source kustomize; do
    build flux "github.com/fluxcd/$controller-controller" "$controller-controller"
    take 644 flux "github.com/fluxcd/$controller-controller" 'config/crd/bases/*' crds
  done
  argocd=github.com/argoproj/argo-cd/v3
  build argo-cd "$argocd/cmd" argocd
  take 755 argo-cd "$argocd" hack/git-verify-wrapper.sh .
  take 644 argo-cd "$argocd" 'manifests/crds/*-crd.yaml' crds
  take 644 argo-cd "$argocd" 'manifests/base/config/argocd-*.yaml' argo-cd
  printf '%s\n' "$out"
  exit
fi

IFS=. read -r major minor _ <<<"$kube"
version=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  version+=" -X $package.gitVersion=v$kube -X $package.gitMajor=$major -X $package.gitMinor=$minor"
done

build etcd go.etcd.io/etcd/server/v3 etcd
build kubernetes k8s.io/kubernetes/cmd/kubectl kubectl "$version"
build kubernetes k8s.io/kubernetes/cmd/kube-apiserver kube-apiserver "$version"
ln -sfn "../helm-$helm/helm" "$out/helm"
printf '%s\n' "$out"
