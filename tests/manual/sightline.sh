#!/usr/bin/env bash
# Stands in for `sightline` while the examples of the manual run: nothing waits for the simulated delays, and a server
# stops as soon as it listens. $BINARY is the real one.
set -u
words=()
for word in "$@"; do
    [[ $word == --sandbox ]] && word=--sandbox=perfect
    words+=("$word")
done
case ${1:-} in
serve)
    folder=$(mktemp -d)
    export SIGHTLINE_DATABASE=sqlite:$folder/serve.db SIGHTLINE_LISTEN=127.0.0.1:0
    exec 3< <(exec "$BINARY" "${words[@]}" 2>"$folder/log")
    server=$!
    read -r line <&3
    if [[ $line != 'listening on http://'* ]]; then
        cat "$folder/log" >&2
        exit 3
    fi
    echo "$line"
    kill -TERM "$server"
    wait "$server"
    ended=$?
    rm -rf "$folder"
    exit "$ended"
    ;;
search)
    # That nothing is found (1) is an answer, too.
    "$BINARY" "${words[@]}"
    ended=$?
    exit "$((ended == 1 ? 0 : ended))"
    ;;
*)
    exec "$BINARY" "${words[@]}"
    ;;
esac
