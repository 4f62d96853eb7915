#!/usr/bin/env bash
# install-clients.sh - install the real clients that tests/e2e/clients sends through the gateway.
#
#   scripts/install-clients.sh             everything
#   scripts/install-clients.sh --debian    Debian packages only (needs root)
#   scripts/install-clients.sh --npm       npm packages only (needs npm)
#   scripts/install-clients.sh --check     install nothing, say what is missing
#
# Debian packages come from the archive that this machine's apt is configured for, npm packages from
# the registry that its npm is configured for: exact versions and their digests are in
# tests/e2e/clients/npm/package-lock.json. They go into
#   ${NAMZU_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/namzu-gw-clients}
# and no install script of a package is run. Among them is Node.js 24: undici 8 needs one that is
# newer than Debian's. What is there already is kept.
# exit: 0 all there, 1 something could not be installed or (--check) is missing, 2 usage
set -euo pipefail
export LC_ALL=C

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }
say() { printf 'clients: %s\n' "$*"; }
die() { printf 'clients: error: %s\n' "$2" >&2; exit "$1"; }

debian=1 npm=1 check=
case ${1:-} in
  '') ;;
  --debian) npm= ;;
  --npm) debian= ;;
  --check) check=1 ;;
  -h|--help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${NAMZU_CLIENTS_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/namzu-gw-clients}

# What a package is needed for, and the package: a command, or a module of /usr/bin/python3.
needs='
command curl curl
command wget wget
command git git
command openssl openssl
command apt-get apt
command dpkg-deb dpkg
command python3 python3
module pytest python3-pytest
module requests python3-requests
module httpx python3-httpx
module aiohttp python3-aiohttp
module pip python3-pip
command npm npm
command go golang-go
command javac default-jdk-headless
command keytool default-jdk-headless
'
has() { # command | module, name
  case $1 in
    command) PATH=/usr/local/bin:/usr/bin:/bin command -v "$2" >/dev/null ;;
    module) /usr/bin/python3 -c "import $2" 2>/dev/null ;;
  esac
}
missing_packages() {
  while read -r kind name package; do
    [ -z "$kind" ] || has "$kind" "$name" || printf '%s\n' "$package"
  done <<<"$needs" | sort -u
}
npm_stamp() { cat "$here"/tests/e2e/clients/npm/package*.json | sha256sum | cut -d' ' -f1; }
npm_there() { [ "$(cat "$cache/.installed" 2>/dev/null)" = "$(npm_stamp)" ]; }

if [ -n "$check" ]; then
  packages=$(missing_packages)
  [ -z "$packages" ] || say "missing Debian packages:" $packages
  npm_there || say "missing: the npm packages in $cache"
  [ -z "$packages" ] && npm_there && say "all there"
  exit
fi

if [ -n "$debian" ]; then
  packages=$(missing_packages)
  if [ -n "$packages" ]; then
    [ "$(id -u)" = 0 ] || die 1 "not root; as root: apt-get install --no-install-recommends $(echo $packages)"
    say "installing" $packages
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages
  fi
  packages=$(missing_packages)
  [ -z "$packages" ] || die 1 "still missing after installation: $(echo $packages)"
  say "Debian packages are there"
fi

if [ -n "$npm" ]; then
  if ! npm_there; then
    has command npm || die 1 "npm is missing; install it with --debian"
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock -w 600 9 || die 1 "another install-clients.sh has held $cache/.lock for 10 minutes"
    if ! npm_there; then
      say "installing npm packages into $cache"
      cp "$here"/tests/e2e/clients/npm/package.json "$here"/tests/e2e/clients/npm/package-lock.json "$cache/"
      (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
      npm_stamp >"$cache/.installed"
    fi
  fi
  say "npm packages are there"
fi
