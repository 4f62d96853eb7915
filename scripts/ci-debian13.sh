#!/usr/bin/env bash
# ci-debian13.sh - both README commands in a fresh Debian root, by hand; not part of .ci/run.
#
#   scripts/ci-debian13.sh [options] [COMMAND]
#     --suite NAME   trixie (default, Debian 13) or bookworm (Debian 12)
#     --root DIR     where the root goes (default: a temporary folder); one that is there is used as it is
#     --keep         leave it there
#     COMMAND        what to run in the tree (default: ./scripts/try && ./scripts/test)
#
# Needs root, debootstrap, and about 2 GB. The archive and apt's network settings are this machine's.
# What it mounts and starts is in namespaces of its own, and gone when it ends.
# Exit status: that of the command; 2 usage or a missing tool, 3 no root could be made.
set -euo pipefail
export LC_ALL=C
suite=trixie root= keep= command='./scripts/try && ./scripts/test'
say() { printf 'debian: %s\n' "$*"; }
die() { printf 'debian: error: %s\n' "$2" >&2; exit "$1"; }
while [ $# -gt 0 ]; do
  case $1 in
    --suite) suite=${2:?--suite needs a name}; shift;;
    --root) root=${2:?--root needs a folder}; shift;;
    --keep) keep=1;;
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"; exit 0;;
    -*) die 2 "unknown option: $1";;
    *) command=$1;;
  esac
  shift
done
tree=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || die 2 'needs root'
for tool in debootstrap unshare chroot tar; do command -v $tool >/dev/null || die 2 "$tool is missing: apt-get install debootstrap"; done

made=
if [ -z "$root" ]; then
  root=$(mktemp -d /var/tmp/namzu-gw-$suite.XXXXXX)
  chmod 755 "$root" # it becomes "/", for users other than root too
  made=1
fi
cleanup() { if [ -n "$made" ] && [ -z "$keep" ]; then rm -rf --one-file-system "$root"; else say "left in $root"; fi; }
trap cleanup EXIT

# The archives that this machine's apt knows; only Debian's is signed with Debian's keys.
bases() { apt-get --print-uris update 2>/dev/null | sed -n "s|^'\(.*\)/dists/[^/]*/InRelease'.*|\1|p;s|^'\(.*\)/dists/[^/]*/[^/]*/InRelease'.*|\1|p" | awk '!seen[$0]++'; }
if [ ! -e "$root/etc/debian_version" ]; then
  base=
  for candidate in $(bases | grep -v -e '-security'); do
    say "making a $suite root from this machine's archive"
    if debootstrap --variant=minbase "$suite" "$root" "$candidate" >"$root.log" 2>&1; then base=$candidate; break; fi
    find "$root" -mindepth 1 -maxdepth 1 -exec rm -rf --one-file-system {} +
  done
  [ -n "$base" ] || { tail -n 5 "$root.log" >&2; die 3 "no archive in this machine's apt configuration serves $suite (log: $root.log)"; }
  rm -f "$root.log"
  {
    echo "deb $base $suite main"
    echo "deb $base $suite-updates main"
    for candidate in $(bases | grep -e '-security'); do echo "deb $candidate $suite-security main"; done
  } >"$root/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90host" || true
fi
for file in resolv.conf hosts; do
  [ ! -e "/etc/$file" ] || { rm -f "$root/etc/$file"; cp -L "/etc/$file" "$root/etc/$file"; }
done

# What git tracks or would track, as a clean clone has it.
rm -rf "$root/namzu-gw"
mkdir "$root/namzu-gw"
if git -C "$tree" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  (cd "$tree" && git ls-files -z --cached --others --exclude-standard \
    | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | tar --null -T - -c) | tar -x -C "$root/namzu-gw"
else
  tar -C "$tree" --exclude=./.git --exclude=./.deps --exclude=./build -c . | tar -x -C "$root/namzu-gw"
fi
say "$(cat "$root/etc/debian_version"): $command"
started=$SECONDS status=0
unshare --mount --pid --fork --kill-child --propagation private bash -c '
  mount -t proc proc "$1/proc" || exit 3
  exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI="${CI:-}" bash -c "cd /namzu-gw && $2"' \
  root "$root" "$command" </dev/null || status=$?
say "status $status after $((SECONDS - started)) s"
exit "$status"
