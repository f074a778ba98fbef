//! What is written to the logs, what never is, and who reads it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_project::{Level, LogEntry, LogReader, LogWriter, Project};
use ship_testkit::clock::ManualClock;

/// 5 February 2026, 23:59:59.000.
const BEFORE_MIDNIGHT: i64 = 1_770_335_999_000;

struct Setup {
    folder: tempfile::TempDir,
    logs: LogWriter,
    clock: ManualClock,
}

/// A project with these variables, and its logs.
fn setup(environment: &[(&str, &str)]) -> Setup {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = logs_of(folder.path(), environment);
    Setup { folder, logs: logs.0, clock: logs.1 }
}

fn logs_of(root: &Path, environment: &[(&str, &str)]) -> (LogWriter, ManualClock) {
    let variables =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let project = Project::load(root, variables).expect("a project");
    let clock = ManualClock::at(BEFORE_MIDNIGHT);
    (LogWriter::new(&project, Arc::new(clock.clone())), clock)
}

impl Setup {
    fn write(&self, entry: LogEntry) {
        self.logs.write(entry);
        self.logs.flush();
    }

    fn file(&self, day: &str) -> PathBuf {
        self.folder.path().join(".ship/logs").join(format!("{day}.jsonl"))
    }

    fn text(&self, day: &str) -> String {
        fs::read_to_string(self.file(day)).expect("a log")
    }
}

fn info(kind: &'static str) -> LogEntry {
    LogEntry::new(Level::Info, kind)
}

fn kinds(lines: &[Object]) -> Vec<&str> {
    lines.iter().map(|line| line.str("kind").expect("a kind")).collect()
}

#[test]
fn a_line_is_an_object_with_what_it_belongs_to_first() {
    let setup = setup(&[]);
    let chat = "terminal:main".parse().unwrap();
    let entry = info("llm_request").chat(&chat).request("r1").run("u1");
    setup.write(
        entry.plain("model", "small").message("text", "hi\n\"you\"").plain("kind", "forged"),
    );
    setup.write(LogEntry::new(Level::Warn, "overflow"));
    assert_eq!(
        setup.text("2026-02-05"),
        concat!(
            r#"{"ts":"2026-02-05T23:59:59.000Z","level":"info","kind":"llm_request","chatKey":"terminal:main","#,
            r#""requestId":"r1","runId":"u1","model":"small","text":"hi\n\"you\""}"#,
            "\n",
            r#"{"ts":"2026-02-05T23:59:59.000Z","level":"warn","kind":"overflow"}"#,
            "\n",
        )
    );
    assert_eq!(setup.logs.failures(), 0);
}

#[test]
fn files_and_folders_are_made_on_demand_and_for_their_owner_alone() {
    let setup = setup(&[]);
    assert!(!setup.folder.path().join(".ship").exists());
    setup.write(info("start"));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(setup.folder.path().join(".ship")), 0o700);
    assert_eq!(mode(setup.folder.path().join(".ship/logs")), 0o700);
    assert_eq!(mode(setup.file("2026-02-05")), 0o600);
}

#[test]
fn a_new_day_begins_a_new_file_and_a_reader_follows() {
    let setup = setup(&[]);
    let mut reader = LogReader::from_start(setup.folder.path());
    assert_eq!(reader.poll().unwrap(), []);
    setup.write(info("evening"));
    assert_eq!(kinds(&reader.poll().unwrap()), ["evening"]);

    setup.clock.advance(1000);
    setup.write(info("morning"));
    assert_eq!(kinds(&reader.poll().unwrap()), ["morning"]);
    // Another process looked at its clock before midnight and writes only now.
    setup.clock.advance(-1);
    setup.write(info("late"));
    assert_eq!(setup.text("2026-02-05").lines().count(), 2);
    assert_eq!(setup.text("2026-02-06").lines().count(), 1);
    assert_eq!(kinds(&reader.poll().unwrap()), ["late"]);

    setup.clock.advance(86_400_000);
    setup.write(info("next"));
    setup.clock.advance(86_400_000);
    setup.write(info("after"));
    assert_eq!(kinds(&reader.poll().unwrap()), ["next", "after"]);
    assert_eq!(reader.poll().unwrap(), []);
}

#[test]
fn a_log_that_is_moved_away_or_removed_is_begun_anew() {
    let setup = setup(&[]);
    let (today, moved) = ("2026-02-05", "moved");
    setup.write(info("first"));
    fs::rename(setup.file(today), setup.file(moved)).unwrap();
    setup.write(info("second"));
    assert!(setup.text(moved).contains("first") && setup.text(moved).lines().count() == 1);
    assert!(setup.text(today).contains("second") && setup.text(today).lines().count() == 1);
    fs::remove_file(setup.file(today)).unwrap();
    setup.write(info("third"));
    assert!(setup.text(today).contains("third") && setup.text(today).lines().count() == 1);
    assert_eq!(setup.logs.failures(), 0);
}

