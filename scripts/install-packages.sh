#!/usr/bin/env bash
# install-packages.sh - the Debian packages (12 or 13) that namzu-gw needs.
#
#   install-packages.sh [--demo] [--test] [--static] [--list]
#
#     (nothing)  to build the gateway
#     --demo     also what the demonstration needs (scripts/try)
#     --test     also what the test suites need (scripts/test)
#     --static   also formatter, linters and clang (scripts/check-format, scripts/check-static)
#     --list     print the packages and stop
#
# What is there is left alone: with everything installed, apt is not run and no right is needed.
# Otherwise it runs apt-get, unattended, as root or through sudo.
# Exit status: 0 all there, 1 they could not be installed, 2 usage.
set -euo pipefail
export LC_ALL=C

build='gcc libc6-dev make cmake pkg-config libcap-ng-dev ca-certificates debian-archive-keyring'
demo='python3 openssl curl'
test="$demo libcmocka-dev python3-pytest python3-yaml python3-jsonschema git wget procps bind9-dnsutils"
static='clang libclang-rt-dev clang-tidy cppcheck shellcheck python3'

say() { printf 'packages: %s\n' "$*"; }
die() { printf 'packages: error: %s\n' "$*" >&2; exit "${2:-1}"; }

wanted=$build
list=
while [ $# -gt 0 ]; do
  case $1 in
    --demo) wanted="$wanted $demo";;
    --test) wanted="$wanted $test";;
    --static) wanted="$wanted $static @clang-format-14";;
    --list) list=1;;
    -h|--help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0"; exit 0;;
    *) printf 'packages: unknown option: %s\n' "$1" >&2; exit 2;;
  esac
  shift
done

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null \
  || die "this is not a Debian system: install what corresponds to: ${wanted//@/}"

there() { [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | sort -u)" = installed ]; }
missing= optional=
for package in $(printf '%s\n' $wanted | awk '!seen[$0]++'); do
  case $package in
    @*) there "${package#@}" || optional="$optional ${package#@}";; # only where the release has it
    *) there "$package" || missing="$missing $package";;
  esac
done
if [ -n "$list" ]; then
  printf '%s\n' ${wanted//@/} | awk '!seen[$0]++'
  exit 0
fi
# An optional package is asked for again only together with others, or when apt already knows it.
known() { apt-cache show "$1" 2>/dev/null | grep -q '^Package:'; }
for package in $optional; do
  if [ -z "$missing" ] && known "$package"; then missing=" $package"; fi
done
[ -n "$missing" ] || { say 'all there'; exit 0; }

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "run as root, or install them first: apt-get install$missing"
  as_root=(sudo)
  # Nobody to type a password: say so instead of waiting for ever.
  [ -t 0 ] || sudo -n true 2>/dev/null || die "sudo wants a password; install them first: sudo apt-get install$missing"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -qq "$@" </dev/null >"$log" 2>&1
}
say "installing$missing"
started=$SECONDS
apt update || { tail -n 20 "$log" >&2; die 'apt-get update failed'; }
for package in $optional; do
  case " $missing " in *" $package "*) continue;; esac
  if known "$package"; then missing="$missing $package"; else say "$package: not in this release, left out"; fi
done
# shellcheck disable=SC2086
apt install --yes --no-install-recommends $missing || { tail -n 20 "$log" >&2; die "apt-get install failed"; }
say "installed in $((SECONDS - started)) s"
