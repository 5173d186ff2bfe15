#!/usr/bin/env bash
# usage: tests/examples/price_service_image.sh [--program PROGRAM] [--mirror URL] FOLDER
#
# Follows examples/price_service/deploy/Dockerfile without Docker: each FROM is a root of that suite of Debian, made by
# debootstrap, in which RUN, COPY and WORKDIR are done line by line. Then the program is started as the container's would
# be: ENTRYPOINT as USER, as the first process of its own, with a network of its own. It has to get well by HEALTHCHECK, to
# answer, and to end in order with SIGTERM, as docker stop sends it.
#
#   --program PROGRAM  the stage that builds is left out, and PROGRAM is what it would have built
#   --mirror URL       where Debian's packages are; default: as debootstrap says
#   FOLDER             the roots are there: fetched ones are kept, 150 MB, others removed
#
# The stage that builds fetches a compiler and all libraries, and takes six minutes of processor time.
#
# It needs root's rights and Debian's packages; PROGRAM the libraries that the image has, so a system of the same suite. Ends
# with 77 where one of these is missing. The tests of ctest do not run
# it: scripts/check --long does.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
usage_if_asked "$@"

program=
mirror=http://deb.debian.org/debian
while [[ ${1:-} == --* ]]; do
  [[ -n ${2:-} ]] || die "$1 needs a value, see --help"
  case $1 in
    --program)
      [[ -x $2 ]] || die "'$2' is no program"
      program=$(realpath "$2")
      ;;
    --mirror) mirror=$2 ;;
    *) die "unknown option '$1', see --help" ;;
  esac
  shift 2
