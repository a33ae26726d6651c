# shellcheck shell=bash disable=SC2034
# Where deploy/install puts what comes with a version. A Debian package has other paths here, and brings those files itself.

readonly BIN=/usr/local/bin UNITS=/usr/local/lib/systemd/system
readonly SHARE=/usr/local/share/countersign PAGES=/usr/local/share/doc/countersign
readonly PROGRAMS=${COUNTERSIGN_PROGRAMS:-$ROOT/.build/release}
# What removes those files instead of --remove.
readonly REMOVED_BY=''
