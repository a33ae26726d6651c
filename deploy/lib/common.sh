# shellcheck shell=bash disable=SC2034
# Common to every script of deploy/: paths, progress, failures, and starting, recognizing and stopping processes. Sourced,
# never run.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
RUN=$ROOT/.run
readonly ROOT RUN

# Seconds between two lines of progress when the output is not a terminal.
readonly PROGRESS_EVERY=15
# Seconds after which something that the network has failed is tried again.
readonly NETWORK_PAUSE=10

if [[ -t 1 ]]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
  BOLD='' DIM='' RED='' GREEN='' PLAIN=''
fi
readonly BOLD DIM RED GREEN PLAIN

say() { printf '%s\n' "$*"; }
step() { printf '%s==> %s%s\n' "$BOLD" "$*" "$PLAIN"; }
note() { printf '    %s\n' "$*"; }
good() { printf '    %s%s%s\n' "$GREEN" "$*" "$PLAIN"; }

# Ends the script with a problem and a hint.
#   die PROBLEM [HINT]
die() {
  printf '%serror:%s %s\n' "$RED" "$PLAIN" "$1" >&2
  if [[ -n ${2:-} ]]; then printf '       %s\n' "$2" >&2; fi
  exit 1
}

# The end of a log, on standard error.
#   show_tail FILE [LINES]
show_tail() {
  if [[ ! -s $1 ]]; then return 0; fi
  printf '%s--- the end of %s%s\n' "$DIM" "$1" "$PLAIN" >&2
  tail -n "${2:-30}" "$1" >&2
  printf '%s---%s\n' "$DIM" "$PLAIN" >&2
}

# Runs a long command with its output in a log, and shows its progress. Returns the command's exit status; on failure prints
# the end of the log and a hint.
#   run_step TITLE LOG HINT COMMAND...
run_step() {
  local title=$1 log=$2 hint=$3
  shift 3
  mkdir -p "$(dirname "$log")"
  step "$title"
  local begun=$SECONDS status=0
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  # An interrupted script must not leave the command behind.
  # shellcheck disable=SC2064
  trap "kill $pid 2>/dev/null || true; exit 130" INT TERM
  show_progress "$pid" "$log" "$begun"
  wait "$pid" || status=$?
  trap - INT TERM
  if ((status != 0)); then
    show_tail "$log"
    printf '%serror:%s %s: exit status %d after %d s\n' "$RED" "$PLAIN" "$title" "$status" $((SECONDS - begun)) >&2
    printf '       %s\n' "$hint" >&2
    return "$status"
  fi
  note "done in $((SECONDS - begun)) s"
}

# Shows the last line of a log while a process runs: in place on a terminal, else as a line every few seconds.
#   show_progress PID LOG BEGUN
show_progress() {
  local pid=$1 log=$2 begun=$3 last=0 elapsed line
  while kill -0 "$pid" 2>/dev/null; do
    elapsed=$((SECONDS - begun))
    if [[ -t 1 ]]; then
      line=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r\033' | cut -c1-80) || line=''
      printf '\r    %4d s  %-80s' "$elapsed" "$line"
    elif ((elapsed - last >= PROGRESS_EVERY)); then
      last=$elapsed
      line=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r\033' | cut -c1-100) || line=''
      note "$elapsed s: $line"
    fi
    sleep 0.2
  done
  if [[ -t 1 ]]; then printf '\r%90s\r' ''; fi
}

# Waits until a command succeeds, and shows the wait. Returns 1 if the time is over, 2 if the process has ended.
#   wait_until SECONDS PID COMMAND...       PID - means: no process to watch; 0: it has ended, whatever kill -0 0 says
wait_until() {
  local limit=$1 pid=$2 begun=$SECONDS last=0
  shift 2
  until "$@"; do
    if [[ $pid == 0 ]] || { [[ $pid != - ]] && ! kill -0 "$pid" 2>/dev/null; }; then return 2; fi
    if ((SECONDS - begun >= limit)); then return 1; fi
    if ((SECONDS - begun - last >= 5)); then
      last=$((SECONDS - begun))
      note "waiting, $last of at most $limit s"
    fi
    sleep 0.1
  done
}

# Runs a command that needs the network until it succeeds: at most three times, with a pause between. Its output tells of each failure.
#   try_thrice COMMAND...
try_thrice() {
  local attempt status=0
  for attempt in 1 2 3; do
    status=0
    "$@" || status=$?
    if ((status == 0 || attempt == 3)); then return "$status"; fi
    printf 'attempt %d of 3: exit status %d; trying again in %d s\n' "$attempt" "$status" "$NETWORK_PAUSE"
    sleep "$NETWORK_PAUSE"
  done
}

