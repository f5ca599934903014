# Checks the commits of a session, and builds what landing them comes to. Runs in a cage of its own,
# with a git directory that knows nothing but the pack and the project's objects.
#
# In: HEAD_ID, START, OURS, LANDED, MODE and limits in the environment, the pack at
# /run/chock/incoming/pack. LANDED has pairs of a commit of the session and the one that its branch got
# in its place.
# Out: rows of words, an empty line, and a pack. A row `refused` comes with nothing else.
export GIT_DIR=/tmp/git GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1
export GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_AUTHOR_NAME=chock GIT_AUTHOR_EMAIL=chock GIT_AUTHOR_DATE='@0 +0000'
export GIT_COMMITTER_NAME=chock GIT_COMMITTER_EMAIL=chock GIT_COMMITTER_DATE='@0 +0000'
said=/tmp/said rows=/tmp/rows trees=/tmp/trees
: >"$rows" >"$trees" 2>"$said"

refuse() {
    printf 'refused %s\n\n' "$1"
    exit 0
}

words() {
    grep -E '^(fatal|error|warning)' "$said" | head -n 1 | tr -cd '[:print:]' | cut -c 1-200
}

finish() {
    cat "$rows"
    # shellcheck disable=SC2086,SC2046
    git rev-list --objects --no-object-names "$HEAD_ID" $(cat "$trees") $not >/tmp/wanted 2>"$said" ||
        refuse "git finds an object missing: $(words)"
    printf '\n'
    git pack-objects -q --stdout --delta-base-offset </tmp/wanted 2>"$said"
    exit $?
}

git init -q --bare --template= "$GIT_DIR" 2>"$said" || refuse "git cannot start: $(words)"
git config core.bigFileThreshold 16m
git config gc.auto 0
number=0
while [ -d "/run/chock/objects/$number" ]; do
    echo "/run/chock/objects/$number"
    number=$((number + 1))
done >"$GIT_DIR/objects/info/alternates"
if [ -f /run/chock/incoming/shallow ]; then
    cp /run/chock/incoming/shallow "$GIT_DIR/shallow"
fi

name=$(git index-pack --strict --stdin </run/chock/incoming/pack 2>"$said") ||
    refuse "the commits do not pass git's check: $(words)"
name=${name#*[[:space:]]}
git show-index <"$GIT_DIR/objects/pack/pack-$name.idx" | cut -d ' ' -f 2 >/tmp/ids
[ "$(wc -l </tmp/ids)" -le "$OBJECTS_MAX" ] || refuse "there are more than $OBJECTS_MAX objects"
bytes=$(git cat-file --batch-check='%(objectsize)' </tmp/ids | {
    total=0
    while read -r size; do
        total=$((total + size))
    done
    echo "$total"
})
[ "$bytes" -le "$BYTES_MAX" ] || refuse "unpacked they are $bytes bytes, and $BYTES_MAX is the limit"
[ "$(git cat-file -t "$HEAD_ID" 2>"$said")" = commit ] || refuse "HEAD names no commit"

not=
if [ -n "$START" ]; then
    not="^$START"
fi
if [ -n "$OURS" ]; then
    not="$not ^$OURS"
fi

# What landed as other commits, as far as the branch has those and the objects are there.
landed='' had=''
printf '%s' "$LANDED" >/tmp/landed
while read -r head tip; do
    if git cat-file -e "$head^{commit}" 2>"$said" &&
        git merge-base --is-ancestor "$tip" "$OURS" 2>"$said"; then
        landed="$landed $head"
        had="$had ^$head"
    fi
done </tmp/landed
base=''
if [ -n "$landed" ]; then
    # The base of the session's commits and of a merge of the branch with what landed on it.
    # shellcheck disable=SC2086
    base=$(git merge-base "$HEAD_ID" "$OURS" $landed) || base=''
    if [ -n "$base" ]; then
        printf 'base %s\n' "$base" >>"$rows"
    fi
fi

# shellcheck disable=SC2086
git rev-list --topo-order --reverse "$HEAD_ID" $not $had >/tmp/commits 2>"$said" ||
    refuse "git finds a commit missing: $(words)"
count=$(wc -l </tmp/commits)
[ "$count" -le "$COMMITS_MAX" ] || refuse "there are $count commits, and $COMMITS_MAX is the limit"
sed 's/^/commit /' /tmp/commits >>"$rows"

park() {
    printf 'parked %s\n' "$1" >>"$rows"
    finish
}

# Merges two commits over their base, or over a given one, and prints the tree.
merged() {
    git merge-tree --write-tree --no-messages --name-only "$@" >/tmp/merge 2>"$said"
    case $? in
    0) head -n 1 /tmp/merge ;;
    1)
        tail -n +2 /tmp/merge | sed '/^$/q' | head -n 20 | sed '/^$/d; s/^/conflict /' >>"$rows"
        return 1
        ;;
    *) return 2 ;;
    esac
}

stop() {
    if [ "$1" = 1 ]; then
        park would_conflict
    fi
    printf 'said %s\n' "$(words)" >>"$rows"
    park git_refused
}

[ "$count" -gt 0 ] || park already_there
[ "$MODE" != park ] || park not_asked_for
[ -n "$OURS" ] || park branch_has_no_commit

if git merge-base --is-ancestor "$OURS" "$HEAD_ID"; then
    tree=$(git rev-parse "$HEAD_ID^{tree}")
    if [ "$MODE" = squash ]; then
        printf 'squash %s\n' "$tree" >>"$rows"
    else
        printf 'fast_forward\n' >>"$rows"
    fi
    finish
fi

# Where the branch has just what landed, the new commits follow it as they are.
if [ "$MODE" = merge ] && [ -n "$base" ] &&
    [ "$(git rev-parse "$base^{tree}")" = "$(git rev-parse "$OURS^{tree}")" ] &&
    [ "$(git rev-list --count --merges "$HEAD_ID" "^$base")" = 0 ]; then
    MODE=rebase
fi

case $MODE in
merge | squash)
    tree=$(merged ${base:+"--merge-base=$base"} "$OURS" "$HEAD_ID")
    result=$?
    [ $result = 0 ] || stop $result
    if [ "$MODE" = squash ] && [ "$tree" = "$(git rev-parse "$OURS^{tree}")" ]; then
        park already_there
    fi
    echo "$tree" >>"$trees"
    printf '%s %s\n' "$MODE" "$tree" >>"$rows"
    ;;
rebase)
    # shellcheck disable=SC2086
    [ "$(git rev-list --count --merges "$HEAD_ID" "^$OURS" $had)" = 0 ] || park history_not_linear
    tip=$OURS
    # shellcheck disable=SC2086
    for commit in $(git rev-list --topo-order --reverse "$HEAD_ID" "^$OURS" $had); do
        tree=$(merged --merge-base="$commit^" "$tip" "$commit")
        result=$?
        [ $result = 0 ] || stop $result
        if [ "$tree" = "$(git rev-parse "$tip^{tree}")" ]; then
            continue
        fi
        echo "$tree" >>"$trees"
        printf 'step %s %s\n' "$commit" "$tree" >>"$rows"
        tip=$(git commit-tree -p "$tip" -m - "$tree" </dev/null)
    done
    [ "$tip" != "$OURS" ] || park already_there
    printf 'rebase\n' >>"$rows"
    ;;
esac
finish
