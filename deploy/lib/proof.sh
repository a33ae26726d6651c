# shellcheck shell=bash
# Proves that a stack works, and shows every step: with the command line, verifies an app by push and two numbers by SMS through two
# providers, and revokes a token of Sign in with Apple; with curl, leads a user from Sign in with Apple over a number and a second factor to
# the deletion. Sourced after stack.sh.

# App to verify by push.
readonly PROOF_APP=com.example.push
readonly PROOF_SECONDS=30
# The coordinator and the mail-worker answer before it ends.
readonly PROOF_ERASURE_SECONDS=120
# Area codes with 100 numbers each that are reserved for fiction: 555-0100 to 555-0199.
readonly PROOF_AREAS=(212 415 617 312 206 303 404 702)
readonly PROOF_DRAWS=50
PROOF_NUMBER=''

stack_prove() {
  proof_app
  # Numbers reserved for fiction by their numbering plans, but not fictional in the configuration, so that they get an SMS.
  proof_number proof_american twilio pt-BR --app "$PROOF_APP" --receipt "$PROOF_RECEIPT" --secret "$PROOF_SECRET"
  # deploy/dev/sms-worker.json5 uses another lane for British mobile numbers.
  proof_number proof_british vonage en --app com.example.app
  proof_revocation
  proof_account
}

# A page of the simulator's control API.
#   proof_control PATH [CURL OPTIONS...]
proof_control() {
  local path=$1
  shift
  curl --silent --show-error --fail --noproxy '*' --max-time 5 "$@" "http://127.0.0.1:$SIMULATOR_PORT/control/$path"
}