# Whether something accepts connections on a port of this machine.
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Name and process ID of the program that listens on a port, as far as this user may see it.
port_holder() {
  local inode link pid
  inode=$(awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  [[ -n $inode ]] || return 1
  for link in /proc/[0-9]*/fd/*; do
    [[ $(readlink "$link" 2>/dev/null) == "socket:[$inode]" ]] || continue
    pid=${link#/proc/} pid=${pid%%/*}
    printf '%s (process %s)\n' "$(cat "/proc/$pid/comm" 2>/dev/null)" "$pid"
    return 0
  done
  return 1
}

require_free_port() {
  if ! port_open "$1"; then return 0; fi
  die "port $1 is taken by $(port_holder "$1" || echo 'another program')" \
    "stop it, or choose other ports with COUNTERSIGN_PORT_BASE (5690 unless set)"
}

# A secret of 192 random bits, in characters that need no escaping in a URL.
random_secret() { head -c 24 /dev/urandom | base64 | tr '+/' '-_'; }

# Writes a secret into a file that only its owner can read, unless the file is there already.
#   ensure_secret FILE
ensure_secret() {
  if [[ -s $1 ]]; then return 0; fi
  mkdir -p "$(dirname "$1")"
  (umask 077 && random_secret >"$1.new" && mv "$1.new" "$1")
}

# Keeps two calls of up, down or test from working on the same directory at once.
#   lock_directory DIRECTORY
lock_directory() {
  mkdir -p "$1"
  exec 9>"$1/lock"
  flock -n 9 || die "another deploy script is working on $1" "wait until it has ended"
}

# --- processes ---------------------------------------------------------------------------------------------------------
# A pid file holds the process ID and the time of its start, in clock ticks since boot, which distinguishes it from a
# later one with the same ID.

process_start_time() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The name, in parentheses, may hold spaces: count the fields after it. Field 22 of the line is the start time.
  stat=${stat##*) }
  # shellcheck disable=SC2086
  set -- $stat
  # While one of its threads waits for the disk, a process that was killed keeps its ports and files (field 20: threads).
  [[ $1 != Z ]] || ((${18} > 1)) || return 1
  printf '%s\n' "${20}"
}

#   write_pid_file FILE PID
write_pid_file() {
  local started
  started=$(process_start_time "$2") || return 1
  printf '%s %s\n' "$2" "$started" >"$1"
}

# Prints the process ID if the process of a pid file is alive.
live_pid() {
  local pid started now
  [[ -s $1 ]] || return 1
  read -r pid started <"$1" || return 1
  now=$(process_start_time "$pid") || return 1
  [[ $now == "$started" ]] || return 1
  printf '%s\n' "$pid"
}

# Starts a process in its own session, with its output appended to a log.
#   start_process PIDFILE LOG COMMAND...
start_process() {
  local pidfile=$1 log=$2
  shift 2
  mkdir -p "$(dirname "$pidfile")" "$(dirname "$log")"
  setsid "$@" >>"$log" 2>&1 </dev/null 9>&- &
  local pid=$!
  disown "$pid"
  write_pid_file "$pidfile" "$pid" || return 1
}

no_live_process() { ! live_pid "$1" >/dev/null; }

# Asks a process to end, and kills it if it does not within the ceiling.
#   stop_process NAME PIDFILE CEILING_SECONDS
stop_process() {
  local name=$1 pidfile=$2 ceiling=$3 pid begun=$SECONDS
  if ! pid=$(live_pid "$pidfile"); then
    rm -f "$pidfile"
    return 0
  fi
  kill -TERM "$pid" 2>/dev/null || true
  await_stop "$name" "$pidfile" "$ceiling" "$pid" "$begun"
}

# Waits for a process that was asked to stop; kills it if it does not within its ceiling.
#   await_stop NAME PIDFILE CEILING PID BEGUN
await_stop() {
  local name=$1 pidfile=$2 ceiling=$3 pid=$4 begun=$5
  if ! wait_until "$ceiling" - no_live_process "$pidfile"; then
    note "$name did not end within $ceiling s: killed"
    kill -KILL "$pid" 2>/dev/null || true
    wait_until 60 - no_live_process "$pidfile" || die "$name (process $pid) cannot be killed"
  fi
  rm -f "$pidfile"
  note "$name stopped in $((SECONDS - begun)) s"
}
