# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the launcher that classifies a database file. Before a start it reads the file once, to know what the server will have of it; docs/sizing.md
says what that costs. Beside a running server, and if the file has not changed since it was read in this attempt, it reads a bounded number of bytes from
both ends, however large the file is.

A clustered file is a sequence of records, each `OVSDB CLUSTER LENGTH SHA1`, a line of JSON of that length, and nothing else. Record 0, the header, names the
server and holds the snapshot; the others are entries of the log, terms, votes and commit indexes. JSON writes quotes in strings as \", so the text
`"key":` is always a key; keys of nested objects are only inside `prev_data` and `data`, which are arrays and are cut out.
"""

from __future__ import annotations

FILE = r"""
# What the file is -------------------------------------------------------------------------------------------------
# A failing tool says nothing about the file: class unknown. Damage needs a message that names it, and two reads that agree.
# What is found is kept for the life of this process only, and only as long as the file does not change.
examine() {
    if [ ! -d "$directory" ]; then
        forget && unknown "directory $directory does not exist. Mount or create it."
    elif [ ! -e "$file" ] && [ ! -L "$file" ]; then
        forget && class=none
    elif [ ! -f "$file" ]; then
        forget && unknown "$file is not a regular file. Move it aside."
    elif [ ! -r "$file" ]; then
        forget && unknown "$file is not readable for this user. Correct its owner and mode."
    elif [ ! -s "$file" ]; then
        forget && class=empty
    elif ! now=$(stat -L -c '%s %i %y %z' "$file"); then
        forget && unknown "stat failed on $file."
    elif [ -n "$identity" ] && [ "$now" = "$identity" ]; then
        class=$examined detail=$examined_detail
    else
        forget
        identity=$now
        inspect
        if [ "$class" = broken ]; then
            first_detail=$detail
            inspect
            [ "$class" = broken ] && [ "$detail" = "$first_detail" ] || unknown "two reads of $file disagree."
            [ "$class$damaged" != brokenyes ] || put readable "$identity$newline$detail"
        fi
        learned
        examined=$class examined_detail=$detail
        [ "$class" != unknown ] || identity=''
    fi
    judge_age
}

forget() {
    class=none cid='' sid='' file_name='' local_address='' remotes='' detail='' identity='' servers='' damaged=''
    last_term='' last_index='' committed=''
}
unknown() { class=unknown detail=$1; }
broken() { class=broken detail=$1; }

# Some bytes of the file: from an offset, as many as that.
bytes() { dd if="$file" iflag=skip_bytes,count_bytes bs=64K skip="$1" count="$2" status=none; }

# A number of at most 15 digits, so that the shell can count with it.
is_number() { case $1 in '' | *[!0-9]* | ????????????????*) return 1 ;; esac; }

inspect() {
    size=${identity%% *}
    # The colon tells an empty line from a failed tool; zero bytes do not fit into a variable.
    start=$(bytes 0 120 | tr '\000' '?' | sed -n '1s/^/:/p')
    case $start in
    '') unknown "the first bytes of $file cannot be read." && return ;;
    ':OVSDB JSON '*) class=standalone && return ;;
    ':OVSDB CLUSTER '*) ;;
    *) class=unidentifiable && return ;;
    esac
    length=${start#:OVSDB CLUSTER }
    length=${length%% *}
    if ! is_number "$length"; then broken "record 0 has no length" && return; fi
    begin=${#start}
    end=$((begin + length))
    if [ "$end" -gt "$size" ]; then broken "record 0 needs $end bytes, the file has $size" && return; fi
    check_records || return
    read_header || { unknown "the header of $file cannot be read." && return; }
    read_end || { unknown "the end of $file cannot be read." && return; }
    if [ "$left" = yes ]; then
        class=left
    elif [ -n "$last_index" ] && [ -n "$committed" ] && [ "$committed" -gt "$last_index" ]; then
        broken "commit index is $committed, but last log index is $last_index"
    elif [ -n "$remotes" ]; then
        class=joining
    else
        class=member # also with a torn end: the server drops it and gets it again from the leader
        case $servers in '' | *"\"$sid\":"*) ;; *) class=dead-join ;; esac
    fi
}

