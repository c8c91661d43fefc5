#!/usr/bin/env bash
# Starts a search, follows it to its end and prints the results, one JSON object on each line.
#
#   export SIGHTLINE_URL=http://127.0.0.1:8080 SIGHTLINE_API_KEY=sl_live_...
#   ./search.sh username octocat > found.ndjson
#
# Survives dropped connections, restarts of the server and rate limits: no result is lost or duplicated, and the
# search is charged once. Exit codes: 0 something was found, 1 nothing was found, 2 usage, 3 failed.
# Needs bash 4.4, curl 7.55 and jq.
set -euo pipefail

silence=45  # seconds; a living stream sends at least a comment every 15
attempts=10 # failures in a row before it gives up
url=${SIGHTLINE_URL:-http://127.0.0.1:8080}
url=${url%/}

say() { printf '%s\n' "$*" >&2; }
die() { say "${@:2}"; exit "$1"; }

(($# == 2)) || die 2 "usage: $0 email|username|domain QUERY"
[[ $url == http://* || $url == https://* ]] || die 2 'SIGHTLINE_URL is not an http:// or https:// address'
[[ ${SIGHTLINE_API_KEY:-} =~ ^[[:graph:]]+$ ]] || die 2 'set SIGHTLINE_API_KEY to your API key'

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
: >"$work/results"
failures=0 # in a row
run='' last='' reason='' wait=''

# ---- requests and retries --------------------------------------------------------------------------------------

curl=(curl --silent --show-error --no-buffer --connect-timeout 10 --dump-header "$work/head")

# The key is passed through a pipe, because all users of a machine can see the arguments of programs.
key_header() { printf 'Authorization: Bearer %s\n' "$SIGHTLINE_API_KEY"; }

# header NAME: prints the value in the last answer.
header() {
    tr -d '\r' <"$work/head" | awk -F ': *' -v name="$1" 'tolower($1) == name { value = $2 } END { print value }'
}

# judge BODY: succeeds if the last answer was 200. Ends the script if another attempt would get the same answer.
judge() {
    local status
    status=$(sed -n 's/^HTTP[^ ]* \([0-9][0-9][0-9]\).*/\1/p' "$work/head" | tail -n 1)
    [[ $status != 200 ]] || return 0
    reason='no answer'
    [[ -z $status ]] || reason="$status: $(jq -r .message <<<"$1" 2>/dev/null || true)"
    case $status in
        '' | 408 | 409 | 429 | 5??) wait=$(header retry-after) && return 1 ;;
        400) die 2 "failed: $reason" ;;
        *) die 3 "failed: $reason" ;;
    esac
}

# again: waits for the time that the server named, else longer each time.
again() {
    ((++failures < attempts)) || die 3 "failed: $reason"
    [[ $wait =~ ^[0-9.]+$ ]] || wait=$((1 + RANDOM % 2 ** (failures < 5 ? failures : 5)))
    say "$reason; again in $wait s"
    sleep "$wait"
}

# ---- a search ------------------------------------------------------------------------------------------------------

# Every attempt sends the same key, so that there is only one search and one charge.
idempotency_key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')

# start TYPE QUERY: sets run.
start() {
    local answer
    : >"$work/head"
    reason='the answer broke off' wait=''
    answer=$(jq --null-input --arg type "$1" --arg query "$2" '{$type, $query}' |
        "${curl[@]}" --max-time "$silence" --header @<(key_header) --header 'Content-Type: application/json' \
            --header "Idempotency-Key: $idempotency_key" --data-binary @- "$url/v1/searches") || true
    judge "$answer" && run=$(jq --raw-output '.run_id // empty' <<<"$answer" 2>/dev/null) && [[ -n $run ]]
}

# follow: attaches, and sets last to the data of the done event. A stream begins with all results so far, so none is
# lost between two streams.
follow() {
    local line event='' data='' stream reader
    : >"$work/head"
    reason='the stream ended without a done frame' wait=''
    exec {stream}< <(exec "${curl[@]}" --header @<(key_header) "$url/v1/searches/$run/stream")
    reader=$!
    while IFS= read -r -t "$silence" -u "$stream" line; do
        line=${line%$'\r'}
        case $line in
            event:*) event=${line#event:} event=${event# } ;;
            data:*) data+=${line#data:} ;;
            '')
                [[ -z $data ]] || take "$event" "$data" || break
                event='' data=''
                ;;
        esac
    done
    kill "$reader" 2>/dev/null || true
    exec {stream}<&-
    # The rest is an incomplete event, or the body of a refusal.
    [[ -n $last ]] || { judge "$line" && false; }
}

# take EVENT DATA: fails for the last event of a stream.
take() {
    failures=0
    case $1 in
        result) printf '%s\n' "$2" >>"$work/results" ;;
        done | reconnect | error)
            [[ $1 != done || $(jq -r .status <<<"$2") == timeout ]] || last=$2
            reason=$(jq --raw-output --arg event "$1" '.message // $event' <<<"$2")
            wait=$(jq '.retry_after // empty' <<<"$2")
            return 1
            ;;
    esac
}

until start "$1" "$2"; do again; done
say "run $run"
until follow; do again; done

# Results are sent again after a reattach, and when they get more sources: the newest of each id counts.
jq --null-input --compact-output 'reduce inputs as $result ([]; .[$result.id] = $result) | .[] | values' \
    "$work/results" | tee "$work/found"
found=$(wc -l <"$work/found")
summary='"\(.status): \($found) results from \(.modules_completed) modules"'
say "$(jq --raw-output --arg found $((found)) "$summary" <<<"$last")"
# The results of a failed run are printed, too.
[[ $(jq -r .status <<<"$last") == completed ]] || die 3 "$(jq -r '.error.message // ""' <<<"$last")"
((found > 0))
