# shellcheck shell=bash disable=SC2034
# The stack of a developer's machine: broker, simulator with its front, coordinator, workers, accounts, gateway with its front. Sourced
# after common.sh, packages.sh, broker.sh, postgresql.sh, front.sh and mail.sh. All its files are in one directory, STACK: secrets/,
# config/, data/, log/, pid/, run/ (sockets for the doctor), broker/, front/, gateway-front/, mail/, and postgresql/ with COUNTERSIGN_STORE=postgresql.

readonly READY_SECONDS=150
readonly STOP_SECONDS=30
readonly ACCOUNTS_DATABASE=countersign_accounts
readonly WEBHOOKS_DATABASE=countersign_webhooks
# In the order of their start; each starts without the others too. On SQLite coordinator, accounts, webhook-worker and gateway
# run once, on PostgreSQL twice.
readonly STACK_PROCESSES=(
  simulator front coordinator coordinator-1 coordinator-2 sms-worker-1 sms-worker-2 push-worker revocation-worker relay mail-worker
  accounts accounts-1 accounts-2 webhook-worker webhook-worker-1 webhook-worker-2 gateway gateway-1 gateway-2 gateway-front)

# Sets directory, programs, ports and store of the stack.
#   stack_use DIRECTORY BINARIES PORT_BASE
stack_use() {
  STACK=$1 BIN=$2
  STORE=${COUNTERSIGN_STORE:-sqlite}
  [[ $STORE == sqlite || $STORE == postgresql ]] || die "COUNTERSIGN_STORE is $STORE" "set it to sqlite or postgresql"
  AMQP_PORT=$3
  MANAGEMENT_PORT=$((AMQP_PORT + 1))
  SIMULATOR_PORT=$((AMQP_PORT + 10))
  COORDINATOR_PORT=$((AMQP_PORT + 11))
  WORKER1_PORT=$((AMQP_PORT + 12))
  WORKER2_PORT=$((AMQP_PORT + 13))
  PUSH_WORKER_PORT=$((AMQP_PORT + 14))
  REVOCATION_WORKER_PORT=$((AMQP_PORT + 15))
  MAIL_WORKER_PORT=$((AMQP_PORT + 16))
  FRONT_PORT=$((AMQP_PORT + 17))
  SMTP_PORT=$((AMQP_PORT + 18))
  SMPP_PORT=$((AMQP_PORT + 19))
  RECEIPTS1_PORT=$((AMQP_PORT + 20))
  RECEIPTS2_PORT=$((AMQP_PORT + 21))
  POSTGRESQL_PORT=$((AMQP_PORT + 22))
  COORDINATOR2_PORT=$((AMQP_PORT + 23))
  ACCOUNTS_PORT=$((AMQP_PORT + 24))
  ACCOUNTS2_PORT=$((AMQP_PORT + 25))
  # For clients, and for health.
  GATEWAY_PORT=$((AMQP_PORT + 26))
  GATEWAY2_PORT=$((AMQP_PORT + 27))
  GATEWAY_HEALTH_PORT=$((AMQP_PORT + 28))
  GATEWAY2_HEALTH_PORT=$((AMQP_PORT + 29))
  GATEWAY_TLS_PORT=$((AMQP_PORT + 30))
  # Nothing of the stack listens there: an OpenID provider of a test does.
  PROVIDER_PORT=$((AMQP_PORT + 31))
  WEBHOOK_WORKER_PORT=$((AMQP_PORT + 32))
  WEBHOOK_WORKER2_PORT=$((AMQP_PORT + 33))
  SECRETS=$STACK/secrets
}

# --- configuration -----------------------------------------------------------------------------------------------------

# The names of this stack's processes, in the order of their start.
stack_processes() {
  local name
  for name in "${STACK_PROCESSES[@]}"; do
    case $STORE:$name in
      sqlite:coordinator-* | sqlite:accounts-* | sqlite:webhook-worker-* | sqlite:gateway-[12] | postgresql:coordinator | postgresql:accounts | \
        postgresql:webhook-worker | postgresql:gateway) ;;
      *) printf '%s\n' "$name" ;;
    esac
  done
}

