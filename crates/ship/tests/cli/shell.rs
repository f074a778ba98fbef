//! What `ship` is to a shell: its version, completions, manual pages and variables.

use std::path::Path;
use std::process::Command;

use ship_testkit::terminal::Terminal;

use crate::harness::{Ran, TestShip, array, echo, keys, text};

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let version = TestShip::new().run(&["--version"]).text();
    let version = version.trim_end();
    let number = concat!("ship ", env!("CARGO_PKG_VERSION"));
    if version == number {
        return;
    }
    let commit = version.strip_prefix(number).and_then(|rest| rest.strip_prefix(" ("));
    let (hash, date) = commit.unwrap().strip_suffix(')').unwrap().split_once(' ').unwrap();
    assert!(hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{version}");
    assert!(date.len() == 10 && date.chars().all(|c| c.is_ascii_digit() || c == '-'), "{version}");
}

/// Completes a command line in bash, with the script that `ship completions` prints.
fn complete(ship: &TestShip, words: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_ship")).parent().unwrap();
    let script = "source <(ship completions bash)
        COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMP_LINE=\"$*\"; COMP_POINT=${#COMP_LINE}
        _clap_complete_ship ship \"${@: -1}\" \"\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]).args(words).current_dir(ship.root()).env_clear();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let output = command.env("PATH", path).env("HOME", ship.home()).output().unwrap();
    let ran = Ran(output);
    ran.text().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_the_flags_of_each() {
    let ship = TestShip::new();
    assert_eq!(complete(&ship, &["ship", "con"]), ["context", "config"]);
    let shells = complete(&ship, &["ship", "completions", ""]);
    assert_eq!(shells, ["bash", "zsh", "fish", "--help"]);
    assert_eq!(complete(&ship, &["ship", "history", "--c"]), ["--chat"]);
    let of_logs = complete(&ship, &["ship", "logs", "--"]);
    assert!(of_logs.contains(&"--follow".to_owned()), "{of_logs:?}");
    let of_verify = complete(&ship, &["ship", "verify", "--"]);
    assert!(!of_verify.contains(&"--chat".to_owned()), "{of_verify:?}");
}

#[test]
fn bash_completes_chats_contexts_checkpoints_settings_and_folders() {
    let ship = TestShip::new();
    let run = |arguments: &[&str]| ship.run(arguments).text();
    run(&["send", "hello"]);
    run(&["send", "hello", "--chat", "api:one"]);
    run(&["context", "rename", "database plan"]);
    run(&["context", "new"]);
    run(&["send", "hello"]);
    run(&["checkpoint", "before the rewrite"]);
    let complete = |words: &[&str]| complete(&ship, words);
    assert_eq!(complete(&["ship", "history", "--chat", ""]), ["api:one", "main"]);
    assert_eq!(complete(&["ship", "--chat", "terminal:", "history", "--chat", "m"]), ["main"]);

    let left = ship.run(&["context", "list", "--json"]).json();
    let left = text(&array(&left, "items")[0], "contextId");
    assert_eq!(complete(&["ship", "context", "load", "c_"]), [left.as_str()]);
    assert_eq!(complete(&["ship", "context", "show", "data"]), [left.as_str()]);
    assert_eq!(complete(&["ship", "--chat", "api:one", "context", "load", "c_"]), [""]);
    assert_eq!(complete(&["ship", "rewind", "bef"]), ["'before the rewrite'"]);
    let places = complete(&["ship", "fork", "--at", ""]);
    assert_eq!(places[0], "'before the rewrite'");
    let message =
        text(ship.run(&["history", "--json", "--last", "1"]).json_lines().last().unwrap(), "id");
    assert!(places[1..].contains(&message), "{places:?}");
    assert_eq!(complete(&["ship", "rewind", &message[..9]]), [message]);
    assert_eq!(complete(&["ship", "config", "set", "llm.re"]), ["llm.retries", "llm.requestFacts"]);
    std::fs::create_dir(ship.root().join("elsewhere")).unwrap();
    assert_eq!(complete(&["ship", "--project", "else"]), ["elsewhere/"]);
    assert_eq!(complete(&["ship", "--project", "elsewhere", "--chat", "m"]), [""]);
}

#[test]
fn bash_completes_values_requests_and_files() {
    let ship = TestShip::new().file("notes.txt", "facts");
    let _ = ship.run(&["send", "hello"]).text();
    let complete = |words: &[&str]| complete(&ship, words);
    let providers = complete(&["ship", "config", "set", "llm.provider", ""]);
    assert_eq!(providers[..3], ["openai", "anthropic", "offline"]);
    assert_eq!(complete(&["ship", "config", "set", "--user", "llm.logMessages", "f"]), ["false"]);
    let request = text(&ship.run(&["inspect", "--requests", "--json"]).json_lines()[0], "id");
    assert_eq!(complete(&["ship", "inspect", "--request", ""]), [request.as_str()]);
    assert_eq!(complete(&["ship", "logs", "--request", "q_"]), [request.as_str()]);
    assert_eq!(complete(&["ship", "send", "-f", ""]), ["notes.txt"]);
    assert_eq!(complete(&["ship", "send", "what is in", "@n"]), ["@notes.txt"]);
}

#[test]
fn bash_completes_words_that_it_breaks_in_pieces() {
    let ship = TestShip::new().file("notes.txt", "facts");
    let _ = ship.run(&["send", "hello", "--chat", "api:one"]).text();
    let program = Path::new(env!("CARGO_BIN_EXE_ship")).parent().unwrap();
    for (typed, completed) in [
        ("ship history --chat api:", "ship history --chat api:one "),
        ("ship history --chat=api:o", "ship history --chat=api:one "),
        ("ship --chat api:one send @", "ship --chat api:one send @notes.txt "),
    ] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "--noprofile", "-i"]).current_dir(ship.root()).env_clear();
        let path = format!("{}:/usr/bin:/bin", program.display());
        bash.env("PATH", path).env("HOME", ship.home()).env("PS1", "$ ");
        let mut terminal = Terminal::open(bash, 100);
        terminal.until("$ ");
        terminal.types("source <(ship completions bash)\r");
        terminal.until("$ ");
        terminal.types(&format!("{typed}\t"));
        terminal.until(completed);
    }
}

