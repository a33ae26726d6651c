# shellcheck shell=bash disable=SC2034
# The parts of deploy/test. Sourced after common.sh, broker.sh, front.sh and stack.sh; TEST_RUN is the directory of the run.

# Debian has the first six.
readonly TEST_MODULES=(pika jwt cryptography dkim nacl jsonschema smpp34 googleapiclient schemathesis aiopenapi3)
# Options of the build of the programs and tests that are run.
TEST_BUILD=(--build-tests)
# Test cases that run at once, by the variable of Swift Testing, which starts all of them otherwise: two thousand then wait for
# the same few threads, and no answer over a socket comes in time.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$((2 * $(nproc)))
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH
# Seconds for what was stopped to be gone.
readonly LEFTOVERS_SECONDS=15

# Ports of a stack, and of the broker of the Swift tests.
readonly TEST_PORTS=34
# Stacks at most, and memory that each may need: with a cluster of brokers beside it.
readonly TEST_MAX_STACKS=4 TEST_STACK_KILOBYTES=$((2 << 20))
# Seconds after which a module of the interop tests is killed: the longest builds a package.
readonly TEST_MODULE_SECONDS=3600
# Failed modules that are run once more, each alone. More have one cause, and the first of them shows it.
readonly TEST_MAX_ALONE=6

STOP_STATUS=0
TEST_BUSY=()
# What runs beside this script: each has a process group of its own.
TEST_BESIDE=()
TEST_SWIFT=''

# The stacks that this machine can have side by side.
tests_stacks() {
  local stacks memory
  if [[ -n ${COUNTERSIGN_TEST_STACKS:-} ]]; then
    [[ $COUNTERSIGN_TEST_STACKS =~ ^[1-9]$ ]] || die "COUNTERSIGN_TEST_STACKS is $COUNTERSIGN_TEST_STACKS" "set it to a number from 1 to 9"
    printf '%s\n' "$COUNTERSIGN_TEST_STACKS"
    return 0
  fi
  # Much of their time they wait.
  stacks=$(($(nproc) + 1))
  memory=$(awk -v each="$TEST_STACK_KILOBYTES" '$1 == "MemAvailable:" {print int($2 / each)}' /proc/meminfo)
  if ((stacks > memory)); then stacks=$memory; fi
  if ((stacks > TEST_MAX_STACKS)); then stacks=$TEST_MAX_STACKS; fi
  printf '%s\n' $((stacks > 0 ? stacks : 1))
}

# The first of some consecutive free ports.
#   tests_port_base PORTS
tests_port_base() {
  local base port ports=$1
  if [[ -n ${COUNTERSIGN_TEST_PORT_BASE:-} ]]; then
    printf '%s\n' "$COUNTERSIGN_TEST_PORT_BASE"
    return 0
  fi
  for ((base = 5790; base < 9000; base += TEST_PORTS)); do
    for ((port = base; port < base + ports; port++)); do
      if port_open "$port"; then continue 2; fi
    done
    printf '%s\n' "$base"
    return 0
  done
  die "there are no $ports consecutive free ports from 5790 to 9000" "set COUNTERSIGN_TEST_PORT_BASE"
}

# Starts a new broker, and writes test.env, by which tests find it.
#   tests_start_broker DIRECTORY PORT_BASE
tests_start_broker() {
  local directory=$1 base=$2 secrets=$1/secrets password
  broker_stop "$directory/broker" # one that a killed run has left
  rm -rf "$directory/broker"
  # Maximum age of the queue depths in the management API.
  # The AMQP client is tested with bodies of several megabytes.
  COUNTERSIGN_BROKER_STATISTICS_MS=1000 COUNTERSIGN_BROKER_MESSAGE_BYTES=16777216 \
    broker_prepare "$directory/broker" "$base" "$secrets" test
  broker_start "$directory/broker" "$secrets"
  printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$ROOT/deploy/lib/broker-ctl" "$directory/broker" "$secrets" >"$directory/ctl"
  chmod +x "$directory/ctl"
  password=$(cat "$secrets/broker-test")
  (umask 077 && cat >"$directory/test.env") <<ENV
export COUNTERSIGN_TEST_AMQP_URL=amqp://test:$password@127.0.0.1:$base
export COUNTERSIGN_TEST_MANAGEMENT_URL=http://test:$password@127.0.0.1:$((base + 1))
export COUNTERSIGN_TEST_BROKER_CTL='$directory/ctl'
ENV
}