# Writes the configuration files: those of deploy/dev, with the ports and the store filled in. Secrets are created once and kept.
stack_prepare() {
  mkdir -p "$STACK"/{config,data,log,pid,run}
  # Open for the user of a server below it, everything beside which is closed.
  if [[ $(stat -c %a "$STACK") != 711 ]]; then chmod 700 "$STACK"; fi
  ensure_secret "$SECRETS/code-pepper"
  ensure_secret "$SECRETS/twilio-auth-token"
  ensure_secret "$SECRETS/twilio-api-key"
  ensure_webhook_secret "$SECRETS/webhook-secret"
  ensure_secret "$SECRETS/vonage-secret"
  ensure_secret "$SECRETS/vonage-signature"
  ensure_secret "$SECRETS/messagebird-key"
  ensure_secret "$SECRETS/messagebird-signing-key"
  ensure_secret "$SECRETS/aws-secret-key"
  ensure_smpp_password "$SECRETS/smpp-password"
  ensure_sealing_keys "$SECRETS/sealing-keys.json" --id dev-1
  ensure_gateway_keys "$SECRETS/gateway-keys.json" "$SECRETS/sealing-keys.json"
  ensure_secret "$SECRETS/accounts-pepper"
  ensure_sealing_keys "$SECRETS/token-keys.json" --id dev-1
  ensure_sealing_keys "$SECRETS/accounts-sealing-keys.json" --id dev-1 --sealing
  "$BIN/countersign" keys public "$SECRETS/accounts-sealing-keys.json" >"$SECRETS/accounts-public-keys.json.new"
  mv "$SECRETS/accounts-public-keys.json.new" "$SECRETS/accounts-public-keys.json"
  ensure_sealing_keys "$SECRETS/webhook-keys.json" --id webhooks-1
  ensure_secret "$SECRETS/receipts-secret"
  ensure_secret "$SECRETS/recaptcha-api-key"
  ensure_secret "$SECRETS/recaptcha-secret"
  ensure_signing_key "$SECRETS/apns-key.p8"
  ensure_signing_key "$SECRETS/apple-key.p8"
  ensure_service_account "$SECRETS/google-service-account.json"
  ensure_secret "$SECRETS/facebook-app-secret"
  ensure_secret "$SECRETS/google-client-web"
  ensure_secret "$SECRETS/oidc-client-web"
  ensure_secret "$SECRETS/oidc-client-ios"
  ensure_provider_secrets "$SECRETS/provider-secrets.json"
  ensure_certificates "$SECRETS"
  mail_prepare "$SECRETS"
  front_prepare "$STACK/front" "$SECRETS" "$FRONT_PORT" "$SIMULATOR_PORT"
  local gateways=("$GATEWAY_PORT")
  if [[ $STORE == postgresql ]]; then gateways+=("$GATEWAY2_PORT"); fi
  gateway_front_prepare "$STACK/gateway-front" "$SECRETS" "$GATEWAY_TLS_PORT" "$STACK/log/gateway-front" raised "${gateways[@]}"
  ensure_secret "$SECRETS/postgresql-coordinator"
  ensure_secret "$SECRETS/postgresql-worker"
  ensure_secret "$SECRETS/postgresql-accounts"
  ensure_secret "$SECRETS/postgresql-webhooks"
  local file store=()
  for file in "$ROOT"/deploy/dev/*.json5; do
    [[ -e $file ]] || continue
    if [[ $STORE == postgresql ]]; then
      local role=coordinator
      if [[ $(basename "$file") == accounts.json5 ]]; then role=accounts; fi
      if [[ $(basename "$file") == webhook-worker.json5 ]]; then role=webhooks; fi
      store=(-e "s#database: { path: [^}]*}#database: $(stack_database "$role")#" -e "s#ledger: { type: \"sqlite\"[^}]*}#ledger: $(stack_database worker)#")
    fi
    sed -e "s/@AMQP_PORT@/$AMQP_PORT/g" -e "s/@MANAGEMENT_PORT@/$MANAGEMENT_PORT/g" \
      -e "s/@SIMULATOR_PORT@/$SIMULATOR_PORT/g" -e "s/@COORDINATOR_PORT@/$COORDINATOR_PORT/g" \
      -e "s/@WORKER1_PORT@/$WORKER1_PORT/g" -e "s/@WORKER2_PORT@/$WORKER2_PORT/g" \
      -e "s/@PUSH_WORKER_PORT@/$PUSH_WORKER_PORT/g" -e "s/@REVOCATION_WORKER_PORT@/$REVOCATION_WORKER_PORT/g" \
      -e "s/@MAIL_WORKER_PORT@/$MAIL_WORKER_PORT/g" -e "s/@SMTP_PORT@/$SMTP_PORT/g" \
      -e "s/@FRONT_PORT@/$FRONT_PORT/g" -e "s/@SMPP_PORT@/$SMPP_PORT/g" \
      -e "s/@RECEIPTS1_PORT@/$RECEIPTS1_PORT/g" -e "s/@ACCOUNTS_PORT@/$ACCOUNTS_PORT/g" \
      -e "s/@GATEWAY_PORT@/$GATEWAY_PORT/g" -e "s/@GATEWAY_HEALTH_PORT@/$GATEWAY_HEALTH_PORT/g" \
      -e "s/@GATEWAY_TLS_PORT@/$GATEWAY_TLS_PORT/g" -e "s/@PROVIDER_PORT@/$PROVIDER_PORT/g" -e "s/@WEBHOOK_WORKER_PORT@/$WEBHOOK_WORKER_PORT/g" -e "s#@ROOT@#$ROOT#g" "${store[@]}" "$file" >"$STACK/config/$(basename "$file")"
  done
  mkdir -p "$STACK/config/projects"
  for file in "$ROOT"/deploy/dev/projects/*.json5; do
    sed -e "s/@GATEWAY_PORT@/$GATEWAY_PORT/g" -e "s/@SIMULATOR_PORT@/$SIMULATOR_PORT/g" "$file" \
      >"$STACK/config/projects/.$(basename "$file")"
    mv "$STACK/config/projects/.$(basename "$file")" "$STACK/config/projects/$(basename "$file")"
  done
  stack_environment >"$STACK/stack.env.new"
  chmod 600 "$STACK/stack.env.new"
  mv "$STACK/stack.env.new" "$STACK/stack.env"
}

# The section of a configuration for one of the roles of the databases: accounts and webhook-worker have databases of their own.
stack_database() {
  local database=countersign
  if [[ $1 == accounts ]]; then database=$ACCOUNTS_DATABASE; fi
  if [[ $1 == webhooks ]]; then database=$WEBHOOKS_DATABASE; fi
  printf '{ type: "postgresql", url: "postgresql://countersign_%s@127.0.0.1:%s/%s", passwordFile: "../secrets/postgresql-%s" }' \
    "$1" "$POSTGRESQL_PORT" "$database" "$1"
}

# A secret of the Standard Webhooks form: whsec_ and base64 of 24 to 64 bytes.
ensure_webhook_secret() {
  if [[ -s $1 ]]; then return 0; fi
  (umask 077 && printf 'whsec_%s\n' "$(head -c 32 /dev/urandom | base64 | tr -d '\n')" >"$1.new" && mv "$1.new" "$1")
}

# A password of eight bytes, the limit of SMPP 3.4.
ensure_smpp_password() {
  if [[ -s $1 ]]; then return 0; fi
  (umask 077 && openssl rand -hex 4 >"$1.new" && mv "$1.new" "$1")
}

# The key of a service account, in the form that Google Cloud issues.
ensure_service_account() {
  if [[ -s $1 ]]; then return 0; fi
  local id
  id=$(openssl rand -hex 20)
  (umask 077 && openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 2>/dev/null |
    jq --raw-input --slurp --arg id "$id" '{
      type: "service_account", project_id: "example-project", private_key_id: $id, private_key: .,
      client_email: "push-worker@example-project.iam.gserviceaccount.com", client_id: "100000000000000000001",
      auth_uri: "https://accounts.google.com/o/oauth2/auth", token_uri: "https://oauth2.googleapis.com/token",
      universe_domain: "googleapis.com" }' >"$1.new") && mv "$1.new" "$1"
}

# The secrets of the project at providers, as accounts reads them.
#   ensure_provider_secrets FILE
ensure_provider_secrets() {
  (umask 077 && jq --null-input --rawfile apple "$SECRETS/apple-key.p8" --rawfile facebook "$SECRETS/facebook-app-secret" \
    --rawfile google "$SECRETS/google-client-web" --rawfile web "$SECRETS/oidc-client-web" \
    --rawfile ios "$SECRETS/oidc-client-ios" '{example: {
      "apple.com": $apple, "facebook.com": ($facebook | rtrimstr("\n")),
      "google.com": {"100000000001-web.apps.googleusercontent.com": ($google | rtrimstr("\n"))},
      "oidc.example": {"client-web": ($web | rtrimstr("\n")), "client-ios": ($ios | rtrimstr("\n"))} }}' >"$1.new") &&
    mv "$1.new" "$1"
}

#   ensure_sealing_keys FILE OPTION OF keys generate...
ensure_sealing_keys() {
  local file=$1
  shift
  if [[ -s $file ]]; then return 0; fi
  (umask 077 && "$BIN/countersign" keys generate "$@" >"$file.new" && mv "$file.new" "$file")
}

# A key of the gateway's own, which stands last in the keys of the others: they open with it, and seal nothing with it.
#   ensure_gateway_keys FILE KEYS_OF_THE_OTHERS
ensure_gateway_keys() {
  local own=$1 others=$2
  ensure_sealing_keys "$own" --id gateway-1
  if jq -e '.keys | any(.kid == "gateway-1")' "$others" >/dev/null; then return 0; fi
  (umask 077 && jq -s '{keys: map(.keys[])}' "$others" "$own" >"$others.new" && mv "$others.new" "$others")
}

# Forgets the addresses of a stack whose stack.env the caller's shell has sourced: processes would take them for settings.
stack_forget_environment() {
  local name
  while read -r name; do
    if [[ $name != COUNTERSIGN_STORE ]]; then unset "$name"; fi
  done < <(sed -n 's/^export \(COUNTERSIGN_[A-Z_]*\)=.*/\1/p' "$ROOT/deploy/lib/stack.sh")
}

