# shellcheck shell=bash
# A private RabbitMQ node: its own directory, node name, ports, cookie and port mapper (epmd), independent of any
# other broker of the machine. Sourced after common.sh.
#
# Ports, from a base: AMQP +0, management HTTP +1, Erlang distribution +2, epmd +3, rabbitmqctl +4 to +9. All on loopback.
# Directory: broker.env (name and ports), rabbitmq.conf, definitions.json, home/ (cookie), data/, log/, *.pid.

# The users of the topology, without those that a script adds. Their rights are in Config/rabbitmq/definitions.json.
readonly BROKER_USERS=(
  coordinator sms-worker push-worker mail-worker revocation-worker webhook-worker accounts gateway service sender operator)
readonly BROKER_START_SECONDS=180
readonly BROKER_STOP_SECONDS=60

broker_scripts() {
  local directory
  # Debian's wrappers in /usr/sbin change the user to rabbitmq; the package's own scripts do not.
  for directory in /usr/lib/rabbitmq/bin /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin; do
    if [[ -x $directory/rabbitmq-server ]]; then
      printf '%s\n' "$directory"
      return 0
    fi
  done
  die "RabbitMQ is not installed" "apt-get install rabbitmq-server"
}

# Writes the files of the node. Safe to repeat: secrets and data are kept.
#   broker_prepare DIRECTORY PORT_BASE SECRETS_DIRECTORY [EXTRA_ADMINISTRATOR]
broker_prepare() {
  local directory=$1 base=$2 secrets=$3 administrator=${4:-}
  broker_leave_ports "$directory" "$base"
  mkdir -p "$directory"/{home,data,log}
  chmod 700 "$directory" "$directory/home"
  ensure_secret "$directory/home/.erlang.cookie"
  chmod 400 "$directory/home/.erlang.cookie"
  local user
  for user in "${BROKER_USERS[@]}" ${administrator:+"$administrator"}; do
    ensure_secret "$secrets/broker-$user"
  done
  printf 'BROKER_NODE=countersign@localhost\nBROKER_BASE=%s\n' "$base" >"$directory/broker.env"
  printf '[rabbitmq_management].\n' >"$directory/enabled_plugins"
  : >"$directory/rabbitmq-env.conf"
  printf '[].\n' >"$directory/advanced.config"
  mkdir -p "$directory/conf.d"
  broker_shipped_configuration >"$directory/conf.d/countersign.conf"
  broker_configuration "$directory" "$base" >"$directory/rabbitmq.conf"
  (umask 077 && broker_definitions "$secrets" "$administrator" >"$directory/definitions.json")
}

# Ends a node that still runs on other ports. Next to an epmd on other ports, a node starts an epmd of its own, which becomes
# a daemon that is never stopped.
broker_leave_ports() {
  local directory=$1 base=$2
  [[ -f $directory/broker.env ]] || return 0
  # shellcheck disable=SC1091
  source "$directory/broker.env"
  if [[ $BROKER_BASE != "$base" ]]; then broker_stop "$directory"; fi
}

broker_configuration() {
  cat <<CONF
# Written by deploy/; changes are lost.
listeners.tcp.1 = 127.0.0.1:$2
management.tcp.ip = 127.0.0.1
management.tcp.port = $(($2 + 1))
# With these definitions, a new node creates no user guest.
load_definitions = $1/definitions.json
# A quarter of the default: the write-ahead log of the quorum queues is also kept in memory.
raft.wal_max_size_bytes = 134217728
disk_free_limit.absolute = 512MB
collect_statistics_interval = ${COUNTERSIGN_BROKER_STATISTICS_MS:-5000}
log.file.level = info
log.console = false
CONF
}

# The configuration that installations get. Tests of the AMQP client send larger messages than Countersign does.
broker_shipped_configuration() {
  if [[ -z ${COUNTERSIGN_BROKER_MESSAGE_BYTES:-} ]]; then
    cat "$ROOT/Config/rabbitmq/countersign.conf"
  else
    sed -E "s/^max_message_size = .*/max_message_size = $COUNTERSIGN_BROKER_MESSAGE_BYTES/" "$ROOT/Config/rabbitmq/countersign.conf"
  fi
}

