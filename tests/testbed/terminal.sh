# shellcheck shell=bash
# What `sandbox` and `kind` say: one line a step and a play on the terminal, all the rest in logs. To be sourced by them.
# They set: name (of the script), root (of the checkout), folder (for inventory and logs), shown (the folder, as a user would type it),
# `shopt -s lastpipe`, and have a function where_else, which tells where to look besides the log.

# shellcheck disable=SC2154 # set by the script that sources this
playbook=$root/.venv/bin/ansible-playbook
reports=''

say() { printf '%s\n' "$*"; }
die() {
    # shellcheck disable=SC2154
    printf '%s: %s\n' "$name" "$*" >&2
    exit 1
}
elapsed() { say "$(((${EPOCHREALTIME/[.,]/} - $1) / 100000))" | sed -E 's/^(.)$/0\1/; s/(.)$/.\1/'; }

# write_inventory COMMAND...: what it prints becomes inventory.yml. Somebody may edit that to try something: only a file that is
# as we wrote it is written again.
write_inventory() {
    # shellcheck disable=SC2154
    if [[ -f $folder/inventory.yml ]] && ! (cd "$folder" && sha256sum --quiet --status -c .inventory.sha256 2>/dev/null); then
        # shellcheck disable=SC2154
        say "Inventory: keeping $shown/inventory.yml, which has been edited"
        return
    fi
    "$@" >"$folder/inventory.yml"
    (cd "$folder" && sha256sum inventory.yml >.inventory.sha256)
}

# follow: turns the output of ansible-playbook into a line a play, checks on the control node left out. Sets failures, report and counts.
follow() {
    local line play='' task='' error='' start width=60 in_report=0 in_error=0
    failures=() report='' ok=0 changed=0
    end_play() {
        [[ ! -t 1 || -z $play ]] || printf '\r  %-*.*s' "$width" "$width" "$play"
        [[ -z $play ]] || printf '%7s s\n' "$(elapsed "$start")"
    }
    while IFS= read -r line; do
        if ((in_error)); then # an error may have several lines
            case $line in
                '' | 'Origin: '* | 'fatal: ['* | 'failed: ['* | '<<<'*) in_error=0 ;;
                *)
                    error+=" $line"
                    continue
                    ;;
            esac
        fi
        case $line in
            'PLAY RECAP'*)
                end_play
                play='' in_report=0
                ;;
            'PLAY ['*)
                end_play
                play=${line#PLAY \[} play=${play%\]*} start=${EPOCHREALTIME/[.,]/} in_report=0
                case $play in # on the control node alone, done at once
                    'Check the inventory' | 'Check the rollout of the control plane')
                        play=''
                        continue
                        ;;
                esac
                printf '  %-*.*s' "$width" "$width" "$play"
                ;;
            'TASK ['* | 'RUNNING HANDLER ['*)
                task=${line#*\[} task=${task%\]*} error='' in_report=0
                [[ ${task,,} != *'show the report' ]] || in_report=1 # its lines come before its result
                # On a terminal, say what is waited for at the moment.
                [[ ! -t 1 || -z $play ]] || printf '\r  %-*.*s' "$width" "$width" "$play: ${task#* : }"
                ;;
            '[ERROR]: '*)
                error=${line#\[ERROR\]: } error=${error#Task failed: } error=${error#Module failed: } error=${error#Action failed: }
                in_error=1
                ;;
            'fatal: ['* | 'failed: ['*)
                line=${line#*\[}
                failures+=("${line%%\]*}: $task: $error")
                ;;
            '...ignoring') ((${#failures[@]} == 0)) || unset 'failures[-1]' ;;
            'ok: ['*) in_report=0 ;;
            *ok=*changed=*unreachable=*failed=*)
                line=${line#*ok=}
                ok=$((ok + ${line%% *}))
                line=${line#*changed=}
                changed=$((changed + ${line%% *}))
                ;;
            *)
                ((!in_report)) || report+=$line$'\n'
                ;;
        esac
    done
    end_play
}

# run NAME TEXT [ARGUMENT...]: the playbook c5c3.ovn.NAME; its output goes to NAME.log in the folder.
run() {
    local play=$1 log=$folder/$1.log start=${EPOCHREALTIME/[.,]/} rc failures report ok changed site_packages failure
    say "$2 (log: $shown/$play.log)"
    # This checkout, not a copy of the collection that is installed elsewhere on the host.
    site_packages=("$root"/.venv/lib/python3*/site-packages)
    ANSIBLE_COLLECTIONS_PATH=${site_packages[0]} ANSIBLE_NOCOLOR=1 ANSIBLE_FORCE_COLOR=0 LC_ALL=C.UTF-8 \
        ANSIBLE_STDOUT_CALLBACK=ansible.builtin.default ANSIBLE_CALLBACK_RESULT_FORMAT=yaml ANSIBLE_FORKS=10 \
        "$playbook" -i "$folder/inventory.yml" "c5c3.ovn.$play" "${@:3}" 2>&1 9<&- | tee "$log" | follow && rc=0 || rc=$?
    if ((rc)); then
        printf '\nc5c3.ovn.%s failed:\n' "$play" >&2
        for failure in "${failures[@]:0:5}"; do printf '  %s\n' "$failure" >&2; done
        ((${#failures[@]})) || tail -5 "$log" | sed 's/^/  /' >&2
        die "read $log; $(where_else)"
    fi
    say "  $ok tasks ok, $changed changed, $(elapsed "$start") s"
    reports+=$report
}