# Removes what an earlier run has left, and decides how many stacks there are, and where.
tests_prepare() {
  tests_clean_up
  TEST_BINARIES=$(swift build "${TEST_BUILD[@]}" --show-bin-path)
  TEST_STACKS=$(tests_stacks)
  TEST_BASE=$(tests_port_base $((TEST_PORTS * (TEST_STACKS + 1))))
}

# The broker of the Swift tests.
tests_start_swift_broker() {
  step "Starting a private broker for the Swift tests"
  tests_start_broker "$TEST_RUN" "$TEST_BASE"
  # shellcheck disable=SC1091
  source "$TEST_RUN/test.env"
}

# Notes how something ended, for the summary.
#   tests_note swift|interop STATUS SKIPPED TEXT
tests_note() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$TEST_RUN/results"; }

# What was noted, a line each.
#   tests_noted swift|interop
tests_noted() { awk -F '\t' -v kind="$1" '$1 == kind {print $4}' "$TEST_RUN/results"; }

# Starts a function beside this script; its process ID is TEST_BESIDE[-1]. From then on a signal ends the script between two commands
# and not at once, so that tests_stop finds each process that has begun.
tests_beside() {
  trap 'exit 130' INT TERM
  # The process is then the first of a group, which tests_interrupted ends.
  set -m
  "$@" </dev/null 9>&- &
  set +m
  TEST_BESIDE+=("$!")
}

# Keeps the complete output of the tests, and shows it without the lines about the start of a test.
#   tests_run_swift NAME ARGUMENTS OF swift test...
tests_run_swift() {
  step "Running the Swift tests ($1)"
  tests_keep_swift "$@" | sed -u '/^◇ /d'
}

#   tests_keep_swift NAME ARGUMENTS OF swift test...
tests_keep_swift() {
  local name=$1 log=$TEST_RUN/log/swift-test-$1.log summary status=0 skipped
  shift
  rm -f "$TEST_RUN/log/$name"*.xml
  swift test --skip-build --disable-xctest --xunit-output "$TEST_RUN/log/$name.xml" "$@" 2>&1 </dev/null 9>&- |
    tee "$log" || status=$?
  summary=$(grep -E 'Test run with .* (passed|failed)' "$log" | tail -n 1 | sed 's/^[^T]*//') ||
    summary='no closing line: the run broke off'
  # Without its closing line, a run was cut short, whatever its status.
  [[ $summary == Test\ run* ]] || status=1
  skipped=$(cat "$TEST_RUN/log/$name"*.xml 2>/dev/null |
    sed -n 's/.*<testsuite [^>]*skipped="\([0-9]*\)".*/\1/p' | awk '{n += $1} END {print n + 0}') || skipped=0
  tests_note swift "$status" "$skipped" "$name: $summary"
}

# All Swift tests. Those that wait for the broker run in a process of their own, because they block threads that the others need.
#   tests_run_all_swift [SUFFIX OF THE RUNS' NAMES]
tests_run_all_swift() {
  local broker
  # Nothing is built, so neither run needs the package's lock.
  tests_run_swift "broker${1:-}" --filter AMQPIntegrationTests --ignore-lock 9>&- &
  broker=$!
  tests_run_swift "unit${1:-}" --skip AMQPIntegrationTests --ignore-lock
  wait "$broker"
}

