# For scripts that need a Debian of their own (sourced): new_system SUITE DIRECTORY makes one, within DIRECTORY WORD…
# runs a command in it, with mount and process namespaces of its own, so that nothing of it is left when it ends.
# MIRROR: where packages come from; without it debootstrap's own choice.

new_system() {
  debootstrap --variant=minbase --include=ca-certificates,git "$1" "$2" ${MIRROR:+"$MIRROR"} \
    >"$2.log" 2>&1 || { tail -5 "$2.log" >&2; return 1; }
  [ -e "$2/dev/fuse" ] || mknod -m 666 "$2/dev/fuse" c 10 229
  # No daemon is started by a package.
  printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
  chmod 755 "$2/usr/sbin/policy-rc.d"
  cp /etc/resolv.conf /etc/hosts "$2/etc/"
  # Whom this machine trusts, such as a proxy of its own network.
  cp /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
}

within() {
  root=$1
  shift
  unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$0/proc" && mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts" &&
    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=xterm \
      DEBIAN_FRONTEND=noninteractive NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$@"' "$root" "$@"
}
