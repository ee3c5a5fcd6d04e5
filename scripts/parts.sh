# A long script's parts, and at its end how long each took, also when one has failed: then that is said last. Sourced.
#
#   . scripts/parts.sh
#   part "contracts: sizes"
#   python scripts/contract_sizes.py
#
# A part lasts until the next one begins.
part_names=() part_seconds=()

part() {
  _part_ends
  part_names+=("$1")
  part_began=$SECONDS
  printf '\n\033[1m== %s\033[0m\n' "$1"
}

_part_ends() {
  [ ${#part_names[@]} = 0 ] || part_seconds+=($((SECONDS - part_began)))
}

_parts_told() { # _parts_told [CODE]: for a trap that has more to do at the end
  local code=${1:-$?} index
  [ ${#part_names[@]} = 0 ] && return
  _part_ends
  printf '\n'
  for index in "${!part_names[@]}"; do
    printf '%6s s  %s\n' "${part_seconds[$index]}" "${part_names[$index]}"
  done
  printf '%6s s  altogether\n' "$SECONDS"
  if [ $code = 0 ]; then
    printf '\nAll of it passed.\n'
  else
    printf '\nFailed with exit code %s: %s. What would have followed was not run.\n' $code "${part_names[-1]}"
  fi
}
trap _parts_told EXIT
# Of who is interrupted, the exit code would be the last command's: all of it passed.
trap 'exit 130' INT
trap 'exit 143' TERM
