# shellcheck shell=bash
# A private PostgreSQL server: its own directory, port and passwords, independent of any other server of the machine.
# Sourced after common.sh.
#
# One port, on loopback; no Unix socket. Directory: data/ (with checksums), log/, postgresql.pid. PostgreSQL refuses to run
# as root: a script that does starts it as the user postgres, or nobody.

readonly POSTGRESQL_START_SECONDS=150
readonly POSTGRESQL_STOP_SECONDS=60
# Further variables of the server, further options of initdb, and where the server listens.
POSTGRESQL_VARIABLES=()
POSTGRESQL_INITDB=()
POSTGRESQL_ADDRESSES=127.0.0.1
# The oldest version that Countersign is made for.
readonly POSTGRESQL_OLDEST=13

# Directory of the programs of the newest installed version.
postgresql_programs() {
  local directory version newest=0 found=''
  for directory in /usr/lib/postgresql/*/bin; do
    version=${directory#/usr/lib/postgresql/} version=${version%%/*}
    [[ $version =~ ^[0-9]+$ && -x $directory/initdb ]] || continue
    if ((version >= POSTGRESQL_OLDEST && version > newest)); then newest=$version found=$directory; fi
  done
  [[ -n $found ]] || die "PostgreSQL is not installed" "apt-get install postgresql-15"
  printf '%s\n' "$found"
}

# Fills POSTGRESQL_AS: the prefix of the server's programs, which run as another user when this script is root's.
postgresql_user() {
  POSTGRESQL_AS=()
  ((EUID == 0)) || return 0
  POSTGRESQL_USER=nobody
  if id postgres >/dev/null 2>&1; then POSTGRESQL_USER=postgres; fi
  POSTGRESQL_AS=(
    setpriv --reuid="$POSTGRESQL_USER" --regid="$(id -g "$POSTGRESQL_USER")" --clear-groups --
    env -i PATH=/usr/bin:/bin LANG=C.UTF-8 HOME=/)
}

# Lets the server's user through the directories above its own; what lies beside it stays closed.
#   postgresql_open_way DIRECTORY
postgresql_open_way() {
  local part=$1 beside
  ((EUID == 0)) || return 0
  while [[ $part == "$RUN"/* ]]; do
    part=${part%/*}
    [[ $(stat -c %a "$part") == *5 ]] && continue
    for beside in "$part"/*/; do
      # Another server's way stays open.
      if [[ $1/ != "$beside"* && $(stat -c %a "$beside") != 711 ]]; then chmod go= "$beside"; fi
    done
    chmod 711 "$part"
  done
  "${POSTGRESQL_AS[@]}" test -x "$1" ||
    die "the user $POSTGRESQL_USER cannot reach $1" "run the script as another user than root, or move the checkout"
}

# Makes the cluster unless it is there.
#   postgresql_prepare DIRECTORY SECRETS_DIRECTORY
postgresql_prepare() {
  local directory=$1 secrets=$2 programs status=0
  programs=$(postgresql_programs)
  postgresql_user
  ensure_secret "$secrets/postgresql-postgres"
  mkdir -p "$directory/log"
  chmod 711 "$directory"
  postgresql_open_way "$directory"
  if [[ -s $directory/data/PG_VERSION ]]; then
    [[ /usr/lib/postgresql/$(cat "$directory/data/PG_VERSION")/bin == "$programs" ]] ||
      die "$directory/data is of PostgreSQL $(cat "$directory/data/PG_VERSION")" "remove it with deploy/down --purge"
    return 0
  fi
  rm -rf "$directory/data"
  install -d -m 700 ${POSTGRESQL_USER:+-o "$POSTGRESQL_USER"} "$directory/data"
  # initdb wants an empty directory, so the password cannot lie in it.
  install -m 600 ${POSTGRESQL_USER:+-o "$POSTGRESQL_USER"} "$secrets/postgresql-postgres" "$directory/password"
  "${POSTGRESQL_AS[@]}" "$programs/initdb" --pgdata="$directory/data" --username=postgres --pwfile="$directory/password" \
    --auth-host=scram-sha-256 --auth-local=reject --encoding=UTF8 --locale=C.UTF-8 --data-checksums \
    "${POSTGRESQL_INITDB[@]}" \
    >"$directory/log/initdb.log" 2>&1 || status=$?
  rm -f "$directory/password"
  if ((status != 0)); then
    show_tail "$directory/log/initdb.log"
    die "the PostgreSQL cluster could not be made" "see $directory/log/initdb.log"
  fi
}

