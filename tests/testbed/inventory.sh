# shellcheck shell=bash
# What inventories of machines begin with, on standard output. To be sourced. The script that sources this sets folder, state and family.

# shellcheck disable=SC2154 # set by the script that sources this
machine_vars() {
    cat <<END
  vars:
    ansible_user: root
    ansible_ssh_private_key_file: $folder/key
    # These machines are recreated all the time, so their host keys say nothing. Never do this with machines that you keep.
    ansible_ssh_common_args: >-
      -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR
      -o ConnectTimeout=5 -o ServerAliveInterval=5 -o ServerAliveCountMax=3
    ansible_ssh_args: -o ControlMaster=auto -o ControlPersist=300s
    ansible_control_path: $state/ssh/%%r@%%h
    ansible_pipelining: true
    ansible_python_interpreter: /usr/bin/python3
    ovn_address: "{{ ansible_host }}"
    ovn_pki_ca_directory_is_kept: true # as long as the machines, also in a container
    ovn_firewall: managed
    ovn_ping_ip_version: ${family#ipv}
END
}
