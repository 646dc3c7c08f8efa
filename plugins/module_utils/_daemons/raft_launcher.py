# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher, a shell script: entry point of a database unit on a machine and of a database container in a pod.

It stands in a module so that there is one source for both: a role writes it to machines (filter raft_launcher), a module puts it into a ConfigMap.
Its text is composed of three parts, and stays one script.
"""

from __future__ import annotations

from .._base.deadline import AFTER_SIGNAL_SECONDS, HANDOVER_SECONDS
from .._base.tls_options import SHELL_ARGUMENTS
from .raft_file import FILE
from .raft_witness import WITNESS

_HEAD = r"""#!/bin/sh
# One member of one OVN database cluster: decide from its file and the cluster's record whether it may start.
#
#   ovn-raft-launcher check   0 = may start; 10 = the run has to act; 11 = refused; 12 = idle on purpose
#   ovn-raft-launcher run     stay in the foreground as parent of ovsdb-server; its exit code, or 10/11/12 as above
#   ovn-raft-launcher stop    leave the leadership, end the server, keep the file; 0 = it is gone
#   ovn-raft-launcher state   what the file is and what would happen, as KEY=VALUE lines
#   ovn-raft-launcher alive   0 = waits for the run, or the server answers on its control socket: startup and liveness probe
#   ovn-raft-launcher ready   0 = takes part in the recorded cluster and has a schema: readiness probe
# 255 = wrong settings. With OVN_WAIT=1, `run` stays alive instead of exiting 10/11/12 and acts when record, disk and tools allow it.
#
# Settings, all from the environment:
#   OVN_DATABASE          northbound or southbound
#   OVN_MEMBER            id of this member, as in the record
#   OVN_RECORD_DIR        cid, retired_cids, retired_sids, permit, hold, election_timer, members (lines: ID STATE SID_OR_- ADDRESS)
#   OVN_DB_FILE           database file; while its directory does not exist, the run is asked
#   OVN_WITNESS_FILE      how new the file is, kept on another disk, default OVN_RECORD_DIR.witness (below)
#   OVN_WITNESS_SECONDS   seconds between queries of the running server for it, default 10
#   OVN_RUN_DIR           sockets and pid file: ovnnb_db.{sock,ctl,pid} or ovnsb_db.{sock,ctl,pid}; terms: which entries are of which term
#   OVN_STATE_DIR         written for the run and for probes: state, reason, class, sid, revision, incomplete; for this script: learned, readable
#   OVN_LOCAL_ADDRESS     raft address of this member, e.g. ssl:192.0.2.11:6643
#   OVN_CLIENT_ENDPOINTS  client endpoints of the other members, comma list; any answer, but that of a relay, forbids a creation
#   OVN_LOG_FILE          log of ovsdb-server
#   OVN_SCHEMA            default: /usr/share/ovn/ovn-nb.ovsschema, ovn-sb.ovsschema
#   OVN_PRIVATE_KEY, OVN_CERTIFICATE, OVN_CA_CERTIFICATE   optional, together; OVN_TLS_CIPHERS optional, for TLS 1.2
#   OVN_MEMORY_TRIM       optional, on or off
#   OVN_LOG_LEVELS        optional, words like raft:file:dbg; OVN_EXTRA_OPTIONS optional, words for ovsdb-server
#   OVN_REVISION          optional, copied to the state directory when the server starts
#   OVN_POLL              seconds between reads of the record while waiting, default 3
#   OVN_CONSOLE           optional, 1: the server's log goes to standard output as well, for pods
#
# The witness remembers what servers are known to have had, one a line; higher numbers count, `OVN_RECORD_DIR/witness` is read as well, never written:
#   server SID INDEX DISK             this member: highest index committed and on its disk, identity of the file system or -
#   committed SID TERM INDEX          this member: the last entry known to be committed and on its disk; its index may be lower than the one above
#   stopped SID TERM INDEX DIGEST     only after a clean stop: its last entry, SHA-1 of the last 4096 bytes of the file
#   lost CID TERM INDEX               a committed entry of a member of this host that is not in its log any more, so acknowledged writes were lost
#   peer SID4 INDEX                   another member, by the first four digits of its sid
# A file that has less than its server is known to have had is an old copy: it never starts, the run is asked. Terms count first, as in elections:
# a log of an older term can be as long, with entries that were never committed. All records are read before a start, and only readable ones count.
#
# A member `expected` with a sid in the record means: the file with that sid has been given up, move it aside and join.
# The launcher never talks to an API, never deletes a database, and creates a cluster only with the one-shot permit.
# It needs coreutils, sed and grep of GNU, no root, and writes only to OVN_RUN_DIR, OVN_STATE_DIR, OVN_WITNESS_FILE, the log and the directory of OVN_DB_FILE:
# no here-document below, because some shells keep them in /tmp.
set -u
LC_ALL=C
export LC_ALL
umask 027
newline='
'

