# Where the toolchain lies, for scripts and for `make`. Sourced, from the root of the checkout.
export LEASEHOLD_ROOT=$PWD
export LEASEHOLD_BUILD=$PWD/build
export LEASEHOLD_CACHE=${LEASEHOLD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/leasehold}
UV_VERSION=0.13.8
KUBO_VERSION=0.42.0
GETH_VERSION=1.16.7
GO_VERSION=1.26.6 # used only where the machine has no Go >= 1.26.4
export LEASEHOLD_UV=$LEASEHOLD_CACHE/uv-$UV_VERSION/bin/uv
export LEASEHOLD_KUBO=$LEASEHOLD_CACHE/kubo-$KUBO_VERSION/ipfs
export LEASEHOLD_GETH=$LEASEHOLD_CACHE/geth-$GETH_VERSION/geth
export SOLCX_BINARY_PATH=$LEASEHOLD_BUILD/solcx
# The binaries themselves come before npm's wrappers, which would stand between a signal and its process.
for foundry in "$PWD"/node_modules/@foundry-rs/*-*/bin; do
  if [ -d "$foundry" ]; then PATH=$foundry:$PATH; fi
done
export PATH=$PWD/.venv/bin:$PATH:$PWD/node_modules/.bin:/usr/sbin:/sbin
mkdir -p "$LEASEHOLD_BUILD" "$LEASEHOLD_CACHE"

go_new_enough() {
  [ -x "$1" ] || return 1
  [ "$(printf '1.26.4\n%s\n' "$("$1" env GOVERSION | sed 's/^go//; s/[^0-9.].*//')" | sort -V | head -n 1)" = 1.26.4 ]
}

# Where a tool with an environment of its own lies: one place for each content of its lock file.
tool_home() {
  printf '%s/%s-%s' "$LEASEHOLD_CACHE" "$1" "$(sha256sum "scripts/toolchain/python/$1.lock" | cut -c1-12)"
}
# What the benchmarks need of npm lies in one place for each content of its folder.
npm_home() {
  printf '%s/%s-%s' "$LEASEHOLD_CACHE" "$1" "$(find "scripts/toolchain/$1" -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-12)"
}
LEASEHOLD_PONDER=$(npm_home ponder)
LEASEHOLD_LIGHTHOUSE=$(npm_home lighthouse)
export LEASEHOLD_PONDER LEASEHOLD_LIGHTHOUSE
LEASEHOLD_SCHEMATHESIS=$(tool_home schemathesis)/bin/schemathesis
export LEASEHOLD_SCHEMATHESIS