#[test]
fn a_reader_goes_on_after_the_clock_was_set_back() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let setup = setup(&[]);
    for _ in 0..3 {
        setup.write(info("before"));
        setup.clock.advance(DAY_MS);
    }
    let mut reader = LogReader::from_end(setup.folder.path()).unwrap();
    // To a day that has a file, and to one that has none.
    for days in [-3, -300] {
        setup.clock.advance(days * DAY_MS);
        setup.write(info("after"));
        assert_eq!(kinds(&reader.poll().unwrap()), ["after"], "{days} days");
    }
}

#[test]
fn a_reader_takes_whole_lines_only_and_passes_over_what_is_none() {
    let setup = setup(&[]);
    setup.write(info("one"));
    let file = setup.file("2026-02-05");
    let whole = setup.text("2026-02-05");
    fs::write(&file, format!("{whole}not json\n\n[1]\n{}", &whole[..20])).unwrap();
    fs::write(setup.folder.path().join(".ship/logs/notes.txt"), "{}\n").unwrap();

    let mut reader = LogReader::from_start(setup.folder.path());
    assert_eq!(kinds(&reader.poll().unwrap()), ["one"]);
    assert_eq!(reader.unreadable(), 2);
    fs::write(&file, format!("{whole}not json\n\n[1]\n{whole}")).unwrap();
    assert_eq!(kinds(&reader.poll().unwrap()), ["one"]);

    fs::write(&file, &whole).unwrap();
    assert_eq!(
        kinds(&reader.poll().unwrap()),
        ["one"],
        "an emptied file is read from its beginning"
    );
}

#[test]
fn a_reader_may_begin_at_the_end_and_ask_for_one_request() {
    let setup = setup(&[]);
    setup.write(info("old").request("r1"));
    let mut reader =
        LogReader::from_end(setup.folder.path()).unwrap().only_requests(["r1".to_owned()]);
    setup.write(info("other").request("r2"));
    setup.write(info("mine").request("r1"));
    setup.write(info("nobodys"));
    assert_eq!(kinds(&reader.poll().unwrap()), ["mine"]);

    let mut all = LogReader::from_start(setup.folder.path()).only_requests(["r1".to_owned()]);
    assert_eq!(kinds(&all.poll().unwrap()), ["old", "mine"]);
    assert_eq!(LogReader::from_end(&setup.folder.path().join("none")).unwrap().poll().unwrap(), []);
}

