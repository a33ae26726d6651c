# shellcheck shell=bash
# The front of the simulated providers: nginx with the TLS and HTTP/2 of Apple and Google, before the simulator, which
# speaks HTTP/1.1. Unprivileged, in the foreground, with all its files in the stack's directory. Sourced after common.sh.
#
# Faults of the simulator on the other side of nginx: a status and its header fields are unchanged, as is latency; a reset, an
# orderly close and a missing simulator become a stream that is reset without an answer (over HTTP/1.1, a closed connection); a
# request that hangs is held as long as the client waits.

# One certificate for all of them; whatever.localhost is this machine (RFC 6761), for libcurl too.
readonly FRONT_NAMES=(
  localhost api.push.localhost api.sandbox.push.localhost appleid.localhost recaptcha.localhost smtp.localhost
  auth.localhost identitytoolkit.auth.localhost securetoken.auth.localhost www.auth.localhost oauth2.auth.localhost
)
# A certificate that expires sooner is replaced.
readonly FRONT_RENEW_SECONDS=$((14 * 24 * 3600))

# Creates ca.pem, front-cert.pem and front-key.pem, unless they exist and stay valid for some time. Trusting the authority is no
# risk: its key is discarded, and it is limited to this machine.
#   ensure_certificates DIRECTORY
ensure_certificates() {
  local directory=$1 work
  if openssl verify -CAfile "$directory/ca.pem" "$directory/front-cert.pem" >/dev/null 2>&1 &&
    openssl x509 -checkend "$FRONT_RENEW_SECONDS" -noout -in "$directory/front-cert.pem" >/dev/null 2>&1 &&
    openssl x509 -checkhost "${FRONT_NAMES[-1]}" -noout -in "$directory/front-cert.pem" 2>/dev/null | grep -qv 'NOT match' &&
    [[ -s $directory/front-key.pem ]]; then
    return 0
  fi
  mkdir -p "$directory"
  work=$(mktemp -d "$directory/certificates.XXXXXX")
  if ! (umask 077 && make_certificates "$work") >"$work/log" 2>&1; then
    show_tail "$work/log"
    rm -rf "$work"
    die "the certificates could not be created" "openssl version: $(openssl version 2>&1)"
  fi
  mv "$work"/{ca,front-cert,front-key}.pem "$directory/"
  rm -rf "$work"
}

make_certificates() {
  local names
  names=$(printf 'DNS:%s,' "${FRONT_NAMES[@]}")IP:127.0.0.1
  cd "$1" || return 1
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 800 -keyout ca-key.pem -out ca.pem \
    -subj '/CN=Countersign development CA' \
    -addext keyUsage=critical,keyCertSign,cRLSign \
    -addext 'nameConstraints=critical,permitted;DNS:localhost,permitted;IP:127.0.0.1/255.255.255.255' &&
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout front-key.pem -out front.csr \
      -subj '/CN=localhost' -addext "subjectAltName=$names" -addext extendedKeyUsage=serverAuth &&
    openssl x509 -req -in front.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -sha256 -days 800 \
      -copy_extensions copy -out front-cert.pem
}

