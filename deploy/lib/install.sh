# shellcheck shell=bash disable=SC2034
# What changes the machine that deploy/install runs on: each change is named, none is made in a dry run (`dry`), and none twice.
# Sourced after common.sh.

readonly ETC=/etc/countersign SECRETS=/etc/countersign/secrets
# The samples as they were installed, by which a later version sees whether they have changed.
readonly SAMPLES=/var/lib/countersign/samples

dry=no

# Names an action and carries it out, unless this is a dry run.
#   act TEXT COMMAND...
act() {
  note "$1"
  shift
  if [[ $dry == no ]]; then "$@"; fi
}

# Makes a directory; one that exists keeps its mode and owner.
#   directory PATH MODE OWNER:GROUP
directory() {
  if [[ -d $1 ]]; then return 0; fi
  act "directory $1, mode $2, $3" install -d -m "$2" -o "${3%:*}" -g "${3#*:}" "$1"
}

# Puts a file of the version in its place, whatever stands there.
#   put FILE PATH [MODE]
put() {
  if cmp -s "$1" "$2"; then return 0; fi
  act "file $2" install -D -m "${3:-644}" "$1" "$2"
}

# Puts all files below a directory of the version below another one.
#   put_all FROM TO PATTERN...
put_all() {
  local from=$1 to=$2 file
  shift 2
  while IFS= read -r file; do put "$from/$file" "$to/$file"; done < <(cd "$from" && find "$@" -type f | sort)
}

# Puts a sample in the place of a configuration that was never there; beside it, if it is another than it was at the last time.
# With a group only that one reads it.
#   sample FILE PATH [GROUP]
sample() {
  local known=$SAMPLES/${2#"$ETC"/} rights=(-m 644)
  if [[ -n ${3:-} ]]; then rights=(-m 640 -g "$3"); fi
  if [[ ! -e $2 && -e $known ]]; then
    note "configuration $2 was removed, and stays so (rm $known has it return)"
  elif [[ ! -e $2 ]]; then
    act "configuration $2, from the sample" install -D "${rights[@]}" "$1" "$2"
  elif ! cmp -s "$1" "$known" && ! cmp -s "$1" "$2"; then
    act "configuration $2 stays; the sample has changed: compare $2.new" install "${rights[@]}" "$1" "$2.new"
  fi
  if [[ $dry == no ]] && ! cmp -s "$1" "$known"; then install -D -m 644 "$1" "$known"; fi
}

# Makes a file by a command's output where it is absent, complete or not at all.
#   make PATH MODE OWNER COMMAND...
make() {
  if [[ -e $1 ]]; then return 0; fi
  act "$([[ $2 == 600 ]] && echo secret || echo file) $1, mode $2, $3" make_file "$@"
}

make_file() {
  local path=$1 mode=$2 owner=$3
  shift 3
  if ! "$@" >"$path.making"; then
    rm -f "$path.making"
    die "$path could not be made"
  fi
  chown "$owner:" "$path.making" && chmod "$mode" "$path.making" && mv "$path.making" "$path"
}

# What differs between instances. The units allow ports 8080 to 8199, and to the gateway 9090 to 9099.
#   install_environment PROCESS INSTANCE
install_environment() {
  local file=$ETC/$2.env
  if [[ -e $file ]]; then return 0; fi
  act "configuration $file" write_environment "$file" "$1" "${2##*-}"
}

write_environment() {
  local process=$2 health clients
  case $process in
    sms-worker) health=8081 clients=$(free_port RECEIPTS 8091 8099) ;;
    push-worker) health=8082 ;;
    revocation-worker) health=8083 ;;
    mail-worker) health=8084 ;;
    gateway) health=8086 clients=$(free_port LISTEN 9099 9090) ;;
  esac
  if (($3 != 1)); then health=$(free_port HTTP 8100 8199); fi
  {
    echo "COUNTERSIGN_HTTP_PORT=$health"
    case $process in
      sms-worker) echo "COUNTERSIGN_RECEIPTS_PORT=$clients" ;;
      gateway) echo "COUNTERSIGN_LISTEN_PORT=$clients" ;;
    esac
    [[ $process == gateway ]] || echo "COUNTERSIGN_BROKER_PASSWORD_FILE=$SECRETS/$process.password"
  } >"$1"
  chmod 644 "$1"
}

