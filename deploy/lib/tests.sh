# shellcheck shell=bash disable=SC2034
# The parts of deploy/test. Sourced after common.sh, broker.sh, front.sh and stack.sh; TEST_RUN is the directory of the run.

# Debian has the first six.
readonly TEST_MODULES=(pika jwt cryptography dkim nacl jsonschema smpp34 googleapiclient)
# Test cases that run at once, by the variable of Swift Testing, which starts all of them otherwise: two thousand then wait for
# the same few threads, and no answer over a socket comes in time.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$((2 * $(nproc)))
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH
# Seconds for what was stopped to be gone.
readonly LEFTOVERS_SECONDS=15

SWIFT_STATUS=0
SWIFT_SUMMARY=''
INTEROP_STATUS=0
INTEROP_SUMMARY=''
SKIPPED=0
STOP_STATUS=0
TEST_BUSY=()

# The first of 31 consecutive free ports.
tests_port_base() {
  local base port
  if [[ -n ${COUNTERSIGN_TEST_PORT_BASE:-} ]]; then
    printf '%s\n' "$COUNTERSIGN_TEST_PORT_BASE"
    return 0
  fi
  for ((base = 5790; base < 9000; base += 31)); do
    for ((port = base; port < base + 31; port++)); do
      if port_open "$port"; then continue 2; fi
    done
    printf '%s\n' "$base"
    return 0
  done
  die "there are no 31 consecutive free ports between 5790 and 9000" "set COUNTERSIGN_TEST_PORT_BASE"
}

tests_start_broker() {
  local base secrets=$TEST_RUN/secrets
  step "Starting a private broker for the tests"
  broker_stop "$TEST_RUN/broker" # one that a killed run has left
  rm -rf "$TEST_RUN/broker"
  base=$(tests_port_base)
  # Maximum age of the queue depths in the management API.
  # The AMQP client is tested with bodies of several megabytes.
  COUNTERSIGN_BROKER_STATISTICS_MS=1000 COUNTERSIGN_BROKER_MESSAGE_BYTES=16777216 \
    broker_prepare "$TEST_RUN/broker" "$base" "$secrets" test
  broker_start "$TEST_RUN/broker" "$secrets"
  printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$ROOT/deploy/lib/broker-ctl" "$TEST_RUN/broker" "$secrets" >"$TEST_RUN/ctl"
  chmod +x "$TEST_RUN/ctl"
  local password
  password=$(cat "$secrets/broker-test")
  export COUNTERSIGN_TEST_AMQP_URL="amqp://test:$password@127.0.0.1:$base"
  export COUNTERSIGN_TEST_MANAGEMENT_URL="http://test:$password@127.0.0.1:$((base + 1))"
  export COUNTERSIGN_TEST_BROKER_CTL=$TEST_RUN/ctl
  export COUNTERSIGN_TEST_SECRETS=$secrets
  TEST_BASE=$base
}

# Keeps the complete output of the tests, and shows it without the lines about the start of a test.
#   tests_run_swift NAME ARGUMENTS OF swift test...
tests_run_swift() {
  local name=$1 log=$TEST_RUN/log/swift-test-$1.log summary status=0
  shift
  step "Running the Swift tests ($name)"
  mkdir -p "$TEST_RUN/log"
  rm -f "$TEST_RUN/log/$name"*.xml
  swift test --skip-build --disable-xctest --xunit-output "$TEST_RUN/log/$name.xml" "$@" 2>&1 </dev/null 9>&- |
    tee "$log" | sed -u '/^◇ /d' || status=$?
  summary=$(grep -E 'Test run with .* (passed|failed)' "$log" | tail -n 1 | sed 's/^[^T]*//') ||
    summary='no closing line: the run broke off'
  # Without its closing line, a run was cut short, whatever its status.
  [[ $summary == Test\ run* ]] || status=1
  ((status == 0)) || SWIFT_STATUS=$status
  SWIFT_SUMMARY="$SWIFT_SUMMARY${SWIFT_SUMMARY:+; }$name: $summary"
  SKIPPED=$((SKIPPED + $(sed -n 's/.*<testsuite [^>]*skipped="\([0-9]*\)".*/\1/p' "$TEST_RUN/log/$name"*.xml 2>/dev/null |
    awk '{n += $1} END {print n + 0}')))
}