# Sets PROOF_RECEIPT and PROOF_SECRET, which the app has once its push has arrived.
proof_app() {
  PROOF_DEVICE=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
  PROOF_PUSH=''
  # Apple knows the tokens that it issued, each for one app.
  proof_control devices --json "{\"deviceToken\":\"$PROOF_DEVICE\",\"topic\":\"$PROOF_APP\"}" >/dev/null
  note "countersign app verify --app $PROOF_APP ${PROOF_DEVICE:0:8}…"
  local verifying
  verifying=$(countersign app verify --app "$PROOF_APP" "$PROOF_DEVICE" --json) ||
    die "the app was not verified" "countersign doctor shows the cause"
  PROOF_RECEIPT=$(jq -r .receipt <<<"$verifying")
  note "  receipt $PROOF_RECEIPT; without a push the app would turn to reCAPTCHA after $(jq -r .suggestedTimeout <<<"$verifying") s"
  wait_until "$PROOF_SECONDS" - proof_push_arrived ||
    die "no push reached the device within $PROOF_SECONDS s" "countersign operation status $PROOF_RECEIPT; logs in $STACK/log"
  note "the device received, over TLS and HTTP/2:"
  jq -r '"      | \(.headers.host)  topic \(.headers["apns-topic"])  \(.headers["apns-push-type"]), priority \(.headers["apns-priority"])",
    "      | \(.payload | tojson)"' <<<"$PROOF_PUSH"
  # An object, or a text with its JSON, as the app's SDK reads it.
  PROOF_SECRET=$(jq -r --arg receipt "$PROOF_RECEIPT" '.payload["com.google.firebase.auth"]
    | if type == "string" then fromjson else . end | select(.receipt == $receipt) | .secret' <<<"$PROOF_PUSH")
  [[ -n $PROOF_SECRET ]] || die "the push does not belong to the receipt"
}

# The newest push to the device; kept in PROOF_PUSH.
proof_push_arrived() {
  PROOF_PUSH=$(proof_control "pushes?deviceToken=$PROOF_DEVICE" | jq -c 'last // empty') && [[ -n $PROOF_PUSH ]]
}

# Verifies a number, from the start to the delivery report of the SMS.
#   proof_number DRAW LANE LANGUAGE OPTIONS OF verify start...
proof_number() {
  local lane=$2 language=$3 started id code
  proof_fresh_number "$1"
  shift 3
  note "countersign verify start $PROOF_NUMBER --language $language $(proof_shortened "$@")"
  started=$(countersign verify start "$PROOF_NUMBER" --language "$language" "$@" --json) ||
    die "the verification was not started" "countersign doctor shows the cause"
  id=$(jq -r .verificationID <<<"$started")
  note "  verification $id, expires $(jq -r .expiresAt <<<"$started")"
  wait_until "$PROOF_SECONDS" - proof_sms_arrived ||
    die "no SMS reached the simulator within $PROOF_SECONDS s" "countersign verify status $id; logs in $STACK/log"
  note "the simulator received, as $(jq -r .provider <<<"$PROOF_SMS"):"
  jq -r .body <<<"$PROOF_SMS" | sed 's/^/      | /'
  [[ $(jq -r .provider <<<"$PROOF_SMS") == "$lane" ]] || die "the SMS was not sent by the lane $lane"
  code=$(jq -r .body <<<"$PROOF_SMS" | grep -oE '(^|[^0-9])[0-9]{6}([^0-9]|$)' | tr -cd '0-9\n' | head -n 1)
  [[ -n $code ]] || die "no code was found in the SMS"
  note "countersign verify check $id $code"
  countersign verify check "$id" "$code" | sed 's/^/      /'
  wait_until "$PROOF_SECONDS" - proof_delivered "$id" "$lane" ||
    die "the delivery report did not reach the timeline" "countersign verify status $id; logs in $STACK/log"
  note "countersign verify status $id"
  countersign verify status "$id" | sed 's/^/      /'
  [[ $(countersign verify status "$id" --json | jq -r .state) == approved ]] || die "the verification was not approved"
}

# Options for display, without long or secret values.
proof_shortened() {
  local option previous='' shown=''
  for option in "$@"; do
    if [[ $previous == --receipt || $previous == --secret ]]; then option=…; fi
    shown+="$option "
    previous=$option
  done
  printf '%s\n' "${shown% }"
}

# The newest SMS to the number; kept in PROOF_SMS.
proof_sms_arrived() {
  PROOF_SMS=$(proof_control sms --get --data-urlencode "to=$PROOF_NUMBER" | jq -c 'last // empty') && [[ -n $PROOF_SMS ]]
}

#   proof_delivered VERIFICATION LANE
proof_delivered() {
  countersign verify status "$1" --json | jq -e --arg lane "$2" '.timeline | any(.event == "sms.accepted" and .lane == $lane)
    and any(.event == "sms.delivered")' >/dev/null
}

proof_revocation() {
  local app=com.example.app code address
  address=proof-$RANDOM$RANDOM@privaterelay.appleid.com
  code=$(proof_control apple/codes --json "{\"clientID\":\"$app\"}" | jq -r .code)
  note "countersign revoke --app $app --code ${code:0:8}… --notify $address --language fr"
  countersign revoke --app "$app" --code "$code" --notify "$address" --language fr --timeout 60s | sed 's/^/      /' ||
    die "the token was not revoked" "logs in $STACK/log"
  note "Sign in with Apple has revoked:"
  proof_control revocations --get --data-urlencode "code=$code" |
    jq -r '.[] | "      | the \(.tokenTypeHint) of \(.clientID), at \(.receivedAt)"'
  [[ $(proof_control revocations --get --data-urlencode "code=$code" | jq length) == 1 ]] ||
    die "Sign in with Apple has not revoked the token once"
  PROOF_ADDRESS=$address
  wait_until 30 - proof_mail_arrived || die "no notice reached the mail server within 30 s" "logs in $STACK/log"
  note "the mail server accepted, signed for $MAIL_DOMAIN: ${PROOF_MAIL#"$STACK"/}"
}

# The mail to the address; its file is kept in PROOF_MAIL.
proof_mail_arrived() {
  PROOF_MAIL=$(grep -lsF "Delivered-To: $PROOF_ADDRESS" "$STACK"/mail/new/* | head -n 1) && [[ -n $PROOF_MAIL ]]
}

# A call of the gateway, by an app of the project of deploy/dev/projects/example.json5. Prints the answer; fails on an error.
#   proof_call PATH JSON
proof_call() {
  local answer
  answer=$(proof_ask "$1" "$2") || die "the gateway did not answer $1" "its log: $STACK/log/gateway*.log"
  if jq -e .error >/dev/null <<<"$answer"; then
    die "the gateway refused $1: $(jq -r .error.message <<<"$answer")" "logs in $STACK/log"
  fi
  printf '%s\n' "$answer"
}

# The same, whatever the answer.
proof_ask() {
  curl --silent --show-error --noproxy '*' --max-time 30 --json "$2" -H 'X-Ios-Bundle-Identifier: com.example.app' \
    "http://127.0.0.1:$GATEWAY_PORT/identitytoolkit.googleapis.com/$1?key=fake-api-key"
}

# One user from the first sign-in to the deletion, as an app leads through it: Sign in with Apple, a number, a second factor, a sign-in
# that needs both, and the end of all of it, at Apple too.
proof_account() {
  local app=com.example.app subject
  subject=001999.$(openssl rand -hex 16).0000
  proof_apple_account "$app" "$subject"
  proof_number_linked
  proof_second_factor "$app" "$subject"
  proof_deletion "$app" "$subject"
}

# Sets PROOF_TOKEN and PROOF_ACCOUNT.
proof_apple_account() {
  local answer
  note "POST accounts:signInWithIdp  apple.com, as $1"
  answer=$(proof_apple_sign_in "$1" "$2" '{}')
  jq -r '"      | account \(.localId), \(if .isNewUser then "new" else "known" end), tokens for \(.expiresIn) s"' <<<"$answer"
  PROOF_TOKEN=$(jq -r .idToken <<<"$answer")
  PROOF_ACCOUNT=$(jq -r .localId <<<"$answer")
}

proof_american() { echo "+1${PROOF_AREAS[RANDOM % ${#PROOF_AREAS[@]}]}555$(printf '01%02d' $((RANDOM % 100)))"; }
proof_british() { printf '+447700900%03d\n' $((RANDOM % 1000)); }

# Sets PROOF_NUMBER to another one, to which no SMS has gone: a run that was cut off leaves its number to an account.
#   proof_fresh_number [DRAW]
proof_fresh_number() {
  local former=$PROOF_NUMBER draw sent
  PROOF_SMS=''
  for ((draw = 0; draw < PROOF_DRAWS; draw++)); do
    PROOF_NUMBER=$("${1:-proof_american}")
    if [[ $PROOF_NUMBER == "$former" ]]; then continue; fi
    sent=$(proof_control sms --get --data-urlencode "to=$PROOF_NUMBER" | jq length) || die "the simulator does not tell its SMS"
    if [[ $sent == 0 ]]; then return 0; fi
  done
  die "no number was found that the simulator has sent no SMS to" "deploy/down ends the simulator, which forgets them"
}

# Links a number, and looks the account up.
proof_number_linked() {
  local session answer account
  proof_fresh_number
  note "POST accounts:sendVerificationCode  $PROOF_NUMBER"
  session=$(proof_call v1/accounts:sendVerificationCode "{\"phoneNumber\":\"$PROOF_NUMBER\"}" | jq -r .sessionInfo)
  proof_code
  note "POST accounts:signInWithPhoneNumber  session ${session:0:8}…, code $PROOF_CODE, with the ID token: links"
  answer=$(proof_call v1/accounts:signInWithPhoneNumber \
    "{\"sessionInfo\":\"$session\",\"code\":\"$PROOF_CODE\",\"idToken\":\"$PROOF_TOKEN\"}")
  [[ $(jq -r .localId <<<"$answer") == "$PROOF_ACCOUNT" ]] || die "the number is not the account's of Apple's user" "logs in $STACK/log"
  PROOF_TOKEN=$(jq -r .idToken <<<"$answer")
  note "POST accounts:lookup"
  account=$(proof_call v1/accounts:lookup "{\"idToken\":\"$PROOF_TOKEN\"}")
  jq -r '.users[0] | "      | \(.localId)  \([.providerUserInfo[] | "\(.providerId) \(.rawId // .phoneNumber)"] | join(", "))"' <<<"$account"
  [[ $(jq -r '.users[0].phoneNumber' <<<"$account") == "$PROOF_NUMBER" ]] || die "the account does not have the number" "logs in $STACK/log"
  PROOF_LINKED=$PROOF_NUMBER
  proof_holder >/dev/null || die "no account is found at $PROOF_LINKED" "logs in $STACK/log"
}

# Waits for the SMS to PROOF_NUMBER, and sets PROOF_CODE.
proof_code() {
  wait_until "$PROOF_SECONDS" - proof_sms_arrived || die "no SMS reached the simulator within $PROOF_SECONDS s" "logs in $STACK/log"
  PROOF_CODE=$(jq -r .body <<<"$PROOF_SMS" | grep -oE '(^|[^0-9])[0-9]{6}([^0-9]|$)' | tr -cd '0-9\n' | head -n 1)
}

# Enrols another number as the second factor, and signs in with Apple and with its code.
#   proof_second_factor APP SUBJECT
proof_second_factor() {
  local session answer pending factor claims
  proof_fresh_number
  note "POST accounts/mfaEnrollment:start  $PROOF_NUMBER"
  session=$(proof_call v2/accounts/mfaEnrollment:start \
    "{\"idToken\":\"$PROOF_TOKEN\",\"phoneEnrollmentInfo\":{\"phoneNumber\":\"$PROOF_NUMBER\"}}" | jq -r .phoneSessionInfo.sessionInfo)
  proof_code
  note "POST accounts/mfaEnrollment:finalize  session ${session:0:8}…, code $PROOF_CODE"
  proof_call v2/accounts/mfaEnrollment:finalize "{\"idToken\":\"$PROOF_TOKEN\",\"displayName\":\"Phone\",
    \"phoneVerificationInfo\":{\"sessionInfo\":\"$session\",\"code\":\"$PROOF_CODE\"}}" >/dev/null
  note "POST accounts:signInWithIdp  apple.com: the second factor is asked for"
  answer=$(proof_apple_sign_in "$1" "$2" '{"autoCreate":false}')
  [[ $(jq -r .idToken <<<"$answer") == null ]] || die "tokens were given without the second factor" "logs in $STACK/log"
  pending=$(jq -r .mfaPendingCredential <<<"$answer")
  factor=$(jq -r '.mfaInfo[0].mfaEnrollmentId // empty' <<<"$answer")
  [[ -n $factor && $(jq -r '.mfaInfo | length' <<<"$answer") == 1 ]] || die "the sign-in does not name the second factor" "logs in $STACK/log"
  jq -r '.mfaInfo[] | "      | \(.displayName)  \(.phoneInfo)"' <<<"$answer"
  PROOF_SMS=''
  note "POST accounts/mfaSignIn:start"
  session=$(proof_call v2/accounts/mfaSignIn:start \
    "{\"mfaPendingCredential\":\"$pending\",\"mfaEnrollmentId\":\"$factor\",\"phoneSignInInfo\":{}}" | jq -r .phoneResponseInfo.sessionInfo)
  wait_until "$PROOF_SECONDS" - proof_other_code || die "no second SMS reached the simulator within $PROOF_SECONDS s" "logs in $STACK/log"
  note "POST accounts/mfaSignIn:finalize  session ${session:0:8}…, code $PROOF_CODE"
  answer=$(proof_call v2/accounts/mfaSignIn:finalize \
    "{\"mfaPendingCredential\":\"$pending\",\"phoneVerificationInfo\":{\"sessionInfo\":\"$session\",\"code\":\"$PROOF_CODE\"}}")
  PROOF_TOKEN=$(jq -r .idToken <<<"$answer")
  claims=$(jq -nr --arg token "$PROOF_TOKEN" '$token | split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d | fromjson | .firebase')
  jq -r '"      | signed in by \(.sign_in_provider), second factor \(.sign_in_second_factor)"' <<<"$claims"
  [[ $(jq -r '"\(.sign_in_second_factor) \(.second_factor_identifier)"' <<<"$claims") == "phone $factor" ]] ||
    die "the token does not name the second factor" "logs in $STACK/log"
  answer=$(proof_call v1/accounts:lookup "{\"idToken\":\"$PROOF_TOKEN\"}")
  [[ $(jq -r '.users[0].mfaInfo[] | "\(.mfaEnrollmentId) \(.phoneInfo)"' <<<"$answer") == "$factor $PROOF_NUMBER" ]] ||
    die "the account does not show its second factor" "logs in $STACK/log"
}

# The code of an SMS to PROOF_NUMBER other than the one that PROOF_CODE is from.
proof_other_code() {
  local former=$PROOF_CODE
  proof_sms_arrived || return 1
  PROOF_CODE=$(jq -r .body <<<"$PROOF_SMS" | grep -oE '(^|[^0-9])[0-9]{6}([^0-9]|$)' | tr -cd '0-9\n' | head -n 1)
  [[ -n $PROOF_CODE && $PROOF_CODE != "$former" ]] || { PROOF_CODE=$former; return 1; }
}

#   proof_deletion APP SUBJECT
proof_deletion() {
  local code found erased
  erased=$(proof_erasures) || die "accounts does not tell its erasures" "logs in $STACK/log"
  code=$(proof_control apple/codes --json "{\"clientID\":\"$1\",\"subject\":\"$2\"}" | jq -r .code)
  note "POST accounts:revokeToken  code ${code:0:8}…"
  proof_call v2/accounts:revokeToken \
    "{\"providerId\":\"apple.com\",\"tokenType\":\"CODE\",\"token\":\"$code\",\"idToken\":\"$PROOF_TOKEN\"}" >/dev/null
  proof_control revocations --get --data-urlencode "code=$code" |
    jq -r '.[] | "      | Apple revoked the \(.tokenTypeHint) of \(.clientID), at \(.receivedAt)"'
  note "POST accounts:delete"
  proof_call v1/accounts:delete "{\"idToken\":\"$PROOF_TOKEN\"}" >/dev/null
  [[ $(proof_control revocations --get --data-urlencode "code=$code" | jq length) == 1 ]] ||
    die "Sign in with Apple has not revoked the token once" "logs in $STACK/log"
  found=$(proof_ask v1/accounts:lookup "{\"idToken\":\"$PROOF_TOKEN\"}" | jq -r .error.message)
  [[ $found == USER_NOT_FOUND ]] || die "the deleted account is answered $found" "logs in $STACK/log"
  note "  the account is gone: lookup says $found"
  wait_until "$PROOF_ERASURE_SECONDS" - proof_erased "$erased" ||
    die "the user was not erased within $PROOF_ERASURE_SECONDS s" "countersign_account_erasures_total of accounts; logs in $STACK/log"
  found=$(proof_holder 2>&1) || true
  [[ $found == "nobody was found" ]] || die "the number of the deleted account is not free" "countersign account find --project example --phone $PROOF_LINKED"
  note "  the user is erased everywhere, and $PROOF_LINKED is free"
}

# The account that has the linked number.
proof_holder() { countersign account find --project example --phone "$PROOF_LINKED"; }

# Number of users that accounts has had erased everywhere.
proof_erasures() {
  local url urls
  IFS=, read -ra urls <<<"$(stack_urls "$ACCOUNTS_PORT" "$ACCOUNTS2_PORT")"
  for url in "${urls[@]}"; do curl --silent --show-error --fail --noproxy '*' --max-time 30 "$url/metrics" || exit; done |
    awk '/^countersign_account_erasures_total\{outcome="erased"\}/ { sum += $2 } END { print sum + 0 }'
}

#   proof_erased BEFORE
proof_erased() {
  local now
  now=$(proof_erasures) && ((now > $1))
}

# A sign-in with a fresh ID token of Apple's; its nonce is the hash of the one that the app keeps.
#   proof_apple_sign_in APP SUBJECT OPTIONS
proof_apple_sign_in() {
  local nonce token body
  nonce=$(openssl rand -hex 16)
  token=$(proof_control apple/id-tokens --json "$(jq -n --arg app "$1" --arg subject "$2" \
    --arg nonce "$(printf %s "$nonce" | sha256sum | cut -d ' ' -f 1)" '{clientID: $app, subject: $subject, nonce: $nonce,
    email: "\($subject)@privaterelay.appleid.com"}')" | jq -r .idToken)
  body="providerId=apple.com&id_token=$token&nonce=$nonce"
  proof_call v1/accounts:signInWithIdp "$(jq -n --arg body "$body" --argjson options "$3" \
    '{postBody: $body, requestUri: "http://localhost", returnSecureToken: true, returnIdpCredential: true} + $options')"
}