# The first port that no instance of this machine has.
#   free_port KIND FIRST LAST
free_port() {
  local port
  for port in $(seq "$2" "$(($2 < $3 ? 1 : -1))" "$3"); do
    if ! grep -qs "^COUNTERSIGN_[A-Z]*_PORT=$port\$" "$ETC"/*.env; then echo "$port"; return 0; fi
  done
  die "no port from $2 to $3 is free" "write COUNTERSIGN_$1_PORT into the .env file of the instance, and extend SocketBindAllow"
}

# --- what an existing configuration says -----------------------------------------------------------------------------------

# All settings of a JSON5 file, a line each: section.key=value.
#   settings FILE
settings() {
  awk '
    function skip() { while (match(text, /^([ \t\r\n,]+|\/\/[^\n]*|\/\*([^*]|\*+[^*\/])*\*+\/)/)) text = substr(text, RLENGTH + 1) }
    { text = text $0 "\n" }
    END {
      for (skip(); text != ""; skip()) {
        first = substr(text, 1, 1)
        if (first ~ /[{[]/) path[++depth] = ""
        if (first ~ /[]}]/ && depth > 0) depth--
        if (first ~ /[][{}:]/) { text = substr(text, 2); continue }
        if (!match(text, /^("([^"\\\n]|\\.)*"|\047([^\047\\\n]|\\.)*\047|[^][ \t\r\n,:{}"\047]+)/)) exit 1
        word = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        if (word ~ /^["\047]/) word = substr(word, 2, length(word) - 2)
        skip()
        if (substr(text, 1, 1) == ":") { path[depth] = word; continue }
        name = path[1]
        for (level = 2; level <= depth; level++) name = name "." path[level]
        print name "=" word
      }
      exit depth != 0
    }' "$1"
}

# A setting of a process that was installed before, as the variable in its .env file has it, or its configuration; else nothing.
#   setting PROCESS KEY
setting() {
  local variable
  variable=COUNTERSIGN_$(sed 's/\./_/g; s/[A-Z]/_&/g' <<<"$2" | tr '[:lower:]' '[:upper:]')
  {
    if [[ -e $ETC/$1.json5 ]]; then settings "$ETC/$1.json5" | sed -n "s/^${2//./\\.}=//p"; fi
    if [[ -e $ETC/$1.env ]]; then sed -n "s/^$variable=//p" "$ETC/$1.env" | sed "s/^\([\"']\)\(.*\)\1\$/\2/"; fi
  } | tail -n 1
}

# Where a setting leads to; relative paths start at the configuration.
#   setting_path PROCESS KEY DEFAULT
setting_path() {
  local path
  path=$(setting "$1" "$2")
  case $path in '') echo "$3" ;; /*) echo "$path" ;; *) echo "$ETC/$path" ;; esac
}

# --- processes and their instances -----------------------------------------------------------------------------------------

readonly PROCESSES=(coordinator sms-worker push-worker revocation-worker mail-worker webhook-worker accounts gateway)

# The units of a version.
readonly SHIPPED=(countersign.target countersign-{coordinator,accounts,webhook-worker}.service
  countersign-{sms-worker,push-worker,revocation-worker,mail-worker,gateway}@.service)

process_of() { if [[ ${1##*-} == [0-9]* ]]; then echo "${1%-*}"; else echo "$1"; fi; }
unit_of() { case $1 in coordinator | accounts | webhook-worker) echo "countersign-$1" ;; *) echo "countersign-$1@" ;; esac }

# Reads a process or an instance of one into `processes` and `instances`.
take() {
  local name=${1%@*} number=1
  if [[ $1 == *@* ]]; then number=${1#*@}; fi
  [[ $name == countersign || " ${PROCESSES[*]} " == *" $name "* ]] || die "there is no process $name" "deploy/install --help"
  [[ $number =~ ^[1-9][0-9]?$ ]] || die "$1 is no instance: a number from 1 to 99 follows @" "deploy/install --help"
  if [[ $name == countersign ]]; then tool=yes; return 0; fi
  [[ $(unit_of "$name") == *@ || $1 != *@* ]] || die "$name has one instance on a machine" "write: $name"
  [[ " ${processes[*]} " == *" $name "* ]] || processes+=("$name")
  if [[ $(unit_of "$name") == *@ ]]; then instances+=("$name-$number"); else instances+=("$name"); fi
}

# What this script has installed here. Not that of which the package is gone.
#   take_known [PROCESS]
take_known() {
  local name file
  for name in "${@:-${PROCESSES[@]}}"; do
    if [[ ! -e $SAMPLES/$name.json5 ]] || [[ -n $REMOVED_BY && ! -x $BIN/$name ]]; then continue; fi
    if [[ $(unit_of "$name") != *@ ]]; then take "$name"; fi
    for file in "$ETC/$name"-[1-9]*.env; do if [[ -e $file ]]; then take "$name@$(basename "${file##*-}" .env)"; fi; done
  done
}
