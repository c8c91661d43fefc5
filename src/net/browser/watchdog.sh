# Runs Chromium, the arguments, in its own process group. Standard input is a pipe from the service, which is closed however
# the service ends. Then, or when Chromium ends, the script ends the whole group and removes its files.
exec 3<&0
"$@" 3<&- </dev/null &
browser=$!
exec >/dev/null 2>&1
trap '' TERM
{ read -r _ <&3; kill -TERM "$browser"; sleep 2; kill -KILL "$browser"; } &
wait "$browser"
kill -TERM 0
sleep 0.3
for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    id=${line%% *}
    set -- ${line##*) }
    [ "$3" = $$ ] && [ "$id" != $$ ] && kill -KILL "$id"
done
sleep 0.1
rm -rf -- "$TMPDIR"
kill -KILL 0
