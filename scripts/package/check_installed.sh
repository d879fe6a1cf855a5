#!/bin/sh
# What a user does with the package, in a new system that is thrown away afterwards: scripts/check_deb.sh runs this there,
# as root. /check has the package, a later version of it, the tests of the package and press_tab.py.
set -eu
cd /check
# What the shells remember is none of the package's.
export HOME=/tmp/home
mkdir -p "$HOME"

said() { printf '%-44s %s\n' "$1" "${2:-yes}"; }
failed() { echo "FAILED: $*" >&2; exit 1; }
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /check -o -path /tmp -o -path /var/lib/dpkg -o -path /var/lib/apt \
    -o -path /var/cache -o -path /var/log \) -prune -o -type d -o -print | grep -v -x -e /etc/ld.so.cache -e /etc/mtab | sort
}
# The process that serves the mount $1.
serving() { sed -n 's/^pid: *//p' "$1/.h5/status"; }

apt-get update -q >/dev/null
apt-get install -y -q --no-install-recommends man-db bash-completion zsh fish attr procps python3-h5py shared-mime-info \
  desktop-file-utils systemd >/dev/null 2>&1
# Its own tools are needed by nothing: what installs them with the package, removes them with it.
files >before

install_it() {
  apt-get install -y -q --no-install-recommends "$1" >apt.log 2>&1 || { cat apt.log; failed "$1 is not installed"; }
}

use_it() {
  python3 tests/example.py a.h5
  for test in without-fuse mount; do
    AUTOPKGTEST_TMP=$(mktemp -d) sh "tests/$test" >test.log 2>&1 || { cat test.log; failed "test $test"; }
    said "debian/tests/$test"
  done
  mkdir -p /mnt/run
  echo "/check/a.h5  /mnt/run  h5  ro,noauto,nofail,x-systemd.automount  0 0" >>/etc/fstab
  mount /mnt/run
  [ "$(cat /mnt/run/latest | wc -c)" = 40000 ] || failed "a line of fstab"
  umount /mnt/run
  said "mount of an fstab line, umount"
  fsck -t h5 /check/a.h5 | grep -q '0 damaged' || failed "fsck -t h5"
  said "fsck -t h5"
  for page in $(dpkg -L h5mount | sed -n 's,^/usr/share/man/man[0-9]/\(.*\)\.gz$,\1,p'); do
    man --warnings -E UTF-8 "${page##*.}" "${page%.*}" >page.txt 2>page.err || failed "man $page"
    [ ! -s page.err ] && grep -q NAME page.txt || { cat page.err; failed "man $page"; }
    said "man ${page##*.} ${page%.*}" "$(wc -l <page.txt) lines"
  done
  for shell in bash zsh fish; do
    python3 press_tab.py "$shell" 'h5mount --lis' --list || failed "Tab in $shell"
    python3 press_tab.py "$shell" 'h5mount -o cache_s' cache_size= || failed "Tab in $shell"
    python3 press_tab.py "$shell" 'fsck.h5 --quic' --quick || failed "Tab in $shell"
    said "Tab in $shell"
  done
  grep -q ':application/x-hdf5:\*\.nwb' /usr/share/mime/globs2 || failed "types of files"
  systemd-analyze verify --man=yes h5mount@run.service || failed "systemd-analyze verify"
  systemd-analyze verify --man=yes h5mount-serve@8000.socket h5mount-serve@8000.service ||
    failed "systemd-analyze verify of the socket"
  said "type of files, units"
}

# A mount that survives goes on with the program that the upgrade brings.
upgrade_it() {
  mount -t h5 -o survive,allow_other a.h5 /mnt/run
  exec 3</mnt/run/grid/t
  old=$(serving /mnt/run)
  install_it ./upgrade.deb
  for _ in $(seq 100); do
    new=$(serving /mnt/run)
    [ "$new" = "$old" ] || break
    sleep 0.1
  done
  [ "$new" != "$old" ] || failed "the upgrade left the old server"
  case $(readlink "/proc/$new/exe") in *deleted*) failed "the new server is the old program" ;; esac
  [ "$(wc -c <&3)" = 40000 ] || failed "an open file did not go on"
  exec 3<&-
  umount /mnt/run
  said "upgrade under a mount that survives" "server $old, then $new"
}

# Without configuration of its own the package is gone when it is removed; purging is of one that is installed.
remove_it() {
  dpkg -L h5mount | while read -r file; do [ -d "$file" ] || echo "$file"; done >installed
  apt-get remove -y -q h5mount >apt.log 2>&1 || { cat apt.log; failed remove; }
  while read -r file; do [ ! -e "$file" ] || failed "remove left $file"; done <installed
  said "remove" "$(wc -l <installed) files are gone"
}

purge_it() {
  apt-get purge -y -q --autoremove h5mount >apt.log 2>&1 || { cat apt.log; failed purge; }
  files >after
  diff before after || failed "files are left"
  said "purge: nothing is left" "$(wc -l <after) files, as before"
}

install_it ./h5mount.deb
said "installed" "$(dpkg-query -W -f '${Version}, ${Installed-Size} KiB' h5mount)"
use_it
upgrade_it
sed -i '\,/mnt/run,d' /etc/fstab
rmdir /mnt/run
remove_it
install_it ./h5mount.deb
purge_it