# Users, passwords (hashed), rights and limits only: queues and exchanges are declared by 'countersign topology apply'.
broker_definitions() {
  local secrets=$1 administrator=$2 user filter
  filter='{vhosts, parameters, users, permissions, topic_permissions}'
  local arguments=()
  for user in "${BROKER_USERS[@]}"; do
    filter+=" | (.users[] | select(.name == \"$user\")).password_hash = \$${user//-/_}"
    arguments+=(--arg "${user//-/_}" "$(password_hash "$secrets/broker-$user")")
  done
  if [[ -n $administrator ]]; then
    arguments+=(--arg administrator "$(password_hash "$secrets/broker-$administrator")")
    filter+=" | .users += [{name: \"$administrator\", password_hash: \$administrator, \
      hashing_algorithm: \"rabbit_password_hashing_sha256\", tags: [\"administrator\"]}]
      | .permissions += [{user: \"$administrator\", vhost: \"/\", configure: \".*\", write: \".*\", read: \".*\"}]"
  fi
  jq "${arguments[@]}" "$filter" "$ROOT/Config/rabbitmq/definitions.json"
}

# RabbitMQ's rabbit_password_hashing_sha256: base64 of salt ‖ SHA-256(salt ‖ password), with a salt of 4 bytes.
password_hash() {
  local salt
  salt=$(head -c 4 /dev/urandom | od -An -tx1 | sed 's/ /\\x/g')
  {
    printf '%b' "$salt"
    { printf '%b' "$salt" && tr -d '\n' <"$1"; } | openssl dgst -sha256 -binary
  } | base64
}

# Fills BROKER_ENV: the command that runs a script of RabbitMQ in the node's own environment, without the caller's.
#   broker_environment DIRECTORY
broker_environment() {
  local directory=$1
  # shellcheck disable=SC1091
  source "$directory/broker.env"
  BROKER_ENV=(
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
    HOME="$directory/home" ERL_CRASH_DUMP="$directory/log/erl_crash.dump"
    RABBITMQ_NODENAME="$BROKER_NODE"
    RABBITMQ_NODE_PORT="$BROKER_BASE" RABBITMQ_DIST_PORT=$((BROKER_BASE + 2))
    ERL_EPMD_PORT=$((BROKER_BASE + 3)) ERL_EPMD_ADDRESS=127.0.0.1
    RABBITMQ_CTL_DIST_PORT_MIN=$((BROKER_BASE + 4)) RABBITMQ_CTL_DIST_PORT_MAX=$((BROKER_BASE + 9))
    RABBITMQ_MNESIA_BASE="$directory/data" RABBITMQ_LOG_BASE="$directory/log" RABBITMQ_LOGS="$directory/log/broker.log"
    RABBITMQ_CONFIG_FILE="$directory/rabbitmq.conf" RABBITMQ_CONFIG_FILES="$directory/conf.d"
    RABBITMQ_ADVANCED_CONFIG_FILE="$directory/advanced.config"
    RABBITMQ_CONF_ENV_FILE="$directory/rabbitmq-env.conf"
    RABBITMQ_ENABLED_PLUGINS_FILE="$directory/enabled_plugins"
    RABBITMQ_PID_FILE="$directory/data/rabbitmq.pid"
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
    # Makes the server script become the node itself, instead of a shell that waits for it: the process ID is the node's,
    # and SIGTERM stops it in order.
    RUNNING_UNDER_SYSTEMD=true
  )
}

broker_running() { live_pid "$1/broker.pid" >/dev/null; }

# Starts the node (and its epmd) unless it runs, and waits until it takes connections and requests.
#   broker_start DIRECTORY SECRETS_DIRECTORY
broker_start() {
  local directory=$1 secrets=$2 scripts begun=$SECONDS status=0
  # shellcheck disable=SC1091
  source "$directory/broker.env"
  if broker_running "$directory" && broker_answers "$secrets"; then
    note "the broker runs already, on port $BROKER_BASE"
    broker_renew_definitions "$directory"
    return 0
  fi
  scripts=$(broker_scripts)
  if ! broker_running "$directory"; then
    local port
    for port in "$BROKER_BASE" $((BROKER_BASE + 1)) $((BROKER_BASE + 2)); do require_free_port "$port"; done
    broker_start_epmd "$directory"
    broker_environment "$directory"
    start_process "$directory/broker.pid" "$directory/log/console.log" "${BROKER_ENV[@]}" "$scripts/rabbitmq-server" ||
      die "the broker ended at once" "see $directory/log/console.log"
  fi
  wait_until "$BROKER_START_SECONDS" "$(live_pid "$directory/broker.pid" || echo 0)" broker_answers "$secrets" || status=$?
  if ((status != 0)); then
    show_tail "$directory/log/console.log" 15
    show_tail "$directory/log/broker.log" 25
    die "the broker did not become ready ($( ((status == 2)) && echo 'it ended' || echo "within $BROKER_START_SECONDS s"))" \
      "the reason is in $directory/log; if its data is damaged: deploy/down, then remove $directory/data"
  fi
  broker_definitions_sum >"$directory/definitions.sum"
  note "the broker is ready on port $BROKER_BASE after $((SECONDS - begun)) s"
}

broker_definitions_sum() { sha256sum <"$ROOT/Config/rabbitmq/definitions.json"; }

# A node reads its definitions when it starts: a running node gets the new users and rights.
broker_renew_definitions() {
  local directory=$1
  if [[ $(cat "$directory/definitions.sum" 2>/dev/null) == "$(broker_definitions_sum)" ]]; then return 0; fi
  broker_ctl "$directory" rabbitmqctl --quiet import_definitions "$directory/definitions.json" ||
    die "the broker does not accept its users and rights" "see $directory/log/broker.log"
  broker_definitions_sum >"$directory/definitions.sum"
}

# Starts epmd in the foreground of its own session: an epmd that a node starts for itself becomes a daemon that stays.
broker_start_epmd() {
  local directory=$1
  if live_pid "$directory/epmd.pid" >/dev/null; then return 0; fi
  require_free_port $((BROKER_BASE + 3))
  start_process "$directory/epmd.pid" "$directory/log/epmd.log" \
    env -i PATH=/usr/bin:/bin ERL_EPMD_ADDRESS=127.0.0.1 epmd -port $((BROKER_BASE + 3)) ||
    die "epmd ended at once" "see $directory/log/epmd.log"
  wait_until 60 - port_open $((BROKER_BASE + 3)) || die "epmd does not listen" "see $directory/log/epmd.log"
}

# Whether the node accepts AMQP connections, and knows its users.
broker_answers() {
  port_open "$BROKER_BASE" && broker_http "$1" operator "http://127.0.0.1:$((BROKER_BASE + 1))/api/whoami" >/dev/null 2>&1
}

# Sends a request to the management API, with the password on standard input, where no process list shows it.
#   broker_http SECRETS_DIRECTORY USER URL [CURL OPTIONS...]
broker_http() {
  local secrets=$1 user=$2
  shift 2
  printf 'user = "%s:%s"\n' "$user" "$(cat "$secrets/broker-$user")" |
    curl --config - --silent --show-error --fail --noproxy '*' --max-time 30 "$@"
}

broker_stop() {
  local directory=$1
  stop_process "the broker" "$directory/broker.pid" "$BROKER_STOP_SECONDS"
  stop_process "its epmd" "$directory/epmd.pid" 5
}

#   broker_ctl DIRECTORY rabbitmqctl|rabbitmq-queues|... ARGUMENTS...
broker_ctl() {
  local directory=$1 tool=$2
  shift 2
  broker_environment "$directory"
  "${BROKER_ENV[@]}" "$(broker_scripts)/$tool" "$@"
}
