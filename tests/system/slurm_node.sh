#!/bin/bash
# One real Slurm node on this machine, as root, from Debian's packages, without systemd and cgroups:
#     slurm_node.sh up      install what is missing, start what does not run, wait until jobs run
#     slurm_node.sh down    kill the daemons as a crash would
#     slurm_node.sh leave   kill them for good
# Job states come from squeue; there is no accounting.
set -euo pipefail
host=$(hostname -s)
memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
logs=/var/log/slurm runtime=/run/slurm state=/var/lib/slurm
export DEBIAN_FRONTEND=noninteractive

# A process may be dead and not yet reaped: its entry in /proc tells, `kill -0` does not.
runs() {
    [ -s "$1" ] && grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$1")/status" 2>/dev/null
}

wait_for() {
    for _ in $(seq 150); do
        timeout 5 "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    echo "not ready after 30 s: $*" >&2
    tail -n 5 $logs/*.log >&2
    exit 1
}

configuration() {
    # DefMemPerCPU: a job that asks for no memory would take that of the whole node.
    # EnforcePartLimits: a job that can never run is refused at once instead of waiting for ever.
    # MinJobAge: squeue has to know the end of a job for as long as Snakemake may ask.
    cat <<EOF
ClusterName=tests
SlurmctldHost=$host(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
CryptoType=crypto/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=$((memory / $(nproc)))
ReturnToService=1
MinJobAge=3600
EnforcePartLimits=ALL
KillWait=5
InactiveLimit=60
MailProg=/bin/true
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
StateSaveLocation=$state/slurmctld
SlurmdSpoolDir=$state/slurmd
SlurmctldPidFile=$runtime/slurmctld.pid
SlurmdPidFile=$runtime/slurmd.pid
SlurmctldLogFile=$logs/slurmctld.log
SlurmdLogFile=$logs/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=tests Nodes=$host Default=YES MaxTime=UNLIMITED State=UP OverSubscribe=NO
EOF
}

up() {
    packages="slurmctld slurmd slurm-client munge"
    # shellcheck disable=SC2086
    if ! dpkg -s $packages >/dev/null 2>&1; then
        apt-get update -q && apt-get install -yq --no-install-recommends $packages
    fi >&2
    install -d -o munge -g munge -m 755 /run/munge
    install -d -o slurm -g slurm $runtime $logs $state $state/slurmctld
    [ -s /etc/munge/munge.key ] || { mungekey -c && chown munge: /etc/munge/munge.key; }
    # --force takes over the socket of a munged that was killed.
    runs /run/munge/munged.pid ||
        setpriv --reuid=munge --regid=munge --init-groups munged --force
    wait_for sh -c 'munge -n | unmunge'
    mkdir -p /etc/slurm
    configuration >/etc/slurm/slurm.conf
    # -c forgets jobs from before a crash, whose allocation would keep the node busy.
    runs $runtime/slurmctld.pid || slurmctld -c
    runs $runtime/slurmd.pid || slurmd
    wait_for srun -n1 true
    sinfo
}

down() {
    for daemon in slurmd slurmctld; do
        if runs $runtime/$daemon.pid; then kill -KILL "$(cat $runtime/$daemon.pid)"; fi
    done
}

# Where the scheduler is configured and does not answer, every start of Snakemake waits nine seconds
# for it: its plugin asks for the settings.
leave() {
    down
    rm -f /etc/slurm/slurm.conf
}

"$1"