# ovsdb-server reads up to the first record that it cannot read, warns once, drops everything behind it, and takes part in elections. So $size becomes the
# end of what it will have. Unreadable bytes that no record follows are the torn end of an append, and the witness decides whether anything is missing.
# The file `readable` has that end, or the damage that two reads have found: to read a large file twice would take longer than a run waits for an answer.
check_records() {
    [ -z "$live" ] || return 0
    checked=''
    [ ! -r "$OVN_STATE_DIR/readable" ] || { read -r checked && read -r readable; } <"$OVN_STATE_DIR/readable" || checked=''
    if [ "$checked" != "$identity" ]; then
        find_damage || { damaged=yes && return 1; }
        put readable "$identity$newline$readable"
    fi
    is_number "$readable" || { broken "$readable" && return 1; }
    size=$readable
}
# The offset of the first unreadable record, or the size of the file, in $readable; fails with the class if the server must not have this file.
find_damage() {
    readable=$size
    errors=$(ovsdb-tool show-log "$file" 2>&1 >/dev/null) && return 0
    command -v ovsdb-tool >/dev/null || { unknown "ovsdb-tool is not installed. Install the Open vSwitch packages."; return 1; }
    place=$(printf '%s\n' "$errors" | sed -nE -e 's/ in header line.*/ in header line/' \
        -e 's/^ovsdb-tool: .*(parse error|starting) at offset ([0-9]+) (in header line|have SHA-1|are not|\(End of file\)).*/\1 \2/p' | tail -n 1)
    readable=${place##* }
    is_number "$readable" || { unknown "ovsdb-tool cannot read $file: ${errors##*"$newline"}."; return 1; }
    [ "$readable" -ge "$end" ] || { broken "its first record is unreadable"; return 1; }
    case $place in parse*) own_header=1d ;; *) own_header='' ;; esac # not that of a record behind it
    behind=$({ bytes "$readable" "$size"; printf '\n#%s\n' "$?"; } | sed "$own_header" |
        grep -aoE -e '^#0$' -e 'OVSDB CLUSTER [1-9][0-9]* [0-9a-f]{40}$' | tail -n 2)
    case $behind in
    '#0') return 0 ;;
    *"${newline}#0") broken "the record at byte $readable is unreadable, and further records follow it" ;;
    *) unknown "the bytes of $file from $readable cannot be read." ;;
    esac
    return 1
}

# The keys of the header before and after the snapshot.
read_header() {
    window=16384
    keys=$({
        if [ "$length" -le "$window" ]; then
            bytes "$begin" "$length"
        else
            bytes "$begin" "$window" | sed 's/"prev_data":.*/"prev_data":[]/' && bytes $((end - window)) "$window"
        fi
        printf '#%s\n' "$?"
    } | sed -E '/"prev_data":/{h;s/"prev_data":.*//;x;/\]\}$/s/.*//;s/^.*\],"/"/;H;x;s/\n/ /}' |
        grep -aoE -e '^#0$|"(server_id|cluster_id|name|local_address)":"[^"\\]*"|"prev_(term|index)":[0-9]+' \
            -e '"prev_servers":\{("[^"]*":"[^"]*",?)*\}|"remote_addresses":\[("[^"]*",?)*\]')
    header_servers='' complete=''
    while [ -n "$keys" ]; do
        line=${keys%%"$newline"*} keys=${keys#"${keys%%"$newline"*}"}
        keys=${keys#"$newline"}
        value=${line#*:} key=${line%%:*}
        plain=${value#\"} plain=${plain%\"}
        case $key in
        '#0') complete=yes ;;
        '"server_id"') sid=$plain ;;
        '"cluster_id"') cid=$plain ;;
        '"name"') file_name=$plain ;;
        '"local_address"') local_address=$plain ;;
        '"prev_term"') last_term=$value ;;
        '"prev_index"') last_index=$value ;;
        '"prev_servers"') header_servers=$value ;;
        '"remote_addresses"') value=${value#"["} # IPv6 addresses have brackets of their own
            remotes=$(printf '%s\n' "${value%"]"}" | tr -d '"' | tr , ' ') ;;
        esac
    done
    [ -n "$complete" ] && [ -n "$sid" ] && [ -n "$file_name" ] && [ -n "$local_address" ] || return 1
    # A member's header has all of these, a joiner's the addresses that it asks.
    [ -n "$remotes" ] || { [ -n "$cid" ] && [ -n "$header_servers" ] && is_number "$last_index" && is_number "$last_term"; }
}