# A key for ES256, in the form that Apple issues (.p8: PKCS #8 in PEM).
#   ensure_signing_key FILE
ensure_signing_key() {
  if [[ -s $1 ]]; then return 0; fi
  mkdir -p "$(dirname "$1")"
  (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.new" 2>/dev/null) &&
    mv "$1.new" "$1"
}

nginx_binary() {
  # Debian installs it in a directory of root's PATH only.
  command -v nginx || { [[ -x /usr/sbin/nginx ]] && printf '/usr/sbin/nginx\n'; } ||
    die "nginx is not installed" "apt-get install nginx-light"
}

# Writes the configuration of nginx.
#   front_prepare DIRECTORY SECRETS PORT SIMULATOR_PORT
front_prepare() {
  mkdir -p "$1"
  front_configuration "$@" >"$1/nginx.conf"
}

front_configuration() {
  local directory=$1 secrets=$2 port=$3 simulator=$4
  cat <<CONF
# Written by deploy/; changes are lost.
daemon off;
worker_processes 1;
pid $directory/nginx.pid;
# Errors of lower levels would name device tokens.
error_log stderr crit;
$(if ((EUID == 0)); then printf 'user root;'; fi)
events { worker_connections 8192; }
http {
  access_log off;
  server_tokens off;
  client_body_temp_path $directory/body;
  proxy_temp_path $directory/proxy;
  fastcgi_temp_path $directory/fastcgi;
  uwsgi_temp_path $directory/uwsgi;
  scgi_temp_path $directory/scgi;
  upstream simulator {
    server 127.0.0.1:$simulator;
    keepalive 256;
    keepalive_requests 10000000;
    # Below the 60 s after which the simulator closes an idle connection.
    keepalive_timeout 30s;
  }
  server {
    listen 127.0.0.1:$port ssl http2;
    ssl_certificate $secrets/front-cert.pem;
    ssl_certificate_key $secrets/front-key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    # As APNs grants them.
    http2_max_concurrent_streams 1000;
    # Then a GOAWAY, which every server sends now and then.
    keepalive_requests 10000;
    keepalive_timeout 300s;
    client_max_body_size 64k;
    client_body_buffer_size 64k;
    location / {
      proxy_pass http://simulator;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host \$http_host;
      proxy_set_header X-Front-Connection \$pid-\$connection;
      # A request is never sent twice, and never given up before its client gives up.
      proxy_next_upstream off;
      proxy_read_timeout 1h;
      error_page 502 504 @no_answer;
    }
    # Providers have no such page.
    location /control { return 404; }
    location @no_answer { return 444; }
  }
}
CONF
}

# Writes the configuration of an nginx before gateways: the file that ships, with ports and certificate of the stack in its lines marked
# 'yours', and with its own limits for one client or those of load tests.
#   gateway_front_prepare DIRECTORY SECRETS PORT LOG shipped|raised GATEWAY_PORT...
gateway_front_prepare() {
  local directory=$1 secrets=$2 port=$3 log=$4 limits=$5 servers='' gateway raised=()
  shift 5
  mkdir -p "$directory"
  for gateway in "$@"; do servers+="${servers:+\\n}  server 127.0.0.1:$gateway\\1"; done
  if [[ $limits == raised ]]; then
    raised=(-e "s#rate=[0-9]+r/s#rate=5000r/s#" -e "s#^(  limit_conn countersign_connections ).*#\\15000;#" -e "s#burst=[0-9]+#burst=10000#")
  fi
  # Addresses of IPv6 are left out, as everywhere in the stack.
  sed -E -e "/listen \[::\]/d" -e "s#^(  listen ).*#\\1127.0.0.1:$port ssl http2;#" \
    -e "s#^(  server_name ).*#\\1${FRONT_NAMES[*]};#" -e "s#^  server [^ ;]*([^;]*;).*#$servers#" \
    -e "s#^(  ssl_certificate ).*#\\1$secrets/front-cert.pem;#" -e "s#^(  ssl_certificate_key ).*#\\1$secrets/front-key.pem;#" \
    -e "s#^(  access_log )[^ ]* ([^;]*;).*#\\1$log.refusals.log \\2#" -e "s#^(  error_log ).*#\\1stderr crit;#" \
    "${raised[@]}" -e "s# \# yours.*##" "$ROOT/deploy/nginx/gateway.conf" >"$directory/gateway.conf.new"
  if grep -n -e yours -e auth.example.com "$directory/gateway.conf.new" | grep -v ':#' >&2; then
    die "lines of deploy/nginx/gateway.conf are not filled in" "see gateway_front_prepare in deploy/lib/front.sh"
  fi
  mv "$directory/gateway.conf.new" "$directory/gateway.conf"
  cat >"$directory/nginx.conf" <<CONF
# Written by deploy/; changes are lost.
daemon off;
worker_processes 1;
pid $directory/nginx.pid;
error_log stderr crit;
$(if ((EUID == 0)); then printf 'user root;'; fi)
events { worker_connections 8192; }
http {
  client_body_temp_path $directory/body;
  proxy_temp_path $directory/proxy;
  fastcgi_temp_path $directory/fastcgi;
  uwsgi_temp_path $directory/uwsgi;
  scgi_temp_path $directory/scgi;
  include $directory/gateway.conf;
}
CONF
}