# Addresses of the stack for other programs, in shell syntax.
stack_environment() {
  local sender service operator
  sender=$(cat "$SECRETS/broker-sender")
  service=$(cat "$SECRETS/broker-service")
  operator=$(cat "$SECRETS/broker-operator")
  cat <<ENV
# Written by deploy/up: source it to use the development stack. It holds passwords.
# The first for a service that also sends jobs, the second for one that sends commands only.
export COUNTERSIGN_AMQP_URL=amqp://sender:$sender@127.0.0.1:$AMQP_PORT
export COUNTERSIGN_SERVICE_AMQP_URL=amqp://service:$service@127.0.0.1:$AMQP_PORT
export COUNTERSIGN_OPERATOR_AMQP_URL=amqp://operator:$operator@127.0.0.1:$AMQP_PORT
export COUNTERSIGN_MANAGEMENT_URL=http://operator:$operator@127.0.0.1:$MANAGEMENT_PORT
export COUNTERSIGN_SIMULATOR_URL=http://127.0.0.1:$SIMULATOR_PORT
export COUNTERSIGN_STACK_PROVIDER_URL=http://127.0.0.1:$PROVIDER_PORT
export COUNTERSIGN_FRONT_URL=https://localhost:$FRONT_PORT
export COUNTERSIGN_CA_FILE=$SECRETS/ca.pem
export COUNTERSIGN_COORDINATOR_URL=http://127.0.0.1:$COORDINATOR_PORT
export COUNTERSIGN_SMS_WORKER_URLS=http://127.0.0.1:$WORKER1_PORT,http://127.0.0.1:$WORKER2_PORT
export COUNTERSIGN_STACK_RECEIPTS_URLS=http://127.0.0.1:$RECEIPTS1_PORT,http://127.0.0.1:$RECEIPTS2_PORT
export COUNTERSIGN_PUSH_WORKER_URLS=http://127.0.0.1:$PUSH_WORKER_PORT
export COUNTERSIGN_REVOCATION_WORKER_URLS=http://127.0.0.1:$REVOCATION_WORKER_PORT
export COUNTERSIGN_MAIL_WORKER_URLS=http://127.0.0.1:$MAIL_WORKER_PORT
export COUNTERSIGN_WEBHOOK_WORKER_URLS=$(stack_urls "$WEBHOOK_WORKER_PORT" "$WEBHOOK_WORKER2_PORT")
export COUNTERSIGN_ACCOUNTS_URLS=$(stack_urls "$ACCOUNTS_PORT" "$ACCOUNTS2_PORT")
export COUNTERSIGN_ACCOUNTS_KEYS_FILE=$SECRETS/accounts-public-keys.json
# The key file of a service account of the project, which may do everything: for firebase-admin.
export COUNTERSIGN_STACK_SERVICE_ACCOUNT=$STACK/service-account.json
# The first for apps and tests (development mode, plain HTTP); the second is nginx before it, as on the internet.
export COUNTERSIGN_GATEWAY_URL=http://127.0.0.1:$GATEWAY_PORT
export COUNTERSIGN_GATEWAY_TLS_URL=https://localhost:$GATEWAY_TLS_PORT
export COUNTERSIGN_GATEWAY_URLS=$(stack_urls "$GATEWAY_PORT" "$GATEWAY2_PORT")
export COUNTERSIGN_GATEWAY_HEALTH_URLS=$(stack_urls "$GATEWAY_HEALTH_PORT" "$GATEWAY2_HEALTH_PORT")
export COUNTERSIGN_MAILDIR=$STACK/mail
export COUNTERSIGN_CONFIG_DIR=$STACK/config
export COUNTERSIGN_BIN=$BIN
export PATH=$BIN:\$PATH
export COUNTERSIGN_STORE=$STORE
ENV
  [[ $STORE == postgresql ]] || return 0
  cat <<ENV
export COUNTERSIGN_COORDINATOR_URLS=http://127.0.0.1:$COORDINATOR_PORT,http://127.0.0.1:$COORDINATOR2_PORT
export COUNTERSIGN_STACK_DATABASE_URL=postgresql://postgres@127.0.0.1:$POSTGRESQL_PORT/countersign
export COUNTERSIGN_STACK_DATABASE_PASSWORD_FILE=$SECRETS/postgresql-postgres
ENV
}

