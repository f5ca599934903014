# Puts a commit of Chock's under the session's HEAD and into its index, and leaves the files as they are.
# Runs in the session's own cage.
#
# In: OLD and NEW in the environment, a pack on the standard input.
export GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
git index-pack --stdin &&
    git -c core.hooksPath=/dev/null update-ref -m 'chock apply --commit' HEAD "$NEW" "$OLD" &&
    git -c core.hooksPath=/dev/null reset -q