# The last entry of the log, the last commit index, whether the server has left, and the last list of servers if it is known.
read_end() {
    left='' servers='' entry=''
    log=$((size - end))
    for window in 65536 1048576 16777216; do
        [ "$window" -lt "$log" ] || window=$log
        records=$(records_of "$window")
        case $newline$records in *"${newline}#0") ;; *) return 1 ;; esac
        entry=$(printf '%s\n' "$records" | grep '^entry ' | tail -n 1)
        [ -z "$entry" ] && [ "$window" -lt "$log" ] || break
    done
    case $newline$records in *"${newline}left$newline"*) left=yes ;; esac
    committed=$(printf '%s\n' "$records" | grep '^commit ' | tail -n 1)
    committed=${committed#commit }
    servers=$(printf '%s\n' "$records" | grep '^servers ' | tail -n 1)
    servers=${servers#servers }
    if [ -n "$entry" ]; then
        last_index=${entry##* } last_term=${entry#entry }
        last_term=${last_term%% *}
    elif [ "$window" -lt "$log" ]; then
        last_index='' last_term='' # only votes in all these bytes, or an entry of a form that is not known
    fi
    if [ -z "$servers" ] && [ "$window" -lt "$log" ]; then
        window=4194304
        [ "$window" -lt "$log" ] || window=$log
        servers=$(bytes $((size - window)) "$window" | grep -aoE '"servers":\{("[0-9a-f-]{36}":"[^"]*",?)*\}' | tail -n 1)
    fi
    # A longer log may hold a later list than the header: then the server itself finds out at its start whether it belongs to the cluster.
    if [ -z "$servers" ] && [ "$window" -ge "$log" ]; then servers=$header_servers; fi
    return 0
}

# The last bytes of the log, one short line for each record. The first one is cut in most cases, and a torn last one does not count.
records_of() {
    from=$((size - $1))
    {
        [ "$from" -eq "$end" ] || printf '~'
        bytes "$from" "$1"
        printf '#%s\n' "$?"
    } | sed -nE '
        $s/^.*#([0-9]+)$/#\1/p
        $d
        /^OVSDB CLUSTER /d
        /^\{/!{/\]\}$/d;/\],"/!d;s/^.*\],"/"/}
        /"data":/{h;s/"data":.*//;x;/\]\}$/s/.*//;s/^.*\],"/"/;H;x;s/\n/ /}
        /"note":"left"/{s/.*/left/p;d}
        /"servers":\{/{h;s/^.*"servers":(\{[^}]*\}).*$/servers \1/p;g}
        s/^.*"term":([0-9]{1,15})[^0-9].*"index":([0-9]{1,15})[^0-9].*$/entry \1 \2/p;t
        s/^.*"index":([0-9]{1,15})[^0-9].*"term":([0-9]{1,15})[^0-9].*$/entry \2 \1/p;t
        s/^.*"commit_index":([0-9]{1,15})[^0-9].*$/commit \1/p'
}

# What two starts in a row have said about this very file. The next attempt begins without it.
learned() {
    [ -r "$OVN_STATE_DIR/learned" ] || return 0
    { read -r known && read -r known_class && read -r known_detail; } <"$OVN_STATE_DIR/learned" || return 0
    [ "$known" != "$identity" ] || { class=$known_class detail=$known_detail; }
}
"""