# Makes a standby: a copy of another server on this machine, which it follows when it is started.
#   postgresql_copy DIRECTORY PORT_OF_THE_OTHER SECRETS_DIRECTORY
postgresql_copy() {
  local directory=$1 port=$2 secrets=$3 status=0
  postgresql_user
  mkdir -p "$directory/log"
  chmod 711 "$directory"
  postgresql_open_way "$directory"
  rm -rf "$directory/data"
  install -d -m 700 ${POSTGRESQL_USER:+-o "$POSTGRESQL_USER"} "$directory/data"
  # Kept, because the standby logs in with it.
  install -m 600 ${POSTGRESQL_USER:+-o "$POSTGRESQL_USER"} /dev/null "$directory/pgpass"
  printf '127.0.0.1:%s:*:postgres:%s\n' "$port" "$(cat "$secrets/postgresql-postgres")" >"$directory/pgpass"
  "${POSTGRESQL_AS[@]}" "$(postgresql_programs)/pg_basebackup" --no-password --checkpoint=fast --no-sync --write-recovery-conf \
    --pgdata="$directory/data" --dbname="host=127.0.0.1 port=$port user=postgres passfile=$directory/pgpass" \
    >"$directory/log/basebackup.log" 2>&1 || status=$?
  if ((status != 0)); then
    show_tail "$directory/log/basebackup.log"
    die "the standby could not be made" "see $directory/log/basebackup.log"
  fi
}

postgresql_running() { live_pid "$1/postgresql.pid" >/dev/null; }

#   postgresql_answers PORT
postgresql_answers() { "$(postgresql_programs)/pg_isready" --quiet --host=127.0.0.1 --port="$1" --timeout=2; }

# Starts the server unless it runs, and waits until it takes connections.
#   postgresql_start DIRECTORY PORT SECRETS_DIRECTORY
postgresql_start() {
  local directory=$1 port=$2 secrets=$3 begun=$SECONDS status=0
  postgresql_user
  if [[ -d $directory ]]; then postgresql_open_way "$directory"; fi
  if postgresql_running "$directory" && postgresql_answers "$port"; then
    note "PostgreSQL runs already, on port $port"
    return 0
  fi
  postgresql_prepare "$directory" "$secrets"
  if ! postgresql_running "$directory"; then
    require_free_port "$port"
    # A server that was killed leaves its file; the number in it may belong to another process by now.
    rm -f "$directory/data/postmaster.pid"
    start_process "$directory/postgresql.pid" "$directory/log/postgresql.log" \
      "${POSTGRESQL_AS[@]}" env "${POSTGRESQL_VARIABLES[@]}" "$(postgresql_programs)/postgres" -D "$directory/data" -p "$port" \
      -c listen_addresses="$POSTGRESQL_ADDRESSES" -c unix_socket_directories= -c log_line_prefix='%m [%p] %u ' \
      -c log_lock_waits=on -c log_checkpoints=off || die "PostgreSQL ended at once" "see $directory/log/postgresql.log"
  fi
  wait_until "$POSTGRESQL_START_SECONDS" "$(live_pid "$directory/postgresql.pid" || echo 0)" postgresql_answers "$port" ||
    status=$?
  if ((status != 0)); then
    show_tail "$directory/log/postgresql.log" 25
    die "PostgreSQL did not become ready ($( ((status == 2)) && echo 'it ended' || echo "within $POSTGRESQL_START_SECONDS s"))" \
      "the reason is in $directory/log/postgresql.log"
  fi
  note "PostgreSQL is ready on port $port after $((SECONDS - begun)) s"
}

# Stops the server: its clients are told, and do not hold it up (SIGINT, a "fast" shutdown).
#   postgresql_stop DIRECTORY
postgresql_stop() {
  local pid begun=$SECONDS
  if ! pid=$(live_pid "$1/postgresql.pid"); then
    rm -f "$1/postgresql.pid"
    return 0
  fi
  kill -INT "$pid" 2>/dev/null || true
  await_stop PostgreSQL "$1/postgresql.pid" "$POSTGRESQL_STOP_SECONDS" "$pid" "$begun"
}

# Ends the server as a crash does: the next start recovers from the log.
#   postgresql_kill DIRECTORY
postgresql_kill() {
  local pid
  pid=$(live_pid "$1/postgresql.pid") || die "PostgreSQL does not run"
  kill -KILL "$pid"
  # Its children notice, end, and free its shared memory.
  wait_until 30 - postgresql_is_gone "$1" || die "processes of PostgreSQL (process $pid) do not end"
  rm -f "$1/postgresql.pid"
}

postgresql_is_gone() {
  local process
  no_live_process "$1/postgresql.pid" || return 1
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/cwd" 2>/dev/null) == "$1/data" ]]; then return 1; fi
  done
}

# Runs SQL from standard input as the superuser, and prints what it selects.
#   postgresql_run PORT SECRETS_DIRECTORY DATABASE [OPTIONS OF psql...]
postgresql_run() {
  local port=$1 secrets=$2 database=$3
  shift 3
  PGPASSWORD=$(cat "$secrets/postgresql-postgres") "$(postgresql_programs)/psql" --no-psqlrc --quiet --tuples-only \
    --no-align --set=ON_ERROR_STOP=1 --host=127.0.0.1 --port="$port" --username=postgres --dbname="$database" "$@"
}