/// Beginnings of lines that a person types, each with the line that Tab makes of it and the word that is completed.
const TYPED_AND_COMPLETED: [(&str, &str, &str); 7] = [
    ("ship send --fi", "ship send --file ", "--file"),
    ("ship history --chat api:", "ship history --chat api:one ", "api:one"),
    ("ship history --chat=a", "ship history --chat=api:one ", "--chat=api:one"),
    ("ship send -f tw", "ship send -f two\\ words.txt ", "two words.txt"),
    ("ship send -f 'two", "ship send -f 'two words.txt' ", "two words.txt"),
    ("ship send -f fol\\ der/", "ship send -f fol\\ der/inner.txt ", "fol der/inner.txt"),
    ("ship send hello @~/l", "ship send hello @~/letter.txt ", "@~/letter.txt"),
];

fn with_files_to_complete() -> TestShip {
    let ship = TestShip::new().file("two words.txt", "a").file("fol der/inner.txt", "b");
    std::fs::write(ship.home().join("letter.txt"), "c").unwrap();
    let _ = ship.run(&["send", "hello", "--chat", "api:one"]).text();
    ship
}

/// Returns the command that starts a shell in a project, with `ship` in its path; `None` where there is no such shell.
fn shell(ship: &TestShip, name: &str) -> Option<Command> {
    let program = Path::new("/usr/bin").join(name);
    if !program.exists() {
        eprintln!("skipped: {name} is not installed");
        return None;
    }
    let mut shell = Command::new(program);
    let folder = Path::new(env!("CARGO_BIN_EXE_ship")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    shell.current_dir(ship.root()).env_clear().env("PATH", path).env("HOME", ship.home());
    Some(shell)
}

#[test]
fn zsh_completes_words_with_colons_quotes_and_a_home_folder() {
    let ship = with_files_to_complete();
    let Some(mut zsh) = shell(&ship, "zsh") else { return };
    zsh.args(["-f", "-i"]).env("PS1", "$ ").env("TERM", "dumb");
    let mut terminal = Terminal::open(zsh, 100);
    terminal.until("$ ");
    terminal.types("autoload -U compinit; compinit -D -u; source <(ship completions zsh)\r");
    terminal.until("$ ");
    for (typed, completed, _) in TYPED_AND_COMPLETED {
        terminal.types(&format!("{typed}\t"));
        terminal.until(completed);
        // Ctrl-U empties the line.
        terminal.types("\x15");
    }
}

#[test]
fn fish_completes_words_with_colons_quotes_and_a_home_folder() {
    let ship = with_files_to_complete();
    for (typed, _, word) in TYPED_AND_COMPLETED {
        let Some(mut fish) = shell(&ship, "fish") else { return };
        fish.args(["-c", "ship completions fish | source; complete -C $argv", typed]);
        let found = Ran(fish.output().unwrap()).text();
        let words: Vec<&str> = found.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, [word], "{typed}");
    }
}

#[test]
fn each_shell_gets_a_script_that_calls_ship_and_help_says_where_it_goes() {
    let ship = TestShip::new();
    let help = ship.run(&["completions", "--help"]).text();
    for (shell, line) in [
        ("bash", "source <(ship completions bash)"),
        ("zsh", "source <(ship completions zsh)"),
        ("fish", "ship completions fish | source"),
    ] {
        let script = ship.run(&["completions", shell]).text();
        assert!(
            script.contains(&format!("_SHIP_COMPLETE=\"{shell}\"")) || shell == "fish",
            "{script}"
        );
        assert!(script.contains("ship"), "{script}");
        assert!(help.contains(line), "{help}");
    }
    assert_eq!(ship.run(&["completions", "tcsh"]).code(), 2);
    assert!(!ship.root().join(".ship").exists());
}

