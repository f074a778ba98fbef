#compdef ship
# Completes `ship` in zsh. The program itself knows the chats, contexts and files.
_ship() {
    local line home
    local -a typed folders others any
    # The program gets words without quotes, and the last one up to the cursor.
    typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    # A context is also found by its title, which its id does not begin with. So zsh takes any candidate.
    any=(-U)
    # It would quote the ~ of a home folder, which is therefore no part of a candidate.
    compset -P '(@|--*=|)\~/' && home=$IPREFIX any=()
    for line in "${(@f)$(
        _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) _SHIP_COMPLETE="zsh" \
            ship -- "${typed[@]}" 2>/dev/null
    )}"; do
        line=${line#"$home"}
        # A folder is left open. It has no description, which would stand behind a colon.
        if [[ $line == */ && $line != *[^\\]:* ]]; then
            folders+=("${line%/}")
        elif [[ -n $line ]]; then
            others+=("$line")
        fi
    done
    (( $#folders )) && _describe -V 'folders' folders $any -S '/' -r '/'
    (( $#others )) && _describe -V 'values' others $any
}
compdef _ship ship
