#!/usr/bin/env bash
# usage: tests/examples/price_service_systemd.sh PROGRAM
#
# Starts examples/price_service/deploy/price_service.service as it is delivered with a systemd of its own, and PROGRAM as
# its service: it gets active by READY=1, is asked over HTTP, its watchdog pings are accepted, it is reloaded, stopped while it
# answers no more (kill -STOP), which the watchdog notices and ends with a restart, and it stops in order.
#
# That systemd is the first process of a PID namespace with a root, a network and a control group of its own, which has this
# system's /usr, for reading, and else only what the unit's comment installs. It ends with this script, however that ends,
# and its mounts with it. Skipped, with words, where there is no systemd or where it cannot be had that way: it takes root's
# rights and control groups of version 2.
set -euo pipefail
program=$(realpath "$1")
deploy=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/price_service/deploy" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/../cluster/tls_files.sh"
skip() {
  echo "skipped the start by systemd: $*"
  exit 77
}
if [[ ! -x /usr/lib/systemd/systemd ]] || ! command -v systemctl >/dev/null; then absent systemd systemd; fi
command -v epmd >/dev/null || absent epmd erlang-base
[[ $(id -u) == 0 ]] || skip "only root can have namespaces of its own"
[[ -L /bin && -L /sbin && -L /lib ]] || skip "/bin, /sbin and /lib are no links into /usr here"