#[test]
fn the_manual_is_printed_or_written_page_by_page() {
    let ship = TestShip::new();
    let page = ship.run(&["man"]).text();
    for piece in [".TH ship 1", ".SH SYNOPSIS", "SHIP_CHAT", "ship\\-send(1)"] {
        assert!(page.contains(piece), "{piece} is not in {page}");
    }
    assert_eq!(ship.run(&["man", "new/man1"]).text(), "");
    for page in ["ship.1", "ship-send.1", "ship-context-load.1"] {
        assert!(ship.root().join("new/man1").join(page).is_file(), "{page}");
    }
    let read =
        |page: &str| std::fs::read_to_string(ship.root().join("new/man1").join(page)).unwrap();
    for (page, pieces) in [
        ("ship.1", &[".SH EXAMPLES\n.nf\n  ship init", ".SH \"EXIT STATUS\"\n.nf\n0 done"][..]),
        ("ship-send.1", &["[TEXT]...", ".SH NOTES\n.nf\nA pipe or a file"]),
        ("ship-context-load.1", &["<ID|QUERY>...", ".SH EXAMPLES\n"]),
    ] {
        let text = read(page);
        let number = concat!("\"ship ", env!("CARGO_PKG_VERSION"), "\" Shipmate\n");
        assert!(text.lines().any(|line| format!("{line}\n").ends_with(number)), "{text}");
        pieces.iter().for_each(|piece| assert!(text.contains(piece), "{piece}: {text}"));
        assert!(!text.contains("EXTRA"), "{text}");
    }
    ship.write("file", "");
    let complaint = ship.run(&["man", "file/man1"]).complaint();
    assert!(complaint.contains("file/man1 cannot be written: "), "{complaint}");
}

#[test]
fn variables_choose_project_and_chat_and_flags_win() {
    let ship = TestShip::new().env("SHIP_CHAT", "terminal:env").env("SHIP_PROJECT", "elsewhere");
    std::fs::create_dir(ship.root().join("elsewhere")).unwrap();
    let _ = ship.run(&["send", "hello"]).text();
    let chats = |ran: Ran| {
        let json = ran.json();
        array(&json, "chats").iter().map(|chat| text(chat, "chatKey")).collect::<Vec<_>>()
    };
    assert!(ship.root().join("elsewhere/.ship/chat").is_dir());
    assert_eq!(chats(ship.run(&["chats", "--json"])), ["terminal:env"]);
    let _ = ship.run(&["--chat", "terminal:flag", "send", "hello", "--project", "."]).text();
    assert_eq!(chats(ship.run(&["chats", "--json", "--project", "."])), ["terminal:flag"]);

    let hint = |arguments: &[&str]| text(&ship.run(arguments).error(), "hint");
    assert_eq!(hint(&["--json", "send", ""]), "ship send 'hello'", "the shell has both");
    assert_eq!(
        hint(&["--json", "send", "", "--chat", "terminal:main"]),
        "ship send 'hello' --chat terminal:main",
        "without the flag it would be the chat of the variable"
    );

    let ship = TestShip::new().env("SHIP_CHAT", "").env("SHIP_PROJECT", "");
    let _ = ship.run(&["send", "hello"]).text();
    assert_eq!(chats(ship.run(&["chats", "--json"])), ["terminal:main"], "an empty one is not set");
}

#[test]
fn a_chat_of_the_terminal_needs_no_channel_unless_another_has_the_name() {
    let ship = TestShip::new();
    let _ = ship.run(&["send", "hello"]).text();
    let said = |chat: &str| {
        let lines = ship.run(&["history", "--json", "--chat", chat]).json_lines();
        lines.first().map(crate::harness::message_text)
    };
    assert_eq!(said("main").as_deref(), Some("hello"));
    let _ = ship.run(&["send", "beside", "--chat", "other"]).text();
    assert_eq!(said("other").as_deref(), Some("beside"), "a new chat has the name it was given");
    std::fs::create_dir_all(ship.root().join(".ship/chat/main")).unwrap();
    let answered = ship.run(&["send", "mine", "--chat", "main"]).text();
    assert_eq!(answered, format!("{}\n", echo("mine")));
    assert_eq!(said("main").as_deref(), Some("mine"));
    assert_eq!(said("terminal:main").as_deref(), Some("hello"));
    assert_eq!(keys(&ship.run(&["chats", "--json"]).json()), ["chats"]);
}

#[test]
fn the_first_message_in_a_folder_says_that_it_made_one_for_the_chats() {
    let ship = TestShip::new();
    let first = ship.run(&["send", "hello"]);
    let made = format!("(created {}/.ship to keep the chats)\n", ship.root().display());
    assert_eq!((first.text(), first.err()), (format!("{}\n", echo("hello")), made));
    assert_eq!(ship.run(&["send", "hello"]).err(), "");
    assert_eq!(TestShip::new().run(&["send", "--json", "hello"]).err(), "");
    assert_eq!(TestShip::with_settings("{}").run(&["send", "hello"]).err(), "", "it is a project");
}
