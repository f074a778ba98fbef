_clap_complete_ship() {
    # Bash breaks words at : = and @, which chats, flags and attached files have. The pieces are joined again.
    local rest="${COMP_LINE:0:COMP_POINT}" words=() last=-1 at space is_joined
    for ((at = 0; at <= COMP_CWORD; at++)); do
        space="${rest%%[![:space:]]*}"
        rest="${rest#"$space"}"
        is_joined=yes
        if [[ $at -eq 0 || -n $space ]]; then
            is_joined=no
            words[++last]=""
        fi
        if [[ $at -eq $COMP_CWORD ]]; then
            words[last]+="$rest"
        else
            words[last]+="${COMP_WORDS[at]}"
            rest="${rest#"${COMP_WORDS[at]}"}"
        fi
    done
    # Bash replaces only the last piece, which is $2.
    local before=""
    if [[ $is_joined == yes ]]; then
        before="${words[last]%"$2"}"
    elif [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[last]="$2"
    fi
    compopt +o nospace 2> /dev/null
    local IFS=$'\013'
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$last" _SHIP_COMPLETE="bash" \
        ship -- "${words[@]}" \
    ) )
    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_ship ship
else
    complete -o nospace -o bashdefault -F _clap_complete_ship ship
fi
