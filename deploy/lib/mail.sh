# shellcheck shell=bash disable=SC2034
# The mail server of the development stack (deploy/dev/relay.py), and the keys that sign mail. Sourced after common.sh
# and packages.sh.

readonly MAIL_DOMAIN=example.com

# Creates keys, a file with their public parts that replaces DNS, and the mail server's account. Safe to repeat: existing files
# are kept.
#   mail_prepare SECRETS_DIRECTORY
mail_prepare() {
  ensure_secret "$1/relay-password"
  ensure_dkim_key "$1/dkim-rsa.pem" -algorithm RSA -pkeyopt rsa_keygen_bits:2048
  ensure_dkim_key "$1/dkim-ed25519.pem" -algorithm ed25519
  printf '{\n  "rsa._domainkey.%s": "v=DKIM1; k=rsa; p=%s",\n  "ed25519._domainkey.%s": "v=DKIM1; k=ed25519; p=%s"\n}\n' \
    "$MAIL_DOMAIN" "$(public_key "$1/dkim-rsa.pem" | base64 -w 0)" \
    "$MAIL_DOMAIN" "$(public_key "$1/dkim-ed25519.pem" | tail -c 32 | base64 -w 0)" >"$1/dkim-records.json.new"
  mv "$1/dkim-records.json.new" "$1/dkim-records.json"
}

ensure_dkim_key() {
  if [[ -s $1 ]]; then return 0; fi
  (umask 077 && openssl genpkey "${@:2}" -out "$1.new" 2>/dev/null)
  mv "$1.new" "$1"
}

public_key() { openssl pkey -in "$1" -pubout -outform DER; }

# Sets MAIL_PYTHON, a Python with aiosmtpd and dkimpy: in its own environment from the package index, else from Debian.
mail_python() {
  MAIL_PYTHON=$RUN/mail-python/bin/python
  if mail_python_works; then return 0; fi
  mkdir -p "$RUN/log"
  if run_step "Making a Python environment with aiosmtpd and dkimpy" "$RUN/log/mail-python.log" \
    "trying Debian's own packages of them" mail_make_python && mail_python_works; then
    return 0
  fi
  ensure_packages python3-aiosmtpd python3-dkim python3-nacl
  MAIL_PYTHON=/usr/bin/python3
  mail_python_works || die "the development mail server needs aiosmtpd and dkimpy" "see $RUN/log/mail-python.log"
}

mail_python_works() { "$MAIL_PYTHON" -c 'import aiosmtpd.smtp, dkim, nacl' 2>/dev/null; }

mail_make_python() {
  rm -rf "$RUN/mail-python"
  # Debian's own Python, which python3-venv belongs to; another one on PATH may lack the module.
  /usr/bin/python3 -m venv "$RUN/mail-python" &&
    try_thrice "$RUN/mail-python/bin/pip" install --disable-pip-version-check --quiet --retries 5 --timeout 30 \
      'aiosmtpd==1.4.6' 'dkimpy==1.1.8' 'PyNaCl==1.6.2'
}

# Whether the mail server greets.
#   mail_is_ready PORT
mail_is_ready() {
  local greeting
  exec 8<>"/dev/tcp/127.0.0.1/$1" || return 1
  read -r -t 2 greeting <&8 || greeting=''
  printf 'QUIT\r\n' >&8
  exec 8>&-
  [[ $greeting == 220* ]]
} 2>/dev/null