# All Swift tests, with a line for each run.
tests_run_swift_quietly() {
  tests_run_all_swift >/dev/null
  tests_noted swift | sed "s/^/    Swift tests, /"
}

# Starts all Swift tests beside the interop tests, which get the processors first: they measure more time than these.
tests_start_swift() {
  step "Running the Swift tests"
  tests_beside tests_run_swift_quietly
  TEST_SWIFT=${TEST_BESIDE[-1]}
  renice -n 5 -g "$TEST_SWIFT" >/dev/null
}

tests_await_swift() {
  [[ -n $TEST_SWIFT ]] || return 0
  wait "$TEST_SWIFT" || tests_note swift 1 0 'the run broke off'
  TEST_SWIFT=''
}

# The Swift tests, or some of them, several times beside as many busy processes as there are processors.
#   tests_run_loaded ROUNDS ARGUMENTS OF swift test...
tests_run_loaded() {
  local rounds=$1 round processors
  shift
  processors=$(nproc)
  while ((processors-- > 0)); do
    # Each ends with this script, whatever ends that.
    (exec 9>&-; while kill -0 $$ 2>/dev/null; do :; done) &
    TEST_BUSY+=("$!")
  done
  for ((round = 1; round <= rounds; round++)); do
    if (($# > 0)); then
      tests_run_swift "chosen-$(printf '%03d' "$round")" "$@"
    else
      tests_run_all_swift "-$(printf '%03d' "$round")"
    fi
  done
  tests_unload
}

tests_unload() {
  if ((${#TEST_BUSY[@]} == 0)); then return 0; fi
  kill "${TEST_BUSY[@]}" 2>/dev/null || true
  wait "${TEST_BUSY[@]}" 2>/dev/null || true
  TEST_BUSY=()
}

# The modules of the interop tests. Those about SQLite's files, and those with PostgreSQL servers of their own, say nothing
# new on a stack on PostgreSQL.
#   tests_interop_modules sqlite|postgresql
tests_interop_modules() {
  local file name
  for file in "$ROOT"/Tests/Interop/test_*.py; do
    name=$(basename "$file" .py)
    case $1:$name in
      postgresql:test_postgresql* | postgresql:test_second_coordinator | postgresql:test_several_hosts | postgresql:test_upgrade) ;;
      # It waits for the life of tokens after each step.
      *:test_postgresql_rotation) if [[ ${COUNTERSIGN_TEST_ALL:-} == 1 ]]; then printf '%s\n' "$name"; fi ;;
      *) printf '%s\n' "$name" ;;
    esac
  done
}

# Starts a new stack, and writes its runner: the program that runs a module of the interop tests on it. In a process of its own.
#   tests_start_stack sqlite|postgresql NAME PORT_BASE
tests_start_stack() {
  local directory=$TEST_RUN/$1-$2 base=$3
  exec >"$TEST_RUN/log/stack-$1-$2.log" 2>&1
  export COUNTERSIGN_STORE=$1
  stack_use "$directory" "$TEST_BINARIES" "$base"
  mkdir -p "$directory"
  # The server's user has to come through, whichever stack starts its server first.
  if ((EUID == 0)); then chmod 711 "$directory"; fi
  tests_start_broker "$directory" "$base"
  stack_prepare
  countersign topology apply
  stack_start_all
  (umask 077 && cat >"$directory/runner") <<RUNNER
#!/bin/sh
. '$directory/stack.env'
. '$directory/test.env'
export COUNTERSIGN_STACK='$directory' COUNTERSIGN_STACK_PORT_BASE=$base
cd '$ROOT/Tests/Interop' && exec '$TEST_PYTHON' -m unittest -v "\$1"
RUNNER
  chmod u+x "$directory/runner"
}

# Starts stacks at once.
#   tests_start_stacks sqlite|postgresql NAME...
tests_start_stacks() {
  local store=$1 name base=$((TEST_BASE + TEST_PORTS)) status=0 processes=() process
  shift
  for name in "$@"; do
    tests_beside tests_start_stack "$store" "$name" "$base"
    processes+=("${TEST_BESIDE[-1]}")
    base=$((base + TEST_PORTS))
  done
  for process in "${processes[@]}"; do wait "$process" || status=1; done
  if ((status != 0)); then
    for name in "$@"; do show_tail "$TEST_RUN/log/stack-$store-$name.log"; done
    die "a stack for the interop tests did not start" "see $TEST_RUN/log/stack-$store-*.log"
  fi
}

# Runs the interop tests, all or some modules, spread over stacks of their own.
#   tests_run_interop sqlite|postgresql [MODULE...]
tests_run_interop() {
  local store=$1 log=$TEST_RUN/log/interop-$1 names status=0
  shift
  tests_python || return 0
  mail_python
  mapfile -t names < <(seq "$TEST_STACKS")
  step "Starting stacks for the interop tests: $TEST_STACKS ($store)"
  tests_start_stacks "$store" "${names[@]}"
  step "Running the interop tests (Python, pika; $store)"
  mkdir -p "$log"
  if (($# > 0)); then printf '%s\n' "$@"; else tests_interop_modules "$store"; fi >"$log/modules"
  tests_run_modules "$log" "${names[@]/#/$TEST_RUN/$store-}" || status=$?
  tests_stop_stacks || STOP_STATUS=1
  tests_note interop "$status" "$(cat "$log/skipped")" \
    "$store: $(cat "$log/tests") tests in $(wc -l <"$log/seconds.txt") modules, failed: $(wc -l <"$log/failed")"
  if [[ -s $log/failed ]]; then tests_run_alone "$store"; fi
}

# Prints what a module tells of its loads: verifications and sign-ins, and those that were lost; users.
#   tests_print_loads sqlite|postgresql MODULE
tests_print_loads() { grep -E '^ +[0-9]+ (of [0-9]+ approved|sign-ins|users)' "$TEST_RUN/log/interop-$1/$2.log" || true; }

# Runs the modules that LOG_DIRECTORY/modules names.
#   tests_run_modules LOG_DIRECTORY STACK...
tests_run_modules() {
  local log=$1
  shift
  tests_beside "$TEST_PYTHON" "$ROOT/deploy/lib/modules.py" --log "$log" --seconds "$ROOT/Tests/Interop/seconds.txt" \
    --limit "$TEST_MODULE_SECONDS" "$log/modules" "${@/%//runner}"
  wait "${TEST_BESIDE[-1]}"
}

# Runs failed modules once more, on a new stack with nothing beside it, and notes whether they fail there too.
#   tests_run_alone sqlite|postgresql
tests_run_alone() {
  local store=$1 log=$TEST_RUN/log/interop-$1 name ended
  step "Running failed modules again, alone ($store)"
  tests_await_swift
  tests_start_stacks "$store" alone
  mkdir -p "$log/alone"
  head -n "$TEST_MAX_ALONE" "$log/failed" >"$log/alone/modules"
  tests_run_modules "$log/alone" "$TEST_RUN/$store-alone" || true
  tests_stop_stacks || STOP_STATUS=1
  while read -r name; do
    ended='fails beside others only'
    if grep -qxF "$name" "$log/alone/failed"; then ended='fails alone too'; fi
    tests_note interop 1 0 "$store: $name $ended"
  done <"$log/alone/modules"
}

# A Python with the packages of Tests/Interop/requirements.txt: in its own environment from the package index, else from Debian,
# which lacks some; the tests that need those fail then.
tests_python() {
  TEST_PYTHON=$RUN/python/bin/python
  if cmp -s <(python_requirements) "$RUN/python/requirements.txt" && compgen -G "$RUN/stock-sdk/*.whl" >/dev/null &&
    python_has "$TEST_PYTHON" "${TEST_MODULES[@]}"; then
    return 0
  fi
  if run_step "Making a Python environment for the interop tests" "$TEST_RUN/log/python.log" "trying Debian's own packages" \
    make_python_environment && python_has "$TEST_PYTHON" "${TEST_MODULES[@]}"; then
    return 0
  fi
  ensure_packages python3-pika python3-jwt python3-cryptography python3-dkim python3-nacl python3-jsonschema
  TEST_PYTHON=/usr/bin/python3
  if python_has "$TEST_PYTHON" "${TEST_MODULES[@]:0:6}"; then return 0; fi
  tests_note interop 1 0 'the Python packages could not be installed'
  return 1
}

#   python_has PYTHON MODULE...
python_has() {
  local python=$1 modules
  shift
  modules=$(IFS=,; printf '%s' "$*")
  "$python" -c "import $modules" 2>/dev/null
}

# What is installed or downloaded, with versions and hashes.
python_requirements() {
  cat "$ROOT"/Tests/Interop/requirements.txt "$ROOT"/Tests/Interop/requirements-alone.txt "$ROOT"/Tests/Interop/stock-sdk/wheel.txt
}

# Joined by &&: the caller's condition switches the shell's own stop at failures off.
make_python_environment() {
  local pip=("$RUN/python/bin/pip" --disable-pip-version-check --quiet --retries 5 --timeout 30) tests=$ROOT/Tests/Interop
  # Debian's own Python, which python3-venv belongs to; another one on PATH may lack the module.
  rm -rf "$RUN/python" "$RUN/stock-sdk" && /usr/bin/python3 -m venv "$RUN/python" &&
    try_thrice "${pip[@]}" install --requirement "$tests/requirements.txt" &&
    try_thrice "${pip[@]}" install --no-deps --requirement "$tests/requirements-alone.txt" &&
    # The sources of the stock JavaScript SDK, for stock_sdk.py: kept as they came.
    try_thrice "${pip[@]}" download --no-deps --require-hashes --only-binary :all: --dest "$RUN/stock-sdk" \
      --requirement "$tests/stock-sdk/wheel.txt" &&
    python_requirements >"$RUN/python/requirements.txt"
}

# Processes that this run started, from this directory's builds or for its databases, and that still run.
tests_leftovers() {
  local process program
  for process in /proc/[0-9]*; do
    { IFS= read -r -d '' program <"$process/cmdline"; } 2>/dev/null || continue
    case $program in
      "$ROOT/.build/"*) tests_owns "$process" -e "${TMPDIR:-/tmp}/countersign-" || continue ;;
      # The system's programs, which other runs have too.
      */postgres | */pgbouncer) tests_owns "$process" || continue ;;
      *) continue ;;
    esac
    printf '%s %s\n' "${process#/proc/}" "$program"
  done
}

# Whether a process has this run's variables, or files of this run among its arguments: only root can read the variables and
# the program path of a process that protects its memory (PR_SET_DUMPABLE).
#   tests_owns PROCESS [-e OTHER ARGUMENT]...
tests_owns() {
  local process=$1
  shift
  grep -qzF "COUNTERSIGN_TEST_BROKER_CTL=$TEST_RUN/" "$process/environ" 2>/dev/null ||
    grep -qzF -e "$TEST_RUN/" "$@" "$process/cmdline" 2>/dev/null
}

# Kills what tests_leftovers prints.
tests_kill_leftovers() { tests_leftovers | awk '{print $1}' | xargs -r kill -KILL 2>/dev/null || true; }

# Removes what an earlier run has left, also one that was killed.
tests_clean_up() {
  tests_stop_stacks
  tests_kill_leftovers
  local mounted directory
  # Directories in memory of PostgreSQL servers that were killed together with their watcher: no process names them. Other runs
  # and other users may have some too, so nothing here may fail.
  { find /dev/shm -maxdepth 1 -name 'countersign-postgresql-*' -mmin +1 2>/dev/null || true; } | while read -r directory; do
    # By -f, so that grep's own arguments do not name it.
    if ! grep -qzF -f <(printf '%s\n' "$directory") /proc/[0-9]*/cmdline 2>/dev/null; then rm -rf "$directory" 2>/dev/null || true; fi
  done
  # Disks of PostgreSQL servers: see Tests/Interop/postgresql.py.
  awk -v run="$TEST_RUN/" 'index($2, run) == 1 {print $2}' /proc/mounts | while read -r mounted; do umount --lazy "$mounted"; done
  rm -rf "$TEST_RUN"/{sqlite,postgresql}-* "$TEST_RUN"/log/{swift-test,interop,stack}-* "$TEST_RUN/results"
  : >"$TEST_RUN/results"
}

# Stops all stacks, at once.
tests_stop_stacks() {
  local directory process processes=() status=0 log=$TEST_RUN/log/stop.log
  : >"$log"
  for directory in "$TEST_RUN"/{sqlite,postgresql}-*; do
    [[ -d $directory ]] || continue
    tests_stop_stack "$directory" >>"$log" 2>&1 &
    processes+=("$!")
  done
  for process in "${processes[@]}"; do wait "$process" || status=1; done
  if ((status != 0)); then show_tail "$log"; fi
  return "$status"
}

tests_stop_stack() {
  local status=0
  STACK=$1
  stack_stop_all || status=1
  broker_stop "$1/broker" || status=1
  return "$status"
}

# Stops all processes that the tests started, also when the script is interrupted.
tests_stop() {
  local process processes status=0
  step "Stopping what the tests started"
  tests_unload
  # A signal may have come between the start of a process and its entry in TEST_BESIDE.
  mapfile -t processes < <(printf '%s\n' "${TEST_BESIDE[@]}" && jobs -p)
  for process in "${processes[@]}"; do
    # All that has ended has no group, and what began outside tests_beside is in this script's.
    if kill -TERM -- "-$process" 2>/dev/null; then wait "$process" || true; fi
  done
  tests_stop_stacks || status=1
  broker_stop "$TEST_RUN/broker" || status=1
  return "$status"
}

tests_interrupted() {
  local status=$?
  trap - EXIT
  trap '' INT TERM
  tests_stop || true
  tests_kill_leftovers
  exit $((status == 0 ? 1 : status))
}

# Prints the results after all processes have stopped; fails unless all tests passed.
tests_summary() {
  local leftovers failed skipped begun=$SECONDS
  while leftovers=$(tests_leftovers) && [[ -n $leftovers ]] && ((SECONDS - begun < LEFTOVERS_SECONDS)); do sleep 0.5; done
  step "Summary"
  read -r failed skipped < <(awk -F '\t' '$2 != 0 {failed += 1} {skipped += $3} END {print failed + 0, skipped + 0}' "$TEST_RUN/results")
  tests_noted swift | sed 's/^/    Swift tests:   /'
  tests_noted interop | sed 's/^/    Interop tests: /'
  note "Skipped:       $skipped"
  note "Left running:  ${leftovers:-nothing}"
  if [[ -n $leftovers ]]; then tests_kill_leftovers; fi
  if ((failed > 0 || skipped > 0 || STOP_STATUS != 0)) || [[ -n $leftovers || ! -s $TEST_RUN/results ]]; then
    grep -hE '✘ Test .* recorded an issue|^(FAIL|ERROR):' "$TEST_RUN"/log/swift-test-*.log "$TEST_RUN"/log/interop-*/*.log \
      2>/dev/null | cut -c1-300 | sed 's/^/    /' || true
    note "${RED}failed${PLAIN}; logs: $TEST_RUN/log, $TEST_RUN/*/log"
    return 1
  fi
  good "passed in $SECONDS s"
}