# Addresses of a process that runs once on SQLite, and twice on PostgreSQL.
#   stack_urls PORT SECOND_PORT
stack_urls() {
  printf 'http://127.0.0.1:%s' "$1"
  if [[ $STORE == postgresql ]]; then printf ',http://127.0.0.1:%s' "$2"; fi
}

# --- database ----------------------------------------------------------------------------------------------------------

# Starts PostgreSQL, and makes roles, schema and tables, or brings them to the version of the programs.
stack_start_database() {
  [[ $STORE == postgresql ]] || return 0
  postgresql_start "$STACK/postgresql" "$POSTGRESQL_PORT" "$SECRETS"
  countersign store create --url "postgresql://postgres@127.0.0.1:$POSTGRESQL_PORT/countersign" \
    --password-file "$SECRETS/postgresql-postgres" --coordinator-password-file "$SECRETS/postgresql-coordinator" \
    --worker-password-file "$SECRETS/postgresql-worker" >"$STACK/log/store-create.log" 2>&1 || {
    show_tail "$STACK/log/store-create.log"
    die "the tables could not be made" "see $STACK/log/store-create.log"
  }
  countersign store create --for-accounts --url "postgresql://postgres@127.0.0.1:$POSTGRESQL_PORT/$ACCOUNTS_DATABASE" \
    --password-file "$SECRETS/postgresql-postgres" --accounts-password-file "$SECRETS/postgresql-accounts" \
    >"$STACK/log/store-create-accounts.log" 2>&1 || {
    show_tail "$STACK/log/store-create-accounts.log"
    die "the tables of accounts could not be made" "see $STACK/log/store-create-accounts.log"
  }
  # The same tables, for another user in another database.
  countersign store create --for-accounts --url "postgresql://postgres@127.0.0.1:$POSTGRESQL_PORT/$WEBHOOKS_DATABASE" \
    --password-file "$SECRETS/postgresql-postgres" --accounts countersign_webhooks \
    --accounts-password-file "$SECRETS/postgresql-webhooks" >"$STACK/log/store-create-webhooks.log" 2>&1 || {
    show_tail "$STACK/log/store-create-webhooks.log"
    die "the tables of the webhook-worker could not be made" "see $STACK/log/store-create-webhooks.log"
  }
}