say() { printf 'ovn-raft-launcher: %s\n' "$*" >&2; }
fail() { say "$*"; exit 255; }
need() { eval "[ -n \"\${$1-}\" ]" || fail "$1 is not set. Set it in the environment of this unit or pod."; }
put() { printf '%s\n' "$2" >"$OVN_STATE_DIR/.$1.new" && mv -f "$OVN_STATE_DIR/.$1.new" "$OVN_STATE_DIR/$1"; }
report() { put class "$class"; put sid "$sid"; put reason "${2-}"; put state "$1"; }

settings() {
    for key in OVN_DATABASE OVN_MEMBER OVN_RECORD_DIR OVN_DB_FILE OVN_RUN_DIR OVN_STATE_DIR OVN_LOCAL_ADDRESS; do need "$key"; done
    case $OVN_DATABASE in
    northbound) name=OVN_Northbound table=NB_Global stem=ovnnb_db schema=/usr/share/ovn/ovn-nb.ovsschema ;;
    southbound) name=OVN_Southbound table=SB_Global stem=ovnsb_db schema=/usr/share/ovn/ovn-sb.ovsschema ;;
    *) fail "OVN_DATABASE is \"$OVN_DATABASE\". Use northbound or southbound." ;;
    esac
    schema=${OVN_SCHEMA:-$schema} file=$OVN_DB_FILE who="$OVN_DATABASE member $OVN_MEMBER"
    ctl=$OVN_RUN_DIR/$stem.ctl sock=$OVN_RUN_DIR/$stem.sock pid_file=$OVN_RUN_DIR/$stem.pid terms_file=$OVN_RUN_DIR/$stem.terms
    case $file in /*) directory=${file%/*} ;; *) fail "OVN_DB_FILE is $file. Give the whole path." ;; esac
    witness=${OVN_WITNESS_FILE:-${OVN_RECORD_DIR%/}.witness} identity='' live=''
    { [ -d "$OVN_RUN_DIR" ] && [ -d "$OVN_STATE_DIR" ]; } || mkdir -p "$OVN_RUN_DIR" "$OVN_STATE_DIR" ||
        fail "$who: cannot create $OVN_RUN_DIR and $OVN_STATE_DIR."
}

# The lines of one file of the record, in $value. Only the shell itself works here: this is read every few seconds.
load() {
    value=''
    [ -r "$OVN_RECORD_DIR/$1" ] || return 0
    while read -r line || [ -n "$line" ]; do value=${value:+$value$newline}$line; done <"$OVN_RECORD_DIR/$1"
}

# The record can change under us: read it until two reads agree.
read_record() {
    seen='' now=none tries=0
    while [ "$now" != "$seen" ] && [ "$tries" -lt 5 ]; do
        seen=$now tries=$((tries + 1))
        load cid; record_cid=$value
        load retired_cids; retired=$value
        load retired_sids; retired_sids=$value
        load permit; permit=$value
        load hold; hold=$value
        load election_timer; timer=$value
        load members; members=$value
        now="$record_cid/$retired/$retired_sids/$permit/$hold/$timer/$members"
    done
    my_state='' my_sid=- my_address='' others='' rest=$members
    while [ -n "$rest" ]; do
        line=${rest%%"$newline"*} rest=${rest#"${rest%%"$newline"*}"}
        rest=${rest#"$newline"}
        case $line in *' '*' '*' '*) ;; *) continue ;; esac
        id=${line%% *} line=${line#* }
        member_state=${line%% *} line=${line#* }
        member_sid=${line%% *} address=${line##* }
        if [ "$id" = "$OVN_MEMBER" ]; then
            my_state=$member_state my_sid=$member_sid my_address=$address
        else
            case $member_state,$address in absent,* | gone,* | *,) ;; *) others="$others $address" ;; esac
        fi
    done
}
"""

_DECISION = r"""
# What is done about it --------------------------------------------------------------------------------------------
answer() { decision=$1 reason="$who: $2"; }
known_remote() { for one in $remotes; do case " $others " in *" $one "*) return 0 ;; esac done; return 1; }

# One row of the table after the other; the first that fits decides.
decide() {
    read_record
    examine
    [ "$class" != none ] || judge_disk
    given_up=''
    if [ "$my_state" = expected ] && [ "$my_sid" != - ]; then
        case $class in
        empty | unidentifiable) given_up=yes ;;
        broken) [ -n "$sid" ] && [ "$sid" != "$my_sid" ] || given_up=yes ;;
        *) [ "$sid" != "$my_sid" ] || given_up=yes ;;
        esac
    fi
    if [ -n "$hold" ]; then answer idle "the record is on hold ($hold). Clear the hold to start it."; return; fi
    case $my_state in absent | gone) answer idle "the record says $my_state. Declare it as a member to start it."; return ;; esac
    case $record_cid in
    '') ;;
    *[!0-9a-f-]*) answer ask "the cid in $OVN_RECORD_DIR is damaged. Let a run write the record again."; return ;;
    esac
    if [ "$class" = unknown ]; then
        answer ask "its file cannot be examined, and is kept: $detail"; return
    fi
    decide_by_class
    case $decision in
    start | join | create)
        for tool in ovsdb-server ovsdb-tool ovsdb-client ovs-appctl; do
            command -v "$tool" >/dev/null || { answer ask "$tool is not installed. Install the Open vSwitch packages." && break; }
        done ;;
    esac
}

decide_by_class() {
    # A retired or foreign file stays untouched unless the record gives up exactly this one.
    if [ -z "$given_up" ]; then
        foreign
        [ -z "$decision" ] || return 0
        case $class,$my_state in
        outdated-copy,*)
            answer ask "$file is an old copy of this member: $detail. Run the playbook: it replaces the member."; return ;;
        other-disk,*)
            answer ask "$file lies on another disk: $detail. Run the playbook: it replaces the member."; return ;;
        disk-missing,*)
            option="accept_lost_disk of ovn_cluster, ovn_central_permit=lost_disk on machines"
            answer ask "$file is absent, and its disk is not mounted: $detail. Mount it, or accept its loss ($option)."; return ;;
        member,replacing | joining,replacing)
            answer ask "the record says replacing. Run the playbook: it goes on with that."; return ;;
        esac
        case $class in
        member | joining) start_from_file; return ;;
        dead-join)
            answer ask "its join was cut off, sid $sid can never start. Run the playbook: it replaces the member."; return ;;
        broken)
            answer ask "$file is damaged ($detail). Run the playbook: it replaces the member."; return ;;
        unidentifiable)
            answer ask "$file is no database. Run the playbook: it replaces the member."; return ;;
        left)
            case $my_state in
            leaving) answer idle "sid $sid has left the cluster."; return ;;
            expected) ;;
            *) answer ask "sid $sid has left the cluster, the record says ${my_state:-nothing}. Run the playbook."; return ;;
            esac ;;
        esac
    fi
    start_without_file
}

foreign() {
    decision=''
    case $class in
    none | disk-missing | empty | unidentifiable) return 0 ;;
    standalone)
        answer refuse "$file is a standalone database. Move it aside, or import it with a playbook."; return ;;
    esac
    [ -n "$sid" ] || return 0
    if [ "$file_name" != "$name" ]; then
        class=foreign-name
        answer refuse "$file holds database $file_name, not $name. Move it aside."
    elif [ -n "$cid" ] && printf '%s\n' "$retired" | grep -qxF -- "$cid"; then
        class='retired-cid'
        answer refuse "$file belongs to the retired cluster $cid. Move it aside, then run the playbook: it replaces the member."
    elif [ "$class" != left ] && printf '%s\n' "$retired_sids" | grep -qxF -- "$sid"; then
        class='retired-sid'
        answer refuse "$file is of server $sid, which left its cluster for good. Move it aside, then run the playbook."
    elif [ -n "$cid" ] && [ -n "$record_cid" ] && [ "$cid" != "$record_cid" ]; then
        class=foreign-cid
        answer refuse "$file belongs to cluster $cid, the record says $record_cid. Find out which cluster is right."
    fi
    case $decision,$class in
    ,member | ,joining) ;;
    *) return 0 ;;
    esac
    # The record goes first: settings with another address, which a run wrote before it refused the change, must not keep a good member down.
    if [ "$local_address" != "${my_address:-$OVN_LOCAL_ADDRESS}" ]; then
        class=foreign-address
        if [ -n "$my_address" ]; then
            answer refuse "$file says $local_address, the record says $my_address. Move the file aside, then run the playbook: it replaces the member."
        else
            answer refuse "$file says $local_address, the settings say $OVN_LOCAL_ADDRESS. Put the address of the file back, then run the playbook."
        fi
    elif [ "$my_state" != expected ] && [ "$my_sid" != - ] && [ "$my_sid" != "$sid" ]; then
        class=foreign-sid
        answer refuse "$file has sid $sid, the record says $my_sid: an old copy, or of another member. Run the playbook: it replaces an old copy."
    fi
}

start_from_file() {
    if [ -z "$record_cid" ] && [ -n "$permit" ] && [ "$permit" != "$OVN_MEMBER" ]; then
        answer ask "$permit has the permit to create the cluster, but here is a file of cluster $cid. Run the playbook."
    elif [ "$class" = joining ] && { [ -z "$cid" ] || { [ -n "$others" ] && ! known_remote; }; }; then
        class=joining-outdated
        answer ask "its unfinished join asks $remotes, none of them is a member now. Run the playbook: it replaces the member."
    else
        answer start "start from $file."
    fi
}

start_without_file() {
    case $my_state in
    expected) ;;
    leaving) answer idle "it is leaving and has no file."; return ;;
    confirmed | replacing) answer ask "its database is lost ($file: $class), the record says $my_state. Run the playbook: it replaces the member."; return ;;
    *) answer ask "no database file, and $OVN_RECORD_DIR does not name it as a member. Run the playbook."; return ;;
    esac
    if [ "$my_address" != "$OVN_LOCAL_ADDRESS" ]; then
        # No file is in the way: a run writes the settings again.
        answer refuse "the record says $my_address, the settings say $OVN_LOCAL_ADDRESS. Run the playbook with the recorded address: it writes the settings."
    elif not_local; then
        answer refuse "$OVN_LOCAL_ADDRESS is not an address of this host. Correct it, or bring the address up."
    elif [ -n "$record_cid" ]; then
        if [ -n "$others" ]; then answer join "join cluster $record_cid."
        else answer ask "cluster $record_cid has no other member to join. Restore a backup."; fi
    elif [ "$permit" != "$OVN_MEMBER" ]; then
        answer ask "no cluster is recorded, and the permit to create one is given to ${permit:-no member}. Run the playbook."
    elif [ "${vetoed-}" = "$seen" ]; then
        answer refuse "$veto_reason"
    else
        answer create "create the cluster."
    fi
}

# Whether this IP address belongs to another host, by the kernel's routes; without `ip`, and for a name, that is not known.
not_local() {
    host=${OVN_LOCAL_ADDRESS#*:}
    host=${host%:*}
    host=${host#\[} host=${host%\]}
    case $host in *[!0-9a-fA-F:.]*) return 1 ;; *[.:]*) ;; *) return 1 ;; esac
    command -v ip >/dev/null || return 1
    case $(ip route get "$host" 2>&1) in *local\ * | '') return 1 ;; *"$host"* | *unreachable*) return 0 ;; *) return 1 ;; esac
}

client() {
    if [ -n "${OVN_PRIVATE_KEY-}" ]; then set -- @TLS@ "$@"; fi
    ovsdb-client -t 3 "$@"
}

# Any database server that answers at a peer's address forbids the creation, but for a relay, which has no cluster of its own and answers also where there
# is none; silence allows nothing, that is the permit's job.
vetoed_by_peer() {
    [ -n "${OVN_CLIENT_ENDPOINTS-}" ] || [ -z "$others" ] || {
        veto_reason="OVN_CLIENT_ENDPOINTS names no other member, so none can object to the creation. Set it." && return 0; }
    query="[\"_Server\",{\"op\":\"select\",\"table\":\"Database\",\"where\":[[\"name\",\"==\",\"$name\"]],\"columns\":[\"cid\",\"model\"]}]"
    printf '' >"$OVN_STATE_DIR/answers"
    for endpoint in $(printf '%s' "${OVN_CLIENT_ENDPOINTS-}" | tr , ' '); do
        {
            reply=$(client query "$endpoint" "$query" 2>/dev/null) || exit
            case $reply in *'"relay"'*) ;; *) echo "$endpoint $reply" >>"$OVN_STATE_DIR/answers" ;; esac
        } &
    done
    wait
    [ -s "$OVN_STATE_DIR/answers" ] || return 1
    veto_reason="no cluster is created, because there is one: $(head -n 1 "$OVN_STATE_DIR/answers"). Find out whose it is."
}

# The file appears under its name only when it is complete, so a run that is cut off here is simply repeated.
new_file() {
    found=$(ovsdb-tool schema-name "$schema") || return 1
    [ "$found" = "$name" ] || { say "$who: $schema describes $found, not $name. Set OVN_SCHEMA." && return 1; }
    rm -f "$file.new" "$directory/.$(basename "$file").new.~lock~"
    if [ "$decision" = create ]; then
        set -- create-cluster "$file.new" "$schema" "$OVN_LOCAL_ADDRESS"
        [ -z "$timer" ] || set -- "--election-timer=$timer" "$@"
    else
        set -- "--cid=$record_cid" join-cluster "$file.new" "$name" "$OVN_LOCAL_ADDRESS"
        for address in $others; do set -- "$@" "$address"; done
    fi
    ovsdb-tool "$@" 2>"$OVN_STATE_DIR/.error" || { cat "$OVN_STATE_DIR/.error" >&2 && return 1; }
    if [ -e "$file" ]; then move_aside; fi
    sync "$file.new" && mv -n "$file.new" "$file" && sync "$directory"
}

move_aside() {
    aside=$file.$class.$(date -u +%Y%m%dT%H%M%SZ)
    while [ -e "$aside" ]; do aside=$aside.1; done
    mv -n "$file" "$aside" && say "$who: moved $file to $aside"
}

serve() {
    level=off
    [ "${OVN_CONSOLE-}" != 1 ] || level=info
    set -- "--remote=punix:$sock" "--remote=db:$name,$table,connections" "--unixctl=$ctl" "--pidfile=$pid_file" "-vconsole:$level" -vsyslog:warn -vfile:info
    [ -z "${OVN_LOG_FILE-}" ] || set -- "$@" "--log-file=$OVN_LOG_FILE"
    [ -z "${OVN_PRIVATE_KEY-}" ] || set -- "$@" @TLS@
    for level in ${OVN_LOG_LEVELS-}; do set -- "$@" "-v$level"; done
    for option in ${OVN_EXTRA_OPTIONS-}; do set -- "$@" "$option"; done
    log_size=$(log_length)
    begin_witness
    asked='' console=''
    rm -f "$OVN_STATE_DIR/incomplete" "$OVN_STATE_DIR/unwritten" "$terms_file"
    if [ "${OVN_CONSOLE-}" = 1 ]; then
        # Standard error carries the log, and what learn_from_failure looks for stays in a file as well. No log line is kept twice.
        rm -f "$OVN_STATE_DIR/console"
        mkfifo "$OVN_STATE_DIR/console" || fail "$who: cannot create the pipe $OVN_STATE_DIR/console."
        sed -u -e "/^ovsdb-server: /w $OVN_STATE_DIR/stderr" -e "/|failed to open database '/w $OVN_STATE_DIR/stderr" \
            -e "/No space left on device/w $OVN_STATE_DIR/unwritten" <"$OVN_STATE_DIR/console" &
        console=$!
        ovsdb-server "$@" "$file" 2>"$OVN_STATE_DIR/console" &
    else
        ovsdb-server "$@" "$file" 2>"$OVN_STATE_DIR/stderr" &
    fi
    server=$!
    put revision "${OVN_REVISION-}"
    report running
    [ -z "$stopping" ] || leave_gently
    attend &
    attendant=$!
    code=0
    while kill -0 "$server" 2>/dev/null; do wait "$server"; code=$?; done
    wait "$server" 2>/dev/null # the shell may have reaped it inside the signal handler: then this returns its real code
    last=$?
    [ "$last" -eq 127 ] || code=$last
    server=''
    kill "$attendant" 2>/dev/null
    wait "$attendant" 2>/dev/null
    [ "$code" -ne 0 ] || end_witness
    if [ -n "$console" ]; then wait "$console"; else cat "$OVN_STATE_DIR/stderr" >&2; fi
}
log_length() { if [ -f "${OVN_LOG_FILE-}" ]; then wc -c <"$OVN_LOG_FILE"; else echo 0; fi; }

# A server that refuses its file says why on stderr (OVS 3.1) or in its log (OVS 3.5). Anything else is an ordinary failure.
# The first time it is asked again at once: only what two starts in a row say is believed.
learn_from_failure() {
    detail=$({ cat "$OVN_STATE_DIR/stderr"; [ ! -f "${OVN_LOG_FILE-}" ] || tail -c "+$((log_size + 1))" "$OVN_LOG_FILE" | tail -n 20; } |
        sed -n -e 's/^ovsdb-server: //p' -e "s/^.*|WARN|failed to open database '[^']*': //p" | grep -vxF 'server configuration failed' | tail -n 1)
    case $detail in
    *'does not belong to cluster'*) class=dead-join ;;
    *'left the cluster'*) class=left ;;
    'ovsdb error: '* | 'syntax error: '* | *': error reading '*'(End of file)'*) class=broken ;;
    *) return 1 ;;
    esac
    identity=''
    [ "$said" = "$class" ] || { said=$class && return 0; }
    said=''
    now=$(stat -L -c '%s %i %y %z' "$file") && put learned "$now$newline$class$newline$detail"
}

# Beside the server, as long as it runs. The first samples come soon, for a server can end before the next one is due.
attend() {
    bounds='' bounds_term='' terms='' was_full='' failures=${OVN_LOG_FILE-} failures_seen=$log_size
    [ "${OVN_CONSOLE-}" != 1 ] || { failures=$OVN_STATE_DIR/unwritten && failures_seen=0; }
    apply_settings
    sample
    sleep 1 >/dev/null 2>&1
    while kill -0 "$server" 2>/dev/null; do
        sample
        complete_file
        if [ "$was_full" = yes ]; then sleep 1; else sleep "${OVN_WITNESS_SECONDS:-10}"; fi >/dev/null 2>&1
    done
}

# What a follower cannot write to a full disk it keeps in memory. Once there is room it writes what follows and acknowledges all, and no server
# starts from a file with such a hole. A compaction writes the whole file from memory.
complete_file() {
    space=$(stat -f -c '%a %S' "$directory" 2>/dev/null) && size=$(stat -L -c %s "$file" 2>/dev/null) || return 0
    free=$((${space% *} * ${space#* }))
    if write_failed || [ "$free" -lt 65536 ]; then
        [ -n "$was_full" ] || say "$who: the disk of $file is full. Free space on it before this server is stopped: its file is completed then."
        was_full=yes
        # What a run asks before it stops this server. Not `:`, whose failed redirection would end this shell (POSIX 2.8.1).
        printf '' >"$OVN_STATE_DIR/incomplete" || :
    fi
    [ -n "$was_full" ] && [ "$free" -gt $((size + 65536)) ] || return 0
    if answer=$(ovs-appctl -T 600 -t "$ctl" ovsdb-server/compact "$name" 2>&1); then answer=''; fi
    case $answer in
    '' | *'not storing a duplicate snapshot'*)
        was_full=''
        rm -f "$OVN_STATE_DIR/incomplete"
        say "$who: the disk of $file has room again, and the file is complete." ;;
    *) was_full=later ;; # a server that has stopped after a failed write says no each time
    esac
}
# Whether the server's log has said so since the last check: a large transaction fails on a disk where small ones still fit.
write_failed() {
    [ -f "$failures" ] || return 1
    failures_now=$(wc -c <"$failures")
    [ "$failures_now" -ge "$failures_seen" ] || failures_seen=0
    from=$((failures_seen + 1))
    failures_seen=$failures_now
    tail -c "+$from" "$failures" | grep -q 'No space left on device'
}

# These live in the process only, so each start sets them again.
apply_settings() {
    until ovs-appctl -vsyslog:off -T 5 -t "$ctl" version >/dev/null 2>&1; do
        kill -0 "$server" 2>/dev/null || return 0
        sleep 0.5
    done
    [ -z "${OVN_MEMORY_TRIM-}" ] || ovs-appctl -T 5 -t "$ctl" ovsdb-server/memory-trim-on-compaction "$OVN_MEMORY_TRIM"
}

# `exit` hands the leadership over in milliseconds; a plain SIGTERM costs the cluster an election.
leave_gently() {
    stopping=yes
    [ -n "$server" ] && [ -z "$asked" ] || return 0
    asked=yes
    ovs-appctl -T @HANDOVER@ -t "$ctl" exit >/dev/null 2>&1 || kill -TERM "$server" 2>/dev/null
}

# The highest index that this member is known to have had.
highest_known() {
    highest=$known_index exact_index=${exact#* } exact_index=${exact_index%% *}
    if [ -z "$highest" ] || { [ -n "$exact_index" ] && [ "$exact_index" -gt "$highest" ]; }; then highest=$exact_index; fi
    printf '%s\n' "$highest"
}

exit_code() { case $decision in ask) echo 10 ;; refuse) echo 11 ;; idle) echo 12 ;; *) echo 0 ;; esac; }

run() {
    told='' said=''
    rm -f "$OVN_STATE_DIR/learned" "$OVN_STATE_DIR/readable"
    put state starting
    while [ -z "$stopping" ]; do
        printf '' >"$OVN_STATE_DIR/beat"
        decide
        if [ "$decision" = create ] && vetoed_by_peer; then
            vetoed=$seen # not even when the peer stops answering: the record has to change first
            [ -n "$stopping" ] || continue
        fi
        case $decision in
        create | join)
            report "$decision" "$reason"
            say "$reason"
            [ -z "$stopping" ] || break
            new_file || { report failed "$who: cannot $decision. See the log of this unit or pod." && exit 1; } ;;
        start)
            if [ -n "$told" ]; then # the file was read before the wait
                told='' identity=''
                rm -f "$OVN_STATE_DIR/readable"
                continue
            fi
            say "$reason"
            serve
            if [ -n "$stopping" ] || [ "$code" -eq 0 ]; then
                report stopped
                # With this process the hook of the pod that has asked the server to end would be killed, and the pod would show a failure.
                [ -n "$stopping" ] || [ "${OVN_WAIT-}" != 1 ] || { sleep 3 & wait $!; }
                exit "$code"
            fi
            detail='' # that was about the file
            if [ "$code" -eq 1 ] && learn_from_failure; then continue; fi
            reason="$who: ovsdb-server ended with code $code: ${detail:-nothing was said}. See ${OVN_LOG_FILE:-its log}."
            report failed "$reason"
            say "$reason"
            exit "$code" ;;
        *)
            [ "$told" = "$reason" ] || { report "$decision" "$reason" && say "$reason" && told=$reason; }
            [ "${OVN_WAIT-}" = 1 ] || exit "$(exit_code)"
            sleep "${OVN_POLL:-3}" &
            [ -n "$stopping" ] || wait $! ;; # a signal that came meanwhile would not end it
        esac
    done
    report stopped
    exit 0
}

# The pid file may be stale and the pid reused: only a process with our file on its command line counts.
server_lives() { [ -n "$pid" ] && tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -- "$file"; }

stop() {
    pid=$(cat "$pid_file" 2>/dev/null)
    server_lives || return 0
    ovs-appctl -T @HANDOVER@ -t "$ctl" exit >/dev/null 2>&1 || kill -TERM "$pid" 2>/dev/null
    tries=0
    while [ "$tries" -lt @AFTER_SIGNAL@0 ]; do
        server_lives || return 0
        tries=$((tries + 1))
        sleep 0.1
    done
    say "$who: ovsdb-server $pid still runs @AFTER_SIGNAL@ s after exit. Look at $ctl and at the disk."
    return 1
}

# The launcher waits for the run, and has read the record lately; or the server answers. Role, quorum and peers are no reason to kill a member.
alive() {
    now=''
    [ ! -r "$OVN_STATE_DIR/state" ] || read -r now <"$OVN_STATE_DIR/state"
    case $now in
    ask | refuse | idle | create | join)
        beat=$(stat -c %Y "$OVN_STATE_DIR/beat" 2>/dev/null)
        [ $(($(date +%s) - ${beat:-0})) -gt 120 ] || return 0 ;;
    esac
    ovs-appctl -T 5 -t "$ctl" version >/dev/null 2>&1 && return 0
    say "$who: the launcher says ${now:-nothing}, and $ctl does not answer within 5 s."
    return 1
}

# The server picks the row that fits, so that nothing of its answer has to be understood here.
ready() {
    load cid
    same=''
    case $value in
    '') ;;
    *[!0-9a-f-]*) say "$who: the cid in $OVN_RECORD_DIR is damaged." && return 1 ;;
    *) same=",[\"cid\",\"==\",[\"uuid\",\"$value\"]]" ;;
    esac
    fits="[\"name\",\"==\",\"$name\"],[\"connected\",\"==\",true],[\"schema\",\"!=\",[\"set\",[]]]$same"
    query="[\"_Server\",{\"op\":\"select\",\"table\":\"Database\",\"where\":[$fits],\"columns\":[\"name\"]}]"
    case $(ovsdb-client -t 3 query "unix:$sock" "$query" 2>/dev/null) in *"\"$name\""*) return 0 ;; esac
    words=''
    [ ! -r "$OVN_STATE_DIR/reason" ] || read -r words <"$OVN_STATE_DIR/reason"
    say "${words:-$who: not connected to ${value:-its cluster}.}"
    return 1
}

case ${1-} in
check)
    settings
    decide
    report "$decision" "$reason"
    code=$(exit_code)
    [ "$code" -eq 0 ] || say "$reason"
    exit "$code" ;;
run)
    server='' stopping='' asked=''
    trap leave_gently TERM INT # first of all: process 1 of a pod is deaf to signals that it does not trap
    settings && run ;;
stop) settings && stop ;;
alive) settings && alive ;;
ready) settings && ready ;;
state)
    settings
    pid=$(cat "$pid_file" 2>/dev/null)
    ! server_lives || live=yes
    decide
    printf '%s\n' "class=$class" "cid=$cid" "sid=$sid" "name=$file_name" "local_address=$local_address" "remotes=$remotes" \
        "decision=$decision" "reason=$reason" "last_term=$last_term" "last_index=$last_index" "witness=$(highest_known)" "witnesses=$peers" \
        "detail=$detail" ;;
*) fail "usage: ovn-raft-launcher check|run|stop|state|alive|ready" ;;
esac
"""

SCRIPT = (
    (_HEAD + FILE + WITNESS + _DECISION)
    .replace("@HANDOVER@", str(HANDOVER_SECONDS))
    .replace("@AFTER_SIGNAL@", str(AFTER_SIGNAL_SECONDS))
    .replace("@TLS@", SHELL_ARGUMENTS)
)
