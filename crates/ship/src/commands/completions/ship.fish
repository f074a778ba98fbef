# Completes `ship` in fish. The program itself knows the chats, contexts and files.
function __ship_complete
    # The program gets words without quotes, and the last one up to the cursor.
    set --local typed (commandline --current-process --tokenize --cut-at-cursor)
    set --local last (commandline --current-token --cut-at-cursor | string trim --left --chars "'\"")
    set last (string unescape -- "$last"; or echo "$last")
    _SHIP_COMPLETE=fish ship -- $typed "$last"
end
complete --keep-order --exclusive --command ship --arguments "(__ship_complete)"