done
[[ $# == 1 ]] || die "FOLDER is needed, see --help"
skip() {
  echo "skipped the image: $*"
  exit 77
}
[[ $(id -u) == 0 ]] || skip "only root makes roots of Debian"
unshare --net --mount --pid --fork ip link set lo up 2>/dev/null || skip "no namespaces of its own can be had here"
mkdir -p "$1"
folder=$(realpath "$1")
dockerfile=$root/examples/price_service/deploy/Dockerfile
work=$(mktemp -d "$folder/image.XXXXXX")
container=
unshared=
cleanup() {
  [[ -z $container ]] || kill -KILL "$container" 2>/dev/null || true
  # Its files are removed when it has ended.
  [[ -z $unshared ]] || { kill -KILL "$unshared" && wait "$unshared"; } 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

# The instructions, one a line.
instructions=$(sed -E '/^[[:space:]]*#/d; /^[[:space:]]*$/d' "$dockerfile" | sed -e ':a' -e '/\\$/N; s/\\\n//; ta')

if [[ -n $program ]]; then
  suite=$(sed -nE 's/^FROM debian:([a-z]+)-slim$/\1/p' <<<"$instructions")
  # shellcheck disable=SC1091  # each system has its own
  here=$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
  [[ $here == "debian $suite" ]] || skip "the image has the libraries of Debian $suite, and $program those of ${here:-this system}"
fi

# debootstrap COMMAND-LINE: that of this system, or of its package, which is fetched.
debootstrap() {
  local package
  if command -v /usr/sbin/debootstrap >/dev/null; then
    /usr/sbin/debootstrap "$@"
    return
  fi
  if [[ ! -d $folder/debootstrap ]]; then
    mkdir "$work/package"
    (cd "$work/package" && apt-get -qq -o APT::Sandbox::User=root download debootstrap) || return
    package=$(echo "$work"/package/*.deb)
    dpkg-deb --extract "$package" "$work/debootstrap" && mv "$work/debootstrap" "$folder"
  fi
  DEBOOTSTRAP_DIR=$folder/debootstrap/usr/share/debootstrap "$folder/debootstrap/usr/sbin/debootstrap" "$@"
}

# from IMAGE STAGE: a root for the stage.
from() {
  local suite
  suite=$(sed -nE 's/^debian:([a-z]+)(-slim)?$/\1/p' <<<"$1")
  [[ -n $suite ]] || die "FROM $1: no image of Debian"
  if [[ ! -d $folder/$suite ]]; then
    say "fetching Debian $suite"
    debootstrap --variant=minbase "$suite" "$work/$suite" "$mirror" </dev/null >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log"; skip "Debian $suite cannot be had"; }
    mv "$work/$suite" "$folder/$suite"
  fi
  stage=$work/stage-$2
  cp -a "$folder/$suite" "$stage"
  cp /etc/resolv.conf "$stage/etc/resolv.conf"
  # As in Debian's images: what is installed starts no services.
  printf '#!/bin/sh\nexit 101\n' >"$stage/usr/sbin/policy-rc.d" && chmod 755 "$stage/usr/sbin/policy-rc.d"
  # A root that was kept, too. What fails later is a fault of the Dockerfile.
  inside apt-get -o APT::Update::Error-Mode=any update >"$work/run.log" 2>&1 ||
    { tail -n 5 "$work/run.log"; skip "the packages of Debian $suite cannot be had"; }
}
# inside COMMAND...: in the stage's root and folder.
inside() {
  # shellcheck disable=SC2016  # expanded in there
  unshare --mount --pid --fork --kill-child --mount-proc="$stage/proc" chroot "$stage" /usr/bin/env -i DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -c 'cd "$0" && exec "$@"' "$folder_inside" "$@" </dev/null
}
copy() {
  local from=$1 to=$2
  case $from in
    --from=*)
      if [[ -n $program ]]; then
        install -D -m 755 "$program" "$stage$3$(basename "$2")"
      else
        cp -a "$work/stage-${from#--from=}$to" "$stage$3"
      fi
      ;;
    .)
      mkdir -p "$stage$to"
      # What git knows, without what the image's own list leaves out.
      git -C "$root" ls-files -z | grep -zvxFf "$dockerfile.dockerignore" |
        tar -C "$root" --null --files-from=- --create | tar -C "$stage$to" --extract
      ;;
    *) die "COPY $*: not understood" ;;
  esac
}

user=root
entrypoint=()
health=()
# array JSON NAME: its texts, without commas next to quotes, become NAME.
array() {
  local -n texts=$2
  local part
  texts=()
  while IFS= read -r part; do
    printf -v part %b "$part"
    texts+=("$part")
  done < <(sed -E 's/^\["//; s/"\]$//; s/", *"/\n/g' <<<"$1")
}
number=0
stage=
folder_inside=/
is_left_out=false
while read -r word rest; do
  if [[ $word != FROM && $is_left_out == true ]]; then continue; fi
  say "$word $rest"
  case $word in
    FROM)
      number=$((number + 1))
      name=$number
      [[ $rest != *" AS "* ]] || name=${rest##* AS }
      is_left_out=false
      if [[ -n $program && $name == build ]]; then is_left_out=true && say "left out: $program is there"; fi
      folder_inside=/
      [[ $is_left_out == true ]] || from "${rest%% *}" "$name"
      ;;
    RUN) inside sh -c "$rest" >"$work/run.log" 2>&1 || { tail -n 30 "$work/run.log"; die "failed: RUN $rest"; } ;;
    COPY) read -ra words <<<"$rest" && copy "${words[@]}" ;;
    WORKDIR) folder_inside=$rest ;;
    USER) user=$rest ;;
    HEALTHCHECK) array "${rest#*CMD }" health ;;
    ENTRYPOINT) array "$rest" entrypoint ;;
    *) die "$word: not understood" ;;
  esac
done <<<"$instructions"

say "starting ${entrypoint[*]} as $user"
# The first process of the container has signals of its own: what it does not handle does not reach it.
# shellcheck disable=SC2016  # expanded in there
unshare --net --mount --pid --fork --kill-child --mount-proc="$stage/proc" sh -c '
  ip link set lo up && exec chroot --userspec="$0" "$@"' "$user" "$stage" /usr/bin/env -i RELEASE_COOKIE=secret \
  PATH=/usr/local/bin:/usr/bin:/bin "${entrypoint[@]}" --name prices@127.0.0.1 >"$work/out" 2>&1 &
unshared=$!
end=$((SECONDS + 60))
fails() {
  sed 's/^/        | /' "$work/out"
  die "$*"
}
# within COMMAND...: in the container, as docker exec.
within() {
  nsenter --target "$container" --net --mount --pid chroot --userspec="$user" "$stage" "$@"
}
until container=$(pgrep -P "$unshared" 2>/dev/null) && within "${health[@]}" 2>/dev/null; do
  kill -0 "$unshared" 2>/dev/null || fails "it has ended"
  ((SECONDS < end)) || fails "it does not get well"
  sleep 0.2
done
echo "ok      healthy"
[[ $(within stat -c %U /proc/1) == "$user" ]] || fails "it does not run as $user"
answer=$(within bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 && printf "PUT /workers/6 HTTP/1.0\r\n\r\n" >&3 && cat <&3' | tail -n 1)
[[ $answer == "workers 6" ]] || fails "it answers '$answer'"
echo "ok      answers"
within epmd -names | grep -q '^name prices at port ' || fails "Erlang's port mapper does not know it"
echo "ok      known to EPMD"
kill -TERM "$container"
end=$((SECONDS + 60))
while kill -0 "$unshared" 2>/dev/null; do
  ((SECONDS < end)) || fails "SIGTERM does not end it"
  sleep 0.2
done
status=0
wait "$unshared" || status=$?
container=
unshared=
[[ $status == 0 ]] || fails "SIGTERM: exit status $status"
echo "ok      SIGTERM ends it in order"