work=$(mktemp -d)
group=ergon_unit_$$
unshared=
# groups_do COMMAND: runs it in the folder of this process's control group.
groups_do() {
  # shellcheck disable=SC2016  # expanded in there
  unshare --mount sh -c 'mount -t cgroup2 none "$0" && cd "$0$1" && eval "$2"' "$work/groups" \
    "$(sed -n 's/^0:://p' /proc/self/cgroup)" "$1" 2>/dev/null
}
cleanup() {
  # When its first process has ended, all others have.
  [[ -z $unshared ]] || { pkill -KILL -P "$unshared" && wait "$unshared"; } 2>/dev/null || true
  # Those of runs that were killed, too.
  # shellcheck disable=SC2016  # expanded in there
  groups_do 'for group in ergon_unit_*; do
    run=${group##*_}
    [ "$run" != '$$' ] && [ -e "/proc/$run" ] || find "$group" -depth -type d -exec rmdir {} \;
  done' || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
mkdir "$work/groups" "$work/root"
groups_do "mkdir $group" || skip "no control group of version 2 can be had here"

# What becomes the first process: makes the root, which only it sees, and goes there.
cat >"$work/first" <<'SCRIPT'
set -eu
root=$1 group=$2 program=$3 deploy=$4 groups=$5
mount --make-rprivate /
mount -t tmpfs -o mode=755 root "$root"
cd "$root"
mkdir -p usr etc/systemd/system/sysinit.target.wants run tmp var/tmp var/log proc sys dev units empty old
ln -s ../run var/run
for link in bin lib lib32 lib64 sbin; do [ ! -L "/$link" ] || ln -s "usr/$link" "$link"; done
mount --bind /usr usr && mount -o remount,bind,ro usr
# Of this system's units only these; and nothing that makes more.
for unit in sysinit basic multi-user network shutdown umount; do cp "usr/lib/systemd/system/$unit.target" units; done
cp usr/lib/systemd/system/systemd-journald.service usr/lib/systemd/system/systemd-journald.socket \
  usr/lib/systemd/system/systemd-journald-dev-log.socket units
mount --bind units usr/lib/systemd/system
for folder in system-generators system-environment-generators; do mount --bind empty "usr/lib/systemd/$folder"; done
for unit in journald.service journald.socket journald-dev-log.socket; do
  ln -s "/usr/lib/systemd/system/systemd-$unit" etc/systemd/system/sysinit.target.wants
done
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc
echo 127.0.0.1 localhost >etc/hosts
echo 0123456789abcdef0123456789abcdef >etc/machine-id
# As the unit's comment says.
mount -t tmpfs -o mode=755 programs usr/local/bin
install -m 755 "$program" usr/local/bin/price_service
install -m 644 "$deploy/price_service.service" etc/systemd/system
install -m 644 "$deploy/price_service.toml" etc
echo RELEASE_COOKIE=secret | install -m 600 /dev/stdin etc/price_service.env
# The kernel's settings are those of this system, which stay as they are.
mount -t proc proc proc && mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sys sys
mount -t tmpfs -o mode=755 devices dev
for device in null zero full random urandom; do : >"dev/$device" && mount --bind "/dev/$device" "dev/$device"; done
: >dev/console
mount -t tmpfs -o mode=755 run run
mount -t cgroup2 groups "$groups" && echo $$ >"$groups$(sed -n 's/^0:://p' /proc/self/cgroup)/$group/cgroup.procs"
ip link set lo up
exec unshare --cgroup sh -c '
  { mount -t tmpfs groups sys/fs/cgroup && mount -t cgroup2 groups sys/fs/cgroup && pivot_root . old && umount -l /old; } &&
  exec chroot . /usr/bin/env -i container=ergon PATH=/usr/sbin:/usr/bin \
    /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=journal --show-status=0'
SCRIPT
setpriv --pdeathsig KILL unshare --mount --pid --net --ipc --uts --fork --kill-child \
  sh "$work/first" "$work/root" "$group" "$program" "$deploy" "$work/groups" >"$work/out" 2>&1 &
unshared=$!

first=
# within COMMAND...: in the namespaces of that systemd.
within() { timeout -k 1 30 nsenter --target "$first" --mount --pid --net --ipc --uts --cgroup "$@"; }
property() { within systemctl show --value --property "$1" price_service; }
fails() {
  echo "FAILED  $*"
  sed 's/^/        | /' "$work/out"
  if [[ -n $first ]]; then
    within systemctl --no-pager status price_service 2>&1 | sed 's/^/        | /' || true
    within journalctl --no-pager --lines 100 2>&1 | sed 's/^/        | /' || true
  fi
  exit 1
}
# eventually NAME COMMAND...: prints the name when the command succeeds; it has half a minute.
eventually() {
  local name=$1 end=$((SECONDS + 30))
  shift
  until "$@" >"$work/last" 2>&1; do
    ((SECONDS < end)) || { cat "$work/last"; fails "$name"; }
    sleep 0.1
  done
  echo "ok      $name"
}
is() { [[ $1 == "$2" ]] || { echo "        '$1', expected '$2'"; return 1; }; }
is_property() { is "$(property "$1")" "$2"; }
differs() { [[ $(property "$1") != "$2" ]]; }
runs() {
  kill -0 "$unshared" 2>/dev/null || skip "this systemd does not start as a first process: $(tail -n 3 "$work/out")"
  first=$(pgrep -P "$unshared" -x systemd) && is "$(within systemctl is-system-running)" running
}
# http METHOD PATH: what is answered.
http() {
  # shellcheck disable=SC2016  # expanded in there
  within bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 && printf "%s %s HTTP/1.0\r\n\r\n" "$@" >&3 && cat <&3' http "$@"
}
answers() { is "$(http "$1" "$2" | tail -n 1)" "$3"; }
logged() { within journalctl --no-pager --quiet --unit price_service --grep "$1"; }

eventually 'systemd runs' runs
within systemctl enable --quiet --now --no-block price_service || fails 'systemctl enable --now'
eventually 'READY=1 makes it active' is_property ActiveState active
started=$(property MainPID)
ready=$(property WatchdogTimestampMonotonic)
is_property NRestarts 0 || fails 'it has started at once'
uid=$(within stat -c %u "/proc/$started")
((uid >= 61184 && uid <= 65519)) || fails "it has a user of its own, of those for DynamicUser, and not $uid"
eventually 'it answers' answers GET /health ok
eventually 'it is administered' answers PUT /workers/6 'workers 6'

# edited WHAT: the file, which is read again.
edited() {
  within sed -i "$1" /etc/price_service.toml
  within systemctl reload price_service || fails 'systemctl reload'
}
edited 's/^# \[pools/[pools/; s/^# pool_size = .*/pool_size = 3/'
eventually 'a reload reads its file again' logged 'SIGHUP: /etc/price_service.toml was read'
[[ $(http GET /stats | grep workers) == 'workers 3' ]] || fails 'it has the new number of workers'
edited 's/^log_level.*/log_level = "loud"/; s/^pool_size = 3/pool_size = 4/'
eventually 'a wrong file changes nothing' logged 'SIGHUP: no option was changed: .*loud'
[[ $(http GET /stats | grep workers) == 'workers 3' ]] || fails 'it keeps the number of workers'
edited 's/^log_level.*/log_level = "info"/'
eventually 'a watchdog ping is accepted' differs WatchdogTimestampMonotonic "$ready"
is_property MainPID "$started" || fails 'it is still the same process'

within kill -STOP "$started"
eventually 'one that does not answer is started again' is_property NRestarts 1
eventually 'the watchdog has ended it' logged 'Watchdog timeout'
eventually 'the new one is active' is_property ActiveState active
[[ $(property MainPID) != "$started" ]] || fails 'it is another process'
eventually 'the new one answers' answers GET /health ok

within systemctl stop price_service || fails 'systemctl stop'
# Ended by itself, with 0.
for pair in ActiveState=inactive Result=success ExecMainCode=1 ExecMainStatus=0; do
  is_property "${pair%=*}" "${pair#*=}" || fails "it stops in order: ${pair%=*}"
done
echo 'ok      it stops in order'
! within pgrep -x price_service || fails 'the service is left'
! within pgrep -x epmd || fails 'its port mapper is left'
echo 'ok      nothing is left of it'
