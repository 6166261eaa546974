#!/usr/bin/env bash
# pod.sh ROOT NODE APP ACCOUNT ARGUMENT...: becomes what a container of the image is, in a mount namespace of its own:
# the program as user 65532 without a privilege, on a root file system that is read-only and holds node with its
# libraries, the application, the files of the service account and two devices.
set -euo pipefail
root=$1 node=$2 app=$3 account=$4
shift 4

mount -t tmpfs tmpfs "$root"
cd -- "$root"
mkdir -p app nodejs/bin dev proc tmp var/run/secrets/kubernetes.io/serviceaccount
ldd "$node" | grep -o '/[^ ]*' | xargs cp -L --parents -t "$root"
touch nodejs/bin/node dev/null dev/urandom
# bind FROM TO: read-only, which takes a second call.
bind() {
  mount --bind "$1" "$2"
  mount -o remount,bind,ro "$2"
}
bind "$node" nodejs/bin/node
bind "$app" app
bind "$account" var/run/secrets/kubernetes.io/serviceaccount
for device in null urandom; do mount --bind "/dev/$device" "dev/$device"; done
mount -t proc proc proc
mount -o remount,ro "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 "$root" /nodejs/bin/node /app/dist/server/main.js "$@"