# --- processes ---------------------------------------------------------------------------------------------------------

# Starts a process unless it runs, is ready, and has the current version; waits until it is ready.
#   stack_start NAME PORT COMMAND...
stack_start() {
  local name=$1 port=$2 pidfile=$STACK/pid/$1.pid log=$STACK/log/$1.log version pid status=0 begun=$SECONDS
  shift 2
  version=$(stack_version "$@")
  if pid=$(live_pid "$pidfile"); then
    if [[ $(cat "$STACK/pid/$name.version" 2>/dev/null) == "$version" ]] && is_ready "$name" "$port"; then
      note "$name runs already, on port $port"
      return 0
    fi
    note "$name is not ready, or its program or a configuration has changed: starting it again"
    stop_process "$name" "$pidfile" "$STOP_SECONDS"
  fi
  require_free_port "$port"
  start_process "$pidfile" "$log" env COUNTERSIGN_HTTP_PORT="$port" "$@" || stack_failed "$name" "$log" 2
  printf '%s\n' "$version" >"$STACK/pid/$name.version"
  wait_until "$READY_SECONDS" "$(live_pid "$pidfile" || echo 0)" is_ready "$name" "$port" || status=$?
  ((status == 0)) || stack_failed "$name" "$log" "$status" "$port"
  note "$name is ready on port $port after $((SECONDS - begun)) s"
}