#[test]
fn many_lines_come_in_batches_and_none_is_lost() {
    let setup = setup(&[]);
    for n in 0..300_u64 {
        setup.write(info("big").request(format!("r{}", n % 300)).plain("text", "x".repeat(10_000)));
    }
    let mut reader = LogReader::from_start(setup.folder.path());
    let mut sizes = Vec::new();
    loop {
        let lines = reader.poll().unwrap();
        if lines.is_empty() {
            break;
        }
        sizes.push(lines.len());
    }
    assert!(sizes.len() > 2, "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 300);
    let mut last = LogReader::from_start(setup.folder.path()).only_requests(["r299".to_owned()]);
    assert_eq!(last.poll().unwrap().len(), 1, "a batch without the request is not the end");
}

#[test]
fn no_line_holds_a_secret_wherever_it_stands() {
    let secret = "sk-\"quoted\"\\-secret";
    let setup = setup(&[("OPENAI_API_KEY", secret), ("SMA_LOG_LLM_PAYLOAD", "1")]);
    let inside =
        Json::from(Object::from([(secret, Json::from(vec![format!("a {secret} b").into()]))]));
    let body = inside.to_string();
    let deep = (0..100).fold(inside.clone(), |value, _| Json::from(vec![value]));
    let entry = info("llm_response").request(secret).run(format!("run-{secret}"));
    setup.write(
        entry
            .plain("error", format!("refused: {secret}"))
            .plain("nested", inside)
            .plain("deep", deep)
            .message("text", format!("my key is {secret}"))
            .payload("body", body),
    );

    let text = setup.text("2026-02-05");
    let mut reader = LogReader::from_start(setup.folder.path());
    let lines = reader.poll().unwrap();
    assert_eq!((lines.len(), reader.unreadable()), (1, 0), "masking never breaks a line");
    assert_eq!(lines[0].str("error"), Some("refused: ****"));
    assert_eq!(lines[0].str("requestId"), Some("****"));
    assert_eq!(lines[0].str("body"), Some(r#"{"****":["a **** b"]}"#));
    assert!(!text.contains("quoted") && text.contains("my key is ****"), "{text}");
}

#[test]
fn message_text_is_in_no_line_when_that_is_not_wanted() {
    let write = |setup: &Setup| {
        let entry = info("llm_request").request("r1").plain("messages", 2_u64);
        setup
            .write(entry.message("text", "the plan").payload("body", "{\"content\":\"the plan\"}"));
        setup.text("2026-02-05")
    };
    for (variables, text, body) in [
        (&[][..], true, false),
        (&[("SMA_LOG_LLM_PAYLOAD", "1")], true, true),
        (&[("SMA_LOG_LLM_MESSAGES", "0")], false, false),
        (&[("SMA_LOG_LLM_MESSAGES", "0"), ("SMA_LOG_LLM_PAYLOAD", "1")], false, false),
    ] {
        let line = write(&setup(variables));
        assert_eq!(line.contains("\"text\":\"the plan\""), text, "{variables:?}");
        assert_eq!(line.contains("\"body\""), body, "{variables:?}");
        assert_eq!(line.contains("the plan"), text || body, "{variables:?}");
        assert!(line.contains("\"requestId\":\"r1\",\"messages\":2"), "{line}");
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_no_work_and_is_counted() {
    let blocked = setup(&[]);
    fs::write(blocked.folder.path().join(".ship"), "a file").unwrap();
    blocked.write(info("lost"));
    blocked.write(info("lost"));
    assert_eq!(blocked.logs.failures(), 2);

    let gone = setup(&[]);
    fs::remove_dir_all(gone.folder.path()).unwrap();
    gone.write(info("lost"));
    assert_eq!(gone.logs.failures(), 1);
}

#[test]
fn no_link_is_followed_to_write_elsewhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target");
    let folder_link = setup(&[]);
    symlink(elsewhere.path(), folder_link.folder.path().join(".ship")).unwrap();
    folder_link.logs.write(info("lost"));

    let file_link = setup(&[]);
    fs::create_dir_all(file_link.folder.path().join(".ship/logs")).unwrap();
    symlink(&target, file_link.file("2026-02-05")).unwrap();
    file_link.logs.write(info("lost"));

    assert_eq!((folder_link.logs.failures(), file_link.logs.failures()), (1, 1));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn what_was_taken_is_written_in_its_order_when_the_writer_is_dropped() {
    let Setup { folder, logs, .. } = setup(&[]);
    for n in 0..2_000_u64 {
        logs.write(info("line").plain("n", n));
    }
    drop(logs);
    let mut reader = LogReader::from_start(folder.path());
    let mut numbers = Vec::new();
    loop {
        let lines = reader.poll().unwrap();
        if lines.is_empty() {
            break;
        }
        numbers.extend(lines.iter().map(|line| line.get("n").and_then(Json::as_u64).unwrap()));
    }
    assert!(numbers.into_iter().eq(0..2_000));
}

#[test]
fn a_line_has_the_time_at_which_it_was_taken_and_not_written() {
    let setup = setup(&[]);
    setup.logs.write(info("evening"));
    setup.clock.advance(1000);
    setup.write(info("morning"));
    assert!(setup.text("2026-02-05").contains("23:59:59.000Z"));
    assert!(setup.text("2026-02-06").contains("00:00:00.000Z"));
}

/// Says to a process of its own that it is to write, and where.
const WRITE_TO: &str = "SHIP_TEST_WRITE_TO";

/// Runs one of these tests in a process of its own; `before` is what its shell does first.
fn process(test: &str, root: &Path, before: &str) -> Child {
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("{before} exec \"$0\" --exact \"$1\"")).env(WRITE_TO, root);
    shell.arg(std::env::current_exe().expect("this test")).arg(test).stdout(Stdio::null());
    shell.spawn().expect("a process")
}

#[test]
fn a_line_that_was_written_in_part_takes_no_other_with_it() {
    if let Some(root) = std::env::var_os(WRITE_TO) {
        return write_in_part(Path::new(&root));
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "logs::a_line_that_was_written_in_part_takes_no_other_with_it";
    // A file may grow to one kilobyte only, and going beyond is an error instead of the end.
    let mut process = process(name, folder.path(), "trap '' XFSZ; ulimit -S -f 1;");
    assert!(process.wait().unwrap().success());
    let mut reader = LogReader::from_start(folder.path());
    assert_eq!(kinds(&reader.poll().unwrap()), ["first", "third"]);
    assert_eq!(reader.unreadable(), 1);
}

fn write_in_part(root: &Path) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let (logs, _) = logs_of(root, &[]);
    logs.write(info("first").plain("text", "x".repeat(800)));
    logs.write(info("second").plain("text", "x".repeat(800)));
    assert_eq!(logs.failures(), 1);
    let mut limit = getrlimit(Resource::Fsize);
    limit.current = limit.maximum;
    setrlimit(Resource::Fsize, limit).expect("room again");
    logs.write(info("third"));
    assert_eq!(logs.failures(), 1);
}

#[test]
fn lines_of_several_processes_and_threads_never_mix() {
    if let Some(root) = std::env::var_os(WRITE_TO) {
        return write_many(Path::new(&root));
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "logs::lines_of_several_processes_and_threads_never_mix";
    let processes = [(); 3].map(|()| process(name, folder.path(), ""));
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let mut reader = LogReader::from_start(folder.path());
    let mut count = 0;
    loop {
        let lines = reader.poll().unwrap();
        if lines.is_empty() {
            break;
        }
        count += lines.len();
        assert!(lines.iter().all(|line| line.str("text").is_some_and(|text| text.len() == 9000)));
    }
    assert_eq!((count, reader.unreadable()), (3 * 2 * 100, 0));
}

/// Two threads with a hundred lines each, longer than a page.
fn write_many(root: &Path) {
    let (logs, _) = logs_of(root, &[]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..100 {
                    logs.write(info("line").plain("text", "x".repeat(9000)));
                }
            });
        }
    });
    assert_eq!(logs.failures(), 0);
}
