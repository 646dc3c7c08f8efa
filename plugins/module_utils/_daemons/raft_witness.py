# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the launcher that records off the database disk how new the file is, and notices an old copy or another disk."""

from __future__ import annotations

WITNESS = r"""
# How new the file is ----------------------------------------------------------------------------------------------
# Everything that is known of the server $1: $known_index, $entry_term and $entry_index (of one committed entry), $known_disk,
# $exact (TERM INDEX DIGEST of a clean stop), $lost (TERM INDEX), $peers (SID4:INDEX ...).
read_witness() {
    known_index='' entry_term='' entry_index='' known_disk=- exact='' lost='' peers=''
    for source in "$witness" "$OVN_RECORD_DIR/witness"; do
        [ ! -r "$source" ] || read_lines "$1" <"$source"
        known_exact=${known_exact-$exact}
    done
    exact=$known_exact
    unset known_exact
}
read_lines() {
    while read -r kind one two three four _; do
        is_number "$two" || continue
        case $kind,$one in
        "server,$1")
            raise "$two"
            [ "$known_disk" != - ] || known_disk=${three:--} ;;
        "committed,$1") ! is_number "$three" || raise_entry "$two" "$three" ;;
        "stopped,$1") ! is_number "$three" || exact="$two $three $four" ;;
        "lost,$cid") ! is_number "$three" || lost="$two $three" ;;
        "peer,${1%"${1#????}"}") raise "$two" ;;
        peer,*) add_peer "$one" "$two" ;;
        esac
    done
}
add_peer() {
    others_known=''
    for old in $peers; do
        if [ "${old%%:*}" != "$1" ]; then others_known="$others_known $old"
        elif [ "${old##*:}" -gt "$2" ]; then set -- "$1" "${old##*:}"; fi
    done
    peers="${others_known# } $1:$2"
    peers=${peers# }
}
raise() { [ -n "$known_index" ] && [ "$1" -le "$known_index" ] || known_index=$1; }
# Raft's order of log ends, TERM INDEX before TERM INDEX: the term counts first.
is_before() { [ "$1" -lt "$3" ] || { [ "$1" -eq "$3" ] && [ "$2" -lt "$4" ]; }; }
raise_entry() {
    raise "$2"
    if [ -z "$entry_term" ] || is_before "$entry_term" "$entry_index" "$1" "$2"; then entry_term=$1 entry_index=$2; fi
}

# A file that lacks what its server is known to have had must not vote: with another one like it, it could outvote the newer ones.
judge_age() {
    known_index='' entry_term='' known_disk=- exact='' lost='' peers=''
    disk=-
    [ -n "$sid" ] || return 0
    read_witness "$sid"
    case $class in member | joining) ;; *) return 0 ;; esac
    disk=$(disk_identity)
    if [ "$known_disk" != - ] && [ "$disk" != - ] && [ "$disk" != "$known_disk" ]; then
        class=other-disk detail="the file of $sid lay on file system $known_disk, this one is $disk"
        return 0
    fi
    [ -n "$last_index" ] || return 0
    if [ -n "$known_index" ] && [ "$last_index" -lt "$known_index" ]; then
        class=outdated-copy detail="its last index is $last_index, this member is known to have had $known_index"
    elif [ -n "$entry_term" ] && [ "$last_term" -lt "$entry_term" ]; then
        # As long as the newer one, or longer, with entries that were never committed.
        class=outdated-copy detail="the term of its last index $last_index is $last_term, this member is known to have had $entry_index of term $entry_term"
    elif [ -n "$exact" ]; then
        exact_term=${exact%% *} exact_digest=${exact##* } exact_index=${exact#* }
        exact_index=${exact_index%% *}
        if [ "$last_index" -lt "$exact_index" ]; then
            class=outdated-copy detail="its last index is $last_index, at its last clean stop it was $exact_index"
        elif is_before "$last_term" "$last_index" "$exact_term" "$exact_index"; then
            class=outdated-copy detail="the term of its last index $last_index is $last_term, at its last clean stop at $exact_index it was $exact_term"
        elif [ "$last_index" -eq "$exact_index" ] && [ "$last_term" -eq "$exact_term" ]; then
            # Votes have no index. Records before these bytes have hashes of their own.
            now=$(digest_of_end) || { unknown "the last bytes of $file cannot be read." && return; }
            [ "$now" = "$exact_digest" ] ||
                class=outdated-copy detail="its last index is $last_index as at its last clean stop at $exact_index, but its last bytes differ"
        fi
    fi
}

# There is no file, and the directory is on another file system than the last server's file: the disk is not mounted, or was exchanged. $sid is then
# that server. If the record gives it up, its member joins on the disk that is there. Only what is written on this machine counts.
judge_disk() {
    case $my_state in leaving | absent | gone) return 0 ;; esac
    [ -r "$witness" ] || return 0
    held_by=- holder=-
    while read -r kind one _ three _; do [ "$kind" != server ] || holder=$one held_by=${three:--}; done <"$witness"
    [ "$held_by" != - ] || return 0
    case $my_state,$my_sid in "expected,$holder") return 0 ;; esac
    here=$(disk_identity)
    [ "$here" = - ] || [ "$here" = "$held_by" ] ||
        class=disk-missing sid=$holder detail="the file lay on file system $held_by, $directory is on $here"
}

# Of the last bytes of the file; fails if they cannot be read.
digest_of_end() {
    from=$((${identity%% *} - 4096))
    [ "$from" -gt 0 ] || from=0
    sum=$({ { bytes "$from" 4096 && echo read >&3; } | sha1sum; } 3>&1)
    case $sum in *read*'  -'* | *'  -'*read*) printf '%s\n' "$sum" | sed -n 's/  -$//p' ;; *) return 1 ;; esac
}

# The file system under the database, `-` if it has no identity that survives a restart of the machine.
disk_identity() {
    found=''
    case $(stat -f -c %T "$directory" 2>/dev/null) in
    ext2/ext3 | btrfs) found=$(stat -f -c %i "$directory" 2>/dev/null) ;;
    xfs)
        if command -v findmnt >/dev/null; then
            found=$(findmnt -n -o UUID -T "$directory" 2>/dev/null)
            # Where no device can be opened (PrivateDevices of the unit), udev(7) has written down what it read from it.
            [ -n "$found" ] || found=$(sed -n 's/^E:ID_FS_UUID=//p' "/run/udev/data/b$(findmnt -n -o MAJ:MIN -T "$directory" 2>/dev/null)" 2>/dev/null)
        fi ;;
    esac
    case $found in '' | *[!0-9a-f-]*) echo - ;; *) printf '%s\n' "$found" ;; esac
}

# The lines, all at once, on the disk before it returns.
write_witness() {
    printf '%s\n' "$1" >"$witness.new" && sync "$witness.new" && mv -f "$witness.new" "$witness"
}
witness_lines() {
    [ -z "$known_index" ] || printf 'server %s %s %s\n' "$1" "$known_index" "$known_disk"
    [ -z "$entry_term" ] || printf 'committed %s %s %s\n' "$1" "$entry_term" "$entry_index"
    [ -z "$2" ] || printf 'stopped %s %s\n' "$1" "$2"
    [ -z "$lost" ] || printf 'lost %s %s\n' "$cid" "$lost"
    for one in $peers; do printf 'peer %s %s\n' "${one%%:*}" "${one##*:}"; done
}
keep_witness() {
    lines=$(witness_lines "$@")
    [ -n "$lines" ] || return 0
    if [ -r "$witness" ] && [ "$lines" = "$(cat "$witness")" ]; then return 0; fi
    write_witness "$lines" || say "$who: cannot write $witness. An old copy of this member would not be noticed."
}

# Before the server starts: what the clean stop knew exactly need not stay true, for entries that were not committed can be replaced.
begin_witness() {
    [ -n "$sid" ] || return 0
    read_witness "$sid"
    [ -z "$exact" ] || keep_witness "$sid" ''
}

# While the server runs, in the background: the highest index that is committed and on this disk, and if it leads, on the disks of its peers.
sample() {
    status=$(ovs-appctl -T 5 -t "$ctl" cluster/status "$name" 2>/dev/null) || return 0
    case $status in *"Status: cluster member$newline"*) ;; *) return 0 ;; esac
    read_status
    is_number "$next" && is_number "$waiting" && [ -n "$server_sid" ] || return 0
    read_witness "$server_sid"
    highest=$((next - 1 - waiting))
    remembered=$peers
    if [ "$role" = leader ]; then
        peers=''
        for one in $matches; do remember_peer "${one%%:*}" "${one##*:}"; done
    fi
    term=''
    if [ "${entry_index:--1}" -ne "$highest" ] && [ "${no_term-}" != "$highest" ]; then
        term=$(term_of "$highest")
        [ -n "$term" ] || no_term=$highest
    fi
    find_lost_entry
    publish_terms
    [ -z "$term" ] && [ -n "$known_index" ] && [ "$highest" -le "$known_index" ] && [ "$remembered" = "$peers" ] && [ "$known_disk" = "$disk" ] && return 0
    # A commit is announced before it is on every disk.
    sync -d "$file" 2>/dev/null || return 0
    raise "$highest"
    [ -z "$term" ] || raise_entry "$term" "$highest"
    publish_terms
    known_disk=$disk
    keep_witness "$server_sid" ''
}
remember_peer() {
    [ "$2" -le "$highest" ] || set -- "$1" "$highest" # an entry of its log that is not committed can still be replaced
    for old in $remembered; do [ "${old%%:*}" != "$1" ] || add_peer "$1" "${old##*:}"; done
    [ "$2" -eq 0 ] || add_peer "$1" "$2"
}

# A committed entry keeps its term for ever, so an entry of another term in its place shows that acknowledged writes were lost. Written down at once,
# for the next line of the witness replaces what was known; it stays until an operator accepts the loss, also under another server id.
find_lost_entry() {
    [ -n "$term" ] && [ -n "$entry_term" ] && [ "$term" -gt "$entry_term" ] || return 0
    there=$term # all entries below have this term at most
    [ "$highest" -lt "$entry_index" ] || there=$(term_of "$entry_index")
    is_number "$there" && [ "$there" -ne "$entry_term" ] || return 0
    lost="$entry_term $entry_index"
    say "$who: acknowledged writes were lost: log entry $entry_index was of term $entry_term, and is of term $there now."
}
# For runs and verify, beside the sockets: which committed entries are of which term, as far as the end of the log shows it, and the last that was known.
publish_terms() {
    if [ -z "$bounds" ] || { [ -n "$term" ] && [ "$term" != "$bounds_term" ]; }; then bounds=$(bounds_of_terms) bounds_term=$term; fi
    published="$bounds${lost:+${newline}lost $lost}${entry_term:+${newline}committed $server_sid $entry_term $entry_index}"
    [ "$published" = "$terms" ] || { printf '%s\n' "$published" >"$terms_file.new" && mv -f "$terms_file.new" "$terms_file" && terms=$published; }
}
# `term INDEX TERM`: from this entry on, up to the next line. Of entries with one index the last one counts, it has replaced the others.
bounds_of_terms() {
    locate_log || return 0
    window=1048576
    [ "$window" -lt "$log" ] || window=$log
    records_of "$window" | sed -n 's/^entry //p' | tac | sort -s -u -k 2,2n | sort -s -u -k 1,1n | while read -r one two; do
        [ "$two" -gt "$highest" ] || printf 'term %s %s\n' "$two" "$one"
    done
}

# The term of the entry with this index, which is known to be committed; nothing if it is not within reach. `Term:` of cluster/status is no
# substitute: a member that is cut off raises it. The last record with an index counts, for it has replaced the others, and what is committed stays.
term_of() {
    locate_log || return 0
    for window in 65536 1048576 16777216; do
        [ "$window" -lt "$log" ] || window=$log
        found=$(records_of "$window" | sed -n "s/^entry \([0-9]*\) $1\$/\1/p" | tail -n 1)
        [ -z "$found" ] && [ "$window" -lt "$log" ] || break
    done
    if [ -z "$found" ] && [ "$window" -ge "$log" ] && read_header && [ "$last_index" = "$1" ]; then found=$last_term; fi # all of it is in the snapshot
    ! is_number "$found" || printf '%s\n' "$found"
}

# $size of the file, $begin and $end of its header, length of its $log.
locate_log() {
    size=$(stat -L -c %s "$file") || return 1
    start=$(bytes 0 120 | tr '\000' '?' | sed -n '1s/^/:/p')
    length=${start#:OVSDB CLUSTER }
    length=${length%% *}
    is_number "$length" || return 1
    begin=${#start}
    end=$((begin + length))
    log=$((size - end))
    [ "$log" -ge 0 ]
}

# Role, sid, log end and, on a leader, SID4:MATCH_INDEX of each other server, out of cluster/status.
read_status() {
    server_sid='' role='' next='' waiting='' matches='' rest=$status
    while [ -n "$rest" ]; do
        line=${rest%%"$newline"*} rest=${rest#"${rest%%"$newline"*}"}
        rest=${rest#"$newline"}
        case $line in
        'Server ID: '*) server_sid=${line#*\(} server_sid=${server_sid%\)} ;;
        'Role: '*) role=${line#Role: } ;;
        'Log: ['*) next=${line#*, } next=${next%\]} ;;
        'Entries not yet committed: '*) waiting=${line##* } ;;
        *' (self)'* | *'(adding: '*) ;;
        '    '*' match_index='*)
            match=${line#* match_index=} match=${match%% *}
            line=${line#    }
            ! is_number "$match" || matches="$matches ${line%% *}:$match" ;;
        esac
    done
}

# After a clean stop nothing but the next start changes the file: this is exact.
end_witness() {
    identity='' live=yes # the next start reads all records
    examine
    case $class in member | outdated-copy) ;; *) return 0 ;; esac
    [ -n "$last_index" ] && now=$(digest_of_end) || return 0
    if [ -n "$committed" ]; then
        highest=$committed
        term=$(term_of "$highest")
        find_lost_entry # since the last sample
        raise "$highest"
        [ -z "$term" ] || raise_entry "$term" "$highest"
    fi
    known_disk=$disk
    keep_witness "$sid" "$last_term $last_index $now"
}
"""