stack_failed() {
  show_tail "$2" 20
  if (($3 == 2)); then
    die "$1 ended at once" "the last line above has the reason; the whole log: $2"
  fi
  curl --silent --noproxy '*' --max-time 5 "http://127.0.0.1:$4/readyz" >&2 || true
  die "$1 was not ready within $READY_SECONDS s" "its log: $2"
}

#   is_ready NAME PORT
is_ready() {
  if [[ $1 == relay ]]; then
    mail_is_ready "$2"
    return
  fi
  # Behind it the gateway has a readiness of its own.
  if [[ $1 == gateway-front ]]; then
    port_open "$2"
    return
  fi
  local url=http://127.0.0.1:$2/readyz trust=()
  if [[ $1 == front ]]; then
    url=https://localhost:$2/readyz
    trust=(--cacert "$SECRETS/ca.pem")
  fi
  curl --silent --fail --output /dev/null --noproxy '*' --max-time 2 "${trust[@]}" "$url"
}

# Changes with the binary, its arguments, the configuration and the certificates.
stack_version() {
  { stat -c '%i %Y' "$1" && printf '%s\n' "$@" && cat "$STACK"/config/*.json5 "$STACK"/config/projects/*.json5 "$STACK/front/nginx.conf" "$STACK/gateway-front/gateway.conf" "$SECRETS/front-cert.pem"; } |
    sha256sum
}

# Starts one of the processes, by the name that its pid file and its log have.
stack_start_by_name() {
  case $1 in
    simulator) stack_start simulator "$SIMULATOR_PORT" "$BIN/simulator" --config "$STACK/config/simulator.json5" ;;
    front) stack_start front "$FRONT_PORT" "$(nginx_binary)" -e stderr -p "$STACK/front" -c "$STACK/front/nginx.conf" ;;
    coordinator | coordinator-1) stack_start "$1" "$COORDINATOR_PORT" "$BIN/coordinator" --config "$STACK/config/coordinator.json5" ;;
    coordinator-2) stack_start "$1" "$COORDINATOR2_PORT" "$BIN/coordinator" --config "$STACK/config/coordinator.json5" ;;
    sms-worker-1) stack_start sms-worker-1 "$WORKER1_PORT" "$BIN/sms-worker" --config "$STACK/config/sms-worker.json5" ;;
    # One of the two takes what can wait, too.
    sms-worker-2)
      COUNTERSIGN_BULK_SHARE=0.1 COUNTERSIGN_RECEIPTS_PORT=$RECEIPTS2_PORT stack_start sms-worker-2 "$WORKER2_PORT" \
        "$BIN/sms-worker" --config "$STACK/config/sms-worker.json5"
      ;;
    push-worker) stack_start push-worker "$PUSH_WORKER_PORT" "$BIN/push-worker" --config "$STACK/config/push-worker.json5" ;;
    revocation-worker)
      stack_start revocation-worker "$REVOCATION_WORKER_PORT" "$BIN/revocation-worker" \
        --config "$STACK/config/revocation-worker.json5"
      ;;
    relay)
      mail_python
      stack_start relay "$SMTP_PORT" "$MAIL_PYTHON" "$ROOT/deploy/dev/relay.py" --port "$SMTP_PORT" \
        --maildir "$STACK/mail" --keys "$SECRETS/dkim-records.json" --registered "$MAIL_DOMAIN" \
        --certificate "$SECRETS/front-cert.pem" --certificate-key "$SECRETS/front-key.pem" \
        --user countersign --password-file "$SECRETS/relay-password" \
        --simulator "http://127.0.0.1:$SIMULATOR_PORT"
      ;;
    mail-worker)
      stack_start mail-worker "$MAIL_WORKER_PORT" "$BIN/mail-worker" --config "$STACK/config/mail-worker.json5"
      ;;
    accounts | accounts-1) stack_start "$1" "$ACCOUNTS_PORT" "$BIN/accounts" --config "$STACK/config/accounts.json5" ;;
    accounts-2) stack_start "$1" "$ACCOUNTS2_PORT" "$BIN/accounts" --config "$STACK/config/accounts.json5" ;;
    webhook-worker | webhook-worker-1)
      stack_start "$1" "$WEBHOOK_WORKER_PORT" "$BIN/webhook-worker" --config "$STACK/config/webhook-worker.json5"
      ;;
    webhook-worker-2)
      stack_start "$1" "$WEBHOOK_WORKER2_PORT" "$BIN/webhook-worker" --config "$STACK/config/webhook-worker.json5"
      ;;
    gateway | gateway-1) stack_start "$1" "$GATEWAY_HEALTH_PORT" "$BIN/gateway" --config "$STACK/config/gateway.json5" ;;
    gateway-2)
      COUNTERSIGN_LISTEN_PORT=$GATEWAY2_PORT stack_start "$1" "$GATEWAY2_HEALTH_PORT" "$BIN/gateway" \
        --config "$STACK/config/gateway.json5"
      ;;
    gateway-front)
      stack_start gateway-front "$GATEWAY_TLS_PORT" "$(nginx_binary)" -e stderr -p "$STACK/gateway-front" \
        -c "$STACK/gateway-front/nginx.conf"
      ;;
    *) die "no process of the stack is called $1" ;;
  esac
}

stack_start_all() {
  local name
  stack_start_database
  for name in $(stack_processes); do stack_start_by_name "$name"; done
  stack_service_account
}

# A service account that may do everything, whose key file Google's libraries read. It is made anew if the database does not have it.
stack_service_account() {
  local file=$STACK/service-account.json name=development project=example
  local options=(--project "$project" --key-file "$file" --token-uri "http://127.0.0.1:$GATEWAY_PORT/oauth2.googleapis.com/token")
  local roles=users.read,users.write,users.export,tokens,config,verifications known
  known=$(countersign service-account list --project "$project" --json) ||
    die "accounts does not tell its service accounts" "its log: $STACK/log/accounts*.log"
  if [[ -s $file ]] && jq -e --arg id "$(jq -r .private_key_id "$file")" 'any(.accounts[]; .keyIDs | index($id))' <<<"$known" >/dev/null; then
    return 0
  fi
  rm -f "$file"
  if jq -e --arg name "$name@" 'any(.accounts[]; .email | startswith($name))' <<<"$known" >/dev/null; then
    countersign service-account key add "$name" "${options[@]}" >/dev/null || die "no key was added to the service account $name"
  else
    countersign service-account add "$name" --roles "$roles" "${options[@]}" >/dev/null || die "no service account was made"
  fi
  note "the service account $name has the key file $file"
}

# Stops them in the reverse order; all are asked at once, so that none waits for another.
stack_stop_all() {
  local name names=() pid begun=$SECONDS
  local -A asked=()
  for name in "${STACK_PROCESSES[@]}"; do names=("$name" "${names[@]}"); done
  for name in "${names[@]}"; do
    if pid=$(live_pid "$STACK/pid/$name.pid") && kill -TERM "$pid" 2>/dev/null; then asked[$name]=$pid; fi
  done
  for name in "${names[@]}"; do
    # A second signal would end it at once, with work in progress.
    if [[ -n ${asked[$name]:-} ]]; then
      await_stop "$name" "$STACK/pid/$name.pid" "$STOP_SECONDS" "${asked[$name]}" "$begun"
    fi
    rm -f "$STACK/pid/$name.pid" "$STACK/pid/$name.version"
  done
  # Its clients write to the end.
  postgresql_stop "$STACK/postgresql"
}

# The command line, with the addresses of this stack.
countersign() {
  # shellcheck disable=SC1091
  (source "$STACK/stack.env" && "$BIN/countersign" "$@")
}
