#!/bin/bash
# Runs a command, such as all tests and checks, and says at the end what was left out of it because its material or its
# programs could not be had. Whoever leaves a check out writes a line to the file IMBREX_LEFT_OUT: the check, a tab, why.
set -euo pipefail

IMBREX_LEFT_OUT=$(mktemp)
export IMBREX_LEFT_OUT
trap 'rm -f "$IMBREX_LEFT_OUT"' EXIT

# How many are left out, and for each reason which; in the same order whatever was first.
report() {
    [ -s "$IMBREX_LEFT_OUT" ] || {
        [ "$status" != 0 ] || echo "nothing was left out"
        return
    }
    local count
    count=$(wc -l < "$IMBREX_LEFT_OUT")
    echo "$count check$([ "$count" = 1 ] || echo s) left out:"
    sort -t $'\t' -k 2 -k 1,1 "$IMBREX_LEFT_OUT" | awk -F '\t' '
        $2 != why { why = $2; print "  " why ":"; last = "" }
        $1 == last { next }
        { last = $1; print "    " last }'
}

status=0
"$@" || status=$?
report
exit $status