# The Swift tests.
#   tests_run_all_swift [SUFFIX OF THE RUNS' NAMES]
tests_run_all_swift() {
  # Apart, because those that wait for the broker block threads that the others need.
  tests_run_swift "unit${1:-}" --skip AMQPIntegrationTests
  tests_run_swift "broker${1:-}" --filter AMQPIntegrationTests
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
      postgresql:test_postgresql* | postgresql:test_second_coordinator | postgresql:test_several_hosts) ;;
      *) printf '%s\n' "$name" ;;
    esac
  done
}

# Runs the interop tests on a stack of their own.
#   tests_run_interop sqlite|postgresql
tests_run_interop() {
  local tests=$ROOT/Tests/Interop store=$1 summary status=0
  local log=$TEST_RUN/log/interop-$store.log
  if ! compgen -G "$tests/test_*.py" >/dev/null; then return 0; fi
  tests_python || return 0
  step "Starting a stack for the interop tests ($store)"
  export COUNTERSIGN_STORE=$store
  stack_use "$TEST_RUN" "$(swift build --show-bin-path)" "$TEST_BASE"
  rm -rf "$STACK/data" "$STACK/postgresql"
  stack_prepare
  countersign topology apply | sed 's/^/    /'
  stack_start_all
  step "Running the interop tests (Python, pika; $store)"
  # shellcheck disable=SC1091,SC2046
  (
    source "$STACK/stack.env"
    export COUNTERSIGN_STACK=$STACK COUNTERSIGN_STACK_PORT_BASE=$TEST_BASE
    cd "$tests" && "$TEST_PYTHON" -m unittest -v $(tests_interop_modules "$store")
  ) 2>&1 </dev/null 9>&- | tee "$log" || status=$?
  ((status == 0)) || INTEROP_STATUS=$status
  summary=$(grep -E '^(Ran |OK|FAILED)' "$log" | tr '\n' ' ') || summary='broke off'
  INTEROP_SUMMARY="$INTEROP_SUMMARY${INTEROP_SUMMARY:+; }$store: $summary"
  if grep -q 'skipped=' "$log"; then SKIPPED=$((SKIPPED + 1)); fi
  # The next store's stack has the same ports.
  stack_stop_all
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
  INTEROP_STATUS=1
  INTEROP_SUMMARY='the Python packages could not be installed'
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
  grep -qzxF "COUNTERSIGN_TEST_BROKER_CTL=$TEST_RUN/ctl" "$process/environ" 2>/dev/null ||
    grep -qzF -e "$TEST_RUN/" "$@" "$process/cmdline" 2>/dev/null
}

# Stops all processes that the tests started, also when the script is interrupted.
tests_stop() {
  local status=0
  step "Stopping what the tests started"
  tests_unload
  STACK=$TEST_RUN
  stack_stop_all || status=1
  broker_stop "$TEST_RUN/broker" || status=1
  return "$status"
}

tests_interrupted() {
  local status=$?
  trap - EXIT
  tests_stop || true
  exit $((status == 0 ? 1 : status))
}

# Prints the results after all processes have stopped; fails unless all tests passed.
tests_summary() {
  local leftovers failed=0 begun=$SECONDS
  while leftovers=$(tests_leftovers) && [[ -n $leftovers ]] && ((SECONDS - begun < LEFTOVERS_SECONDS)); do sleep 0.5; done
  step "Summary"
  note "Swift tests:   $SWIFT_SUMMARY"
  note "Interop tests: ${INTEROP_SUMMARY:-none}"
  note "Skipped:       $SKIPPED"
  note "Left running:  ${leftovers:-nothing}"
  if ((SWIFT_STATUS != 0 || INTEROP_STATUS != 0 || STOP_STATUS != 0)); then failed=1; fi
  if ((SKIPPED > 0)); then failed=1; fi
  if [[ -n $leftovers ]]; then
    failed=1
    awk '{print $1}' <<<"$leftovers" | xargs -r kill -KILL 2>/dev/null || true
  fi
  if ((failed)); then
    grep -hE '✘ Test .* recorded an issue|^(FAIL|ERROR):' "$TEST_RUN"/log/{swift-test,interop}*.log 2>/dev/null |
      cut -c1-300 | sed 's/^/    /' || true
    note "${RED}failed${PLAIN}; logs: $TEST_RUN/log, $TEST_RUN/broker/log"
    return 1
  fi
  good "passed in $SECONDS s"
}
