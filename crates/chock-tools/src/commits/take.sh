# Says which commit HEAD names, and packs what leads to it from START. Runs in the session's own
# cage, where the agent decides what git answers: nothing of the answer is believed.
exec 2>/dev/null
export GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
head=$(git rev-parse --verify --quiet 'HEAD^{commit}') || head=
printf '%s\n' "$head"
if [ -z "$head" ] || [ "$head" = "$START" ]; then
    exit 0
fi
{
    printf '%s\n' "$head"
    if [ -n "$START" ]; then
        printf '^%s\n' "$START"
    fi
} | git pack-objects --revs --stdout -q
