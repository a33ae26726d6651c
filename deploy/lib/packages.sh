# shellcheck shell=bash disable=SC2034
# Installs missing Debian packages. Sourced after common.sh.

# Libraries of the build, tools of the scripts, and the broker.
readonly BUILD_PACKAGES=(
  g++ pkg-config librabbitmq-dev libcurl4-openssl-dev libsqlite3-dev libssl-dev libmicrohttpd-dev libphonenumber-dev
  libopendkim-dev libsmpp34-dev libpq-dev libsodium-dev libargon2-dev libcrypt-dev
)
STACK_PACKAGES=(rabbitmq-server curl jq openssl ca-certificates)
# Any installed nginx will do; installing this package would remove another one.
if [[ ! -x /usr/sbin/nginx ]] && ! command -v nginx >/dev/null; then STACK_PACKAGES+=(nginx-light); fi
readonly STACK_PACKAGES
# The server, for tests, measurements and a stack with COUNTERSIGN_STORE=postgresql.
readonly POSTGRESQL_PACKAGES=(postgresql-15 postgresql-client-15)
TEST_PACKAGES=(
  python3 python3-venv python3-pip libmail-dkim-perl iproute2 pgbouncer chromium-headless-shell esbuild
  nodejs php-cli php-apcu php-amqplib librabbitmq-client-java libgoogle-gson-java
  libjackson2-databind-java lintian
  "${POSTGRESQL_PACKAGES[@]}"
)
# The one that is there will do. Its version is not looked at: docs/clients/Verify.java and docs/verifying-tokens.md need 17 or later.
if ! command -v javac >/dev/null; then TEST_PACKAGES+=(default-jdk-headless); fi
readonly TEST_PACKAGES

# A mirror that fails or falls silent is asked again, and another program's lock is waited for.
readonly APT_OPTIONS=(
  -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o DPkg::Lock::Timeout=120)

package_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    die "root rights are needed for: $*" "run the script as root, or install sudo"
  fi
}

# Installs the missing ones of some packages, silently if there are none.
#   need_packages PACKAGE...
need_packages() {
  local package missing=()
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system" "install the equivalent of: $*; then set COUNTERSIGN_SKIP_PACKAGES=1"
  for package in "$@"; do
    package_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  step "Installing with apt: ${missing[*]}"
  install_packages "${missing[@]}"
}

install_packages() {
  local log=$RUN/log/apt.log begun=$SECONDS status=0 fresh=() service
  mkdir -p "$RUN/log"
  if [[ " $* " == *' rabbitmq-server '* ]]; then fresh+=(rabbitmq-server); fi
  if [[ " $* " == *' nginx-light '* ]]; then fresh+=(nginx); fi
  if [[ " $* " == *' postgresql-15 '* ]]; then fresh+=(postgresql); fi
  if [[ " $* " == *' pgbouncer '* ]]; then fresh+=(pgbouncer); fi
  # Debian starts a service as soon as its package is unpacked. This stack has its own broker and front, so no service may start
  # while these packages are installed; the previous rule is restored afterwards in any case.
  hold_services
  try_thrice update_and_install "$@" >"$log" 2>&1 || status=$?
  release_services
  if ((status != 0)); then
    show_tail "$log"
    die "apt could not install $*" "see $log; is the package mirror reachable?"
  fi
  # Only services that this installation added are disabled at boot.
  for service in "${fresh[@]}"; do
    [[ -d /run/systemd/system ]] || continue
    as_root systemctl disable --quiet "$service.service" >>"$log" 2>&1 ||
      note "the service $service could not be disabled; it will start with the machine"
  done
  note "done in $((SECONDS - begun)) s"
}

# The lists are loaded anew before each attempt: a package that an old one names may be gone.
update_and_install() {
  as_root apt-get "${APT_OPTIONS[@]}" update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get "${APT_OPTIONS[@]}" install -y --no-install-recommends "$@"
}

readonly POLICY=/usr/sbin/policy-rc.d
readonly POLICY_BACKUP=/usr/sbin/policy-rc.d.before-countersign

hold_services() {
  trap 'release_services; exit 130' INT TERM
  trap release_services EXIT
  # An existing backup is the original: an earlier call was killed before it could restore it.
  if [[ -e $POLICY && ! -e $POLICY_BACKUP ]] && ! is_our_policy; then
    as_root mv "$POLICY" "$POLICY_BACKUP"
  fi
  printf '#!/bin/sh\n# countersign: no service starts during this installation\nexit 101\n' |
    as_root tee "$POLICY" >/dev/null
  as_root chmod 755 "$POLICY"
}

is_our_policy() { grep -q '^# countersign:' "$POLICY" 2>/dev/null; }

release_services() {
  trap - INT TERM EXIT
  if is_our_policy; then as_root rm -f "$POLICY"; fi
  if [[ -e $POLICY_BACKUP ]]; then as_root mv "$POLICY_BACKUP" "$POLICY"; fi
}

# Swift has no Debian package, so it must be installed already.
need_swift() {
  local found
  if ! command -v swift >/dev/null; then
    if [[ -x /opt/swift/usr/bin/swift ]]; then
      export PATH=/opt/swift/usr/bin:$PATH
    else
      die "swift is not on PATH" "install Swift 6.3 from https://www.swift.org/install/linux/ and put its usr/bin on PATH"
    fi
  fi
  found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
  if [[ -z $found ]] || ((${found%%.*} < 6)) || { ((${found%%.*} == 6)) && ((${found##*.} < 3)); }; then
    die "Swift ${found:-(unknown)} is too old: 6.3 is needed" "install it from https://www.swift.org/install/linux/"
  fi
}

# COUNTERSIGN_SKIP_PACKAGES=1 is for machines that get the packages in another way.
ensure_packages() {
  if [[ ${COUNTERSIGN_SKIP_PACKAGES:-0} == 1 ]]; then return 0; fi
  need_packages "$@"
}
