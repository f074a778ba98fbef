//! What a project's files and its environment come to: defaults, sources, mistakes and their remedies.

use std::fs;

use proptest::prelude::*;
use ship_project::{
    LoadProjectError, Project, ProviderName, RequestFacts, SettingSource, Settings, TokenBudget,
    Warning, WarningKind,
};

/// A project folder with these two files, loaded under these variables.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(ship_json: &str, dotenv: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("ship.json", ship_json), (".env", dotenv)] {
            if !text.is_empty() {
                fs::write(folder.path().join(name), text).expect("a file");
            }
        }
        Self(folder)
    }

    fn load(&self, environment: &[(&str, &str)]) -> Result<Project, LoadProjectError> {
        let owned =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Project::load(self.0.path(), owned)
    }

    /// A text without the folder's own name, which differs from run to run.
    fn plain(&self, text: impl ToString) -> String {
        text.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn load(ship_json: &str) -> Result<Project, LoadProjectError> {
    Folder::with(ship_json, "").load(&[])
}

fn effective(project: &Project, key: &str) -> (String, String) {
    let row = project.effective_settings().into_iter().find(|row| row.key == key).expect(key);
    (row.value.to_string(), row.source.to_string())
}

/// A project below user-wide settings.
fn load_below(
    user: &str,
    project: &str,
    dotenv: &str,
) -> (Folder, Result<Project, LoadProjectError>) {
    let folder = Folder::with(project, dotenv);
    let user_file = folder.0.path().join("user.json");
    fs::write(&user_file, user).expect("a file");
    let project = Project::load_with_user_settings(folder.0.path(), Some(&user_file), []);
    (folder, project)
}

#[test]
fn a_project_overrides_what_its_owner_set_for_all() {
    let user = r#"{ "llm": { "model": "mine", "retries": 1 },
        "lock": { "waitMs": 7 } }"#;
    let (_, project) = load_below(user, r#"{ "llm": { "model": "ours", "retries": null } }"#, "");
    let project = project.expect("it is right");
    for (key, value, source) in [
        ("llm.model", "\"ours\"", "ship.json:1"),
        ("llm.retries", "1", "user-wide ship.json:1"),
        ("lock.waitMs", "7", "user-wide ship.json:2"),
        ("llm.maxTokens", "8192", "default"),
    ] {
        assert_eq!(effective(&project, key), (value.to_owned(), source.to_owned()), "{key}");
    }
}

#[test]
fn mistakes_in_user_wide_settings_name_their_file() {
    let (folder, project) = load_below("{\n\"llm\": { \"retries\": -1 } }", "{}", "");
    let told = folder.plain(project.expect_err("it is wrong"));
    assert_eq!(told, "user.json:2: `llm.retries` must be a whole number from 0 to 100, but is -1");

    let budget = r#"{ "context": { "history": { "maxInputTokensApprox": 9000 } } }"#;
    let (folder, project) = load_below(budget, r#"{ "llm": { "window": 8000 } }"#, "");
    let told = folder.plain(project.expect_err("they do not go together"));
    assert!(told.starts_with("user.json:1: `context.history.maxInputTokensApprox` must"), "{told}");

    let user =
        r#"{ "start": { "port": 3000 }, "skills": { "paths": ["x"] }, "store": "a://b", "x": 1 }"#;
    let (folder, project) = load_below(user, "{}", "");
    let project = project.expect("these are warnings");
    let told: Vec<String> =
        project.warnings().iter().map(|warning| folder.plain(warning)).collect();
    assert_eq!(told[0], "user.json:1: `start.port` has no effect in this version");
    let no_effect = "has no effect here; set it in a project's ship.json";
    assert_eq!(told[1], format!("user.json:1: `skills.paths` {no_effect}"));
    assert_eq!(told[2], "user.json:1: `store` has no effect in this version");
    assert_eq!(project.settings(), &Settings::default());
}

#[test]
fn a_user_wide_key_goes_to_no_host_that_a_project_chooses() {
    let user = r#"{ "llm": { "provider": "openai", "apiKey": "${MINE}" } }"#;
    let key = |project: &str| {
        let (_, project) = load_below(user, project, "MINE=sk-0123456789");
        effective(&project.expect("it is right"), "llm.apiKey").0
    };
    assert_eq!(key(r#"{ "llm": { "model": "m" } }"#), "\"****6789\"");
    for project in [
        r#"{ "llm": { "baseUrl": "https://elsewhere.example/v1" } }"#,
        r#"{ "llm": { "provider": "anthropic" } }"#,
    ] {
        assert_eq!(key(project), "null", "{project}");
    }
    let own = r#"{ "llm": { "baseUrl": "https://h.example/v1", "apiKey": "sk-of-the-project" } }"#;
    assert_eq!(key(own), "\"****ject\"");
}

/// Every key with its default, as the manual has them.
const DEFAULTS: &[(&str, &str)] = &[
    ("llm.provider", "\"offline\""),
    ("llm.model", "null"),
    ("llm.baseUrl", "null"),
    ("llm.apiKey", "null"),
    ("llm.window", "null"),
    ("llm.maxTokens", "8192"),
    ("llm.temperature", "null"),
    ("llm.tools", "null"),
    ("llm.connectMs", "10000"),
    ("llm.firstByteMs", "60000"),
    ("llm.idleMs", "60000"),
    ("llm.retries", "4"),
    ("llm.logMessages", "true"),
    ("llm.requestFacts", "\"message\""),
    ("llm.price.input", "null"),
    ("llm.price.cachedInput", "null"),
    ("llm.price.output", "null"),
    ("context.history.keepLastMessages", "30"),
    ("context.history.maxInputTokensApprox", "\"auto\""),
    ("context.history.archiveOnCompact", "true"),
    ("context.contexts.enabled", "true"),
    ("context.contexts.activeMaxMessages", "80"),
    ("context.contexts.activeMaxChars", "24000"),
    ("context.contexts.maxTurns", "120"),
    ("context.contexts.maxChars", "48000"),
    ("context.contexts.searchTextMaxChars", "12000"),
    ("context.recall.hint", "false"),
    ("context.chatQueue.maxConcurrency", "8"),
    ("context.chatQueue.mode", "\"steer\""),
    ("context.chatQueue.debounceMs", "500"),
    ("context.chatQueue.maxQueued", "1000"),
    ("context.chatEgress.chatSendMaxCallsPerRun", "10"),
    ("context.chatEgress.chatSendIdempotency", "true"),
    ("context.chatEgress.onUncertain", "\"resend\""),
    ("context.memory.autoExtractEnabled", "false"),
    ("context.memory.extractMinEntries", "40"),
    ("context.memory.maxPrimaryChars", "15000"),
    ("context.memory.compressOnOverflow", "true"),
    ("context.memory.backupBeforeCompress", "true"),
    ("context.run.maxSteps", "50"),
    ("context.run.deadlineMs", "1800000"),
    ("context.run.toolDeadlineMs", "120000"),
    ("limits.messageBytes", "8388608"),
    ("limits.toolOutputChars", "12000"),
    ("limits.cacheBytes", "268435456"),
    ("lock.waitMs", "10000"),
    ("tools.client", "[]"),
    ("tools.approval", "[]"),
    ("tools.onUndecided", "\"goOn\""),
    ("skills.paths", "[]"),
    ("skills.allowExternalPaths", "false"),
    ("adapters.telegram.enabled", "false"),
    ("adapters.telegram.botToken", "null"),
    ("adapters.telegram.apiRoot", "null"),
    ("adapters.telegram.mode", "\"poll\""),
    ("adapters.telegram.webhookSecret", "null"),
    ("adapters.telegram.groupAccess", "\"mention\""),
    ("adapters.telegram.followupWindowMs", "600000"),
    ("start.host", "\"127.0.0.1\""),
    ("start.port", "3000"),
    ("start.allowedOrigins", "[]"),
    ("store", "null"),
    ("durability", "\"sync\""),
];

#[test]
fn a_folder_without_any_file_has_every_default() {
    let project = Folder::with("", "").load(&[]).unwrap();
    let rows = project.effective_settings();
    let found: Vec<_> = rows.iter().map(|row| (row.key, row.value.to_string())).collect();
    let expected: Vec<_> =
        DEFAULTS.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    assert_eq!(found, expected);
    assert!(
        rows.iter().all(|row| row.source == SettingSource::Default && row.about.ends_with('.'))
    );
    assert_eq!(project.settings(), &Settings::default());
    assert!(project.warnings().is_empty());
}

#[test]
fn every_key_can_be_set_to_its_default_and_to_null() {
    for (key, default) in DEFAULTS {
        for value in [default, "null"] {
            let (open, close) = (key.replace('.', "\": {\""), "}".repeat(key.matches('.').count()));
            let project = load(&format!("{{\"{open}\": {value}{close}}}")).expect(key);
            let no_effect =
                |warning: &Warning| matches!(warning.kind, WarningKind::NoEffect { .. });
            assert!(project.warnings().iter().all(no_effect), "{key}");
            assert_eq!(effective(&project, key).0, *default, "{key}");
        }
    }
}

#[test]
fn ship_json_may_have_comments_and_trailing_commas_and_each_value_knows_its_line() {
    let text = r#"// my project
{
  "$schema": "https://example.com/ship.schema.json",
  "llm": {
    "provider": "openai", /* local */
    "baseUrl": "http://127.0.0.1:11434/v1",
    "temperature": 0.5,
  },
  "context": { "history": { "maxInputTokensApprox": 12000 } },
  "tools": { "approval": ["shell", "write",], },
  "durability": "flush",
}
"#;
    let project = load(text).unwrap();
    for (key, value, source) in [
        ("llm.provider", "\"openai\"", "ship.json:5"),
        ("llm.baseUrl", "\"http://127.0.0.1:11434/v1\"", "ship.json:6"),
        ("llm.temperature", "0.5", "ship.json:7"),
        ("context.history.maxInputTokensApprox", "12000", "ship.json:9"),
        ("tools.approval", "[\"shell\",\"write\"]", "ship.json:10"),
        ("durability", "\"flush\"", "ship.json:11"),
        ("start.port", "3000", "default"),
    ] {
        assert_eq!(effective(&project, key), (value.to_owned(), source.to_owned()), "{key}");
    }
    let budget = project.settings().context.history.max_input_tokens_approx;
    assert_eq!(budget, TokenBudget::Tokens(12000));
    assert!(project.warnings().is_empty());
}

#[test]
fn variables_come_from_dotenv_and_the_environment_wins() {
    let folder = Folder::with(
        r#"{"llm": {"provider": "openai", "model": "${FAMILY}-${SIZE}"}, "start": {"port": "${PORT}"},
            "tools": {"client": ["${SIZE}-tool"]}}"#,
        "FAMILY=llama\nexport SIZE='large'\nPORT=8080\n",
    );
    let project = folder.load(&[("SIZE", "small")]).unwrap();
    assert_eq!(project.settings().llm.model.as_deref(), Some("llama-small"));
    assert_eq!(effective(&project, "start.port").0, "8080");
    assert_eq!(project.settings().tools.client, ["small-tool"]);
}

#[test]
fn who_answers_is_shown_with_what_decided_it() {
    let key = ("OPENAI_API_KEY", "sk-0123456789abcdef");
    let from_environment = Folder::with("", "").load(&[key]).unwrap();
    let by = "OPENAI_API_KEY in the environment".to_owned();
    assert_eq!(effective(&from_environment, "llm.provider"), ("\"openai\"".to_owned(), by.clone()));
    assert_eq!(effective(&from_environment, "llm.apiKey"), ("\"****cdef\"".to_owned(), by));

    let from_dotenv =
        Folder::with("", "\nANTHROPIC_API_KEY=sk-short\nOPENAI_API_KEY=\n").load(&[]).unwrap();
    let by = "ANTHROPIC_API_KEY in .env:2".to_owned();
    assert_eq!(from_dotenv.provider().provider, ProviderName::Anthropic);
    assert_eq!(effective(&from_dotenv, "llm.provider"), ("\"anthropic\"".to_owned(), by.clone()));
    assert_eq!(effective(&from_dotenv, "llm.apiKey"), ("\"****\"".to_owned(), by));

    let named = Folder::with("{\"llm\": {\"provider\": \"offline\"}}", "").load(&[key]).unwrap();
    assert_eq!(effective(&named, "llm.provider").1, "ship.json:1");
    assert_eq!(effective(&named, "llm.apiKey").0, "null");
}

#[test]
fn the_environment_turns_message_text_in_logs_off_and_never_on() {
    for (file, variable, logs, source) in [
        ("{}", None, "true", "default"),
        ("{}", Some("0"), "false", "SMA_LOG_LLM_MESSAGES in the environment"),
        ("{}", Some("false"), "false", "SMA_LOG_LLM_MESSAGES in the environment"),
        ("{}", Some("1"), "true", "default"),
        (
            r#"{"llm":{"logMessages":true}}"#,
            Some("0"),
            "false",
            "SMA_LOG_LLM_MESSAGES in the environment",
        ),
        (r#"{"llm":{"logMessages":false}}"#, Some("1"), "false", "ship.json:1"),
    ] {
        let variables: Vec<_> =
            variable.map(|value| ("SMA_LOG_LLM_MESSAGES", value)).into_iter().collect();
        let project = Folder::with(file, "").load(&variables).unwrap();
        let expected = (logs.to_owned(), source.to_owned());
        assert_eq!(effective(&project, "llm.logMessages"), expected, "{file} {variable:?}");
    }
    for (value, payload) in [("1", true), ("true", true), ("0", false), ("", false)] {
        let project = Folder::with("", "").load(&[("SMA_LOG_LLM_PAYLOAD", value)]).unwrap();
        assert_eq!(project.log_payload(), payload, "{value:?}");
    }
}

#[test]
fn every_mistake_in_ship_json_is_told_with_line_key_found_expected_and_remedy() {
    for (text, message, hint) in [
        (
            "{\n  \"llm\": {\n    \"model\": \"x\"\n    \"window\": 5\n  }\n}",
            "ship.json:3:17: expected comma",
            "look nearby for a missing",
        ),
        (
            "{\n\"llm\": {\"maxTokens\": \"many\"}}",
            "ship.json:2: `llm.maxTokens` must be a whole number from 1 to 1000000000, but is \"many\"",
            "remove the line to use the default",
        ),
        (
            "{\"start\": {\"port\": 65536}}",
            "ship.json:1: `start.port` must be a whole number from 0 to 65535, but is 65536",
            "remove the line to use the default",
        ),
        (
            "{\"start\": {\"port\": 1.5}}",
            "ship.json:1: `start.port` must be a whole number from 0 to 65535, but is 1.5",
            "",
        ),
        (
            "{\"llm\": {\"temperature\": 3}}",
            "ship.json:1: `llm.temperature` must be a number from 0 to 2, but is 3",
            "",
        ),
        (
            "{\"context\": {\"chatQueue\": {\"mode\": \"fast\"}}}",
            "ship.json:1: `context.chatQueue.mode` must be \"steer\", \"followup\", \"collect\" or \
             \"interrupt\", but is \"fast\"",
            "",
        ),
        (
            "{\"context\": {\"history\": {\"maxInputTokensApprox\": \"all\"}}}",
            "ship.json:1: `context.history.maxInputTokensApprox` must be \"auto\" or a whole number from \
             1 to 1000000000, but is \"all\"",
            "",
        ),
        (
            "{\"llm\": {\"logMessages\": 0}}",
            "ship.json:1: `llm.logMessages` must be true or false, but is 0",
            "",
        ),
        (
            "{\"tools\": {\"client\": \"shell\"}}",
            "ship.json:1: `tools.client` must be a list of strings, such as [\"one\", \"two\"], but is \"shell\"",
            "",
        ),
        (
            "{\"llm\": {\"model\": {\"name\": \"x\"}}}",
            "ship.json:1: `llm.model` must be non-empty text, but is an object",
            "",
        ),
        ("{\"llm\": 5}", "ship.json:1: `llm` must be an object in braces, but is 5", ""),
        ("\n[]", "ship.json:2: the file must be an object in braces, but is []", "start it with {"),
        (
            "{\"llm\": {\"baseUrl\": \"localhost\"}}",
            "ship.json:1: `llm.baseUrl` must be a URL such as \"https://host/path\", \
             but is some other text",
            "",
        ),
        (
            "{\n\n\"llm\": {\"apiKey\": \"${MY_KEY}\"}}",
            "ship.json:3: `llm.apiKey` uses the variable MY_KEY, which is not set",
            "put MY_KEY=… into .env, or set it in the environment",
        ),
        (
            "{\"llm\": {\"apiKey\": \"${MY_KEY\"}}",
            "ship.json:1: `llm.apiKey` has a `${` without a variable's name and `}`",
            "write ${NAME}",
        ),
        (
            "{\"llm\": {\"window\": 1000},\n\"context\": {\"history\": {\"maxInputTokensApprox\": 2000}}}",
            "ship.json:2: `context.history.maxInputTokensApprox` must be \"auto\" or at most 1000 \
             (`llm.window`), but is 2000",
            "",
        ),
    ] {
        let folder = Folder::with(text, "");
        let error = folder.load(&[]).expect_err(text);
        assert_eq!(folder.plain(&error), message);
        assert!(error.problems()[0].hint().contains(hint), "{}", error.problems()[0].hint());
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let folder = Folder::with("{\"llm\": {\"window\": 0,\n\"retries\": -1,\n\"model\": \"\"}}", "");
    let error = folder.load(&[]).unwrap_err();
    let lines: Vec<_> = error.problems().iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(1), Some(2), Some(3)]);
    assert!(error.to_string().ends_with("(and 2 more)"), "{error}");
}

#[test]
fn a_bad_line_of_dotenv_is_told_without_showing_it() {
    let folder = Folder::with("", "A=1\nsk-secret-value\n");
    let error = folder.load(&[]).unwrap_err();
    assert_eq!(folder.plain(&error), ".env:2: this line is not `NAME=value`");
    assert!(error.problems()[0].hint().starts_with("write NAME=value"));
}

#[test]
fn a_folder_in_the_place_of_ship_json_sets_nothing_and_is_told() {
    let folder = Folder::with("", "");
    fs::create_dir(folder.0.path().join("ship.json")).expect("a folder");
    let project = folder.load(&[]).expect("it stops nobody");
    let told: Vec<String> = project.warnings().iter().map(|w| folder.plain(w)).collect();
    assert_eq!(told, ["ship.json is a folder, so it is ignored; put a file there"]);
}

#[test]
fn a_file_that_is_not_text_or_too_large_is_an_error_and_a_folder_called_dotenv_is_not() {
    let folder = Folder::with("", "");
    let file = folder.0.path().join("ship.json");
    fs::write(&file, b"{\n\"store\": \"\xff\"}").unwrap();
    assert_eq!(folder.plain(folder.load(&[]).unwrap_err()), "ship.json:2: not UTF-8 text");
    fs::write(&file, " ".repeat(2 << 20)).unwrap();
    assert_eq!(
        folder.plain(folder.load(&[]).unwrap_err()),
        "ship.json is too large for a settings file"
    );

    fs::remove_file(&file).unwrap();
    fs::create_dir(folder.0.path().join(".env")).unwrap();
    assert!(folder.load(&[]).is_ok());
}

#[test]
fn an_unknown_key_is_a_warning_with_its_line_and_the_nearest_name() {
    let folder = Folder::with(
        "{\n\"llm\": {\"modle\": \"x\"},\n\"port\": 1,\n\"frobnicate\": {\"a\": {}},\n\"store\": null,\n\"store\": null}",
        "",
    );
    let project = folder.load(&[]).unwrap();
    let warnings: Vec<_> = project.warnings().iter().map(|warning| folder.plain(warning)).collect();
    assert_eq!(
        warnings,
        [
            "ship.json:2: there is no setting `llm.modle`; did you mean `llm.model`?",
            "ship.json:3: there is no setting `port`; did you mean `start.port`?",
            "ship.json:4: there is no setting `frobnicate`, so it has no effect",
            "ship.json:6: `store` is set twice; this one counts",
        ]
    );
}

#[test]
fn a_file_that_other_users_can_change_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with("", "A=1");
    fs::set_permissions(folder.0.path().join(".env"), fs::Permissions::from_mode(0o666)).unwrap();
    let warnings = folder.load(&[]).unwrap().warnings().to_vec();
    let text = folder.plain(&warnings[0]);
    assert_eq!(text, ".env can be changed by anyone on this machine; run `chmod 600` on it");
}

/// One secret for each place that secrets come from.
const PLANTED: [&str; 6] = [
    "environ-secret-1",
    "dotenv-secret-2",
    "literal-secret-3",
    "token-secret-4",
    "database-secret-5",
    "misspelt-secret-6",
];

fn planted(more: &str) -> Folder {
    Folder::with(
        &format!(
            r#"{{"llm": {{"provider": "openai", "apiKey": "{}", "apikey": "{}",
                 "baseUrl": "https://host/{}/v1?v=${{DOT_SECRET}}", "model": "${{MY_TOKEN}}"}},
                 "adapters": {{"telegram": {{"botToken": "{}"}}}},
                 "store": "postgres://me:{}@host/db" {more}}}"#,
            PLANTED[2], PLANTED[5], PLANTED[2], PLANTED[3], PLANTED[4]
        ),
        &format!("DOT_SECRET={}\n", PLANTED[1]),
    )
}

/// Half a secret is no secret any more either.
fn assert_clean(what: &str, text: &str) {
    for secret in PLANTED {
        assert!(!text.contains(&secret[..10]), "{secret} is in {what}: {text}");
    }
}

#[test]
fn planted_secrets_are_in_no_effective_value_warning_or_debug_and_all_are_masked() {
    let project = planted("").load(&[("MY_TOKEN", PLANTED[0])]).unwrap();
    assert_clean("effective", &format!("{:?}", project.effective_settings()));
    assert_clean("warnings", &format!("{:?}", project.warnings()));
    assert_clean("Project", &format!("{project:?}"));
    assert_clean("Secrets", &format!("{:?}", project.secrets()));
    assert_clean("Choice", &format!("{:?}", project.provider()));
    assert_clean("mask", &project.secrets().mask(&PLANTED.join(" ")));
    assert_eq!(effective(&project, "store").0, "\"postgres://me:****@host/db\"");
    assert_eq!(effective(&project, "llm.apiKey").0, "\"****et-3\"");
    assert_eq!(project.settings().llm.api_key.as_ref().unwrap().expose(), PLANTED[2]);
}

#[test]
fn settings_show_no_secret_by_themselves_where_secrets_belong() {
    let text = format!(
        r#"{{"llm": {{"apiKey": "{}", "baseUrl": "https://me:{}@host/v1?key=${{DOT_SECRET}}"}},
            "adapters": {{"telegram": {{"botToken": "${{MY_TOKEN}}", "webhookSecret": "{}"}}}},
            "store": "postgres://me:{}@host/db"}}"#,
        PLANTED[2], PLANTED[3], PLANTED[5], PLANTED[4]
    );
    let folder = Folder::with(&text, &format!("DOT_SECRET={}", PLANTED[1]));
    let project = folder.load(&[("MY_TOKEN", PLANTED[0])]).unwrap();
    assert_clean("Settings", &format!("{:?}", project.settings()));
}

#[test]
fn planted_secrets_are_in_no_error() {
    let long = "x".repeat(45);
    for more in [
        ", \"start\": {\"port\": \"${MY_TOKEN}\"}".to_owned(),
        format!(", \"start\": {{\"port\": \"{}\"}}", PLANTED[2]),
        format!(", \"start\": {{\"port\": \"{long}{}\"}}", PLANTED[2]),
        format!(", \"durability\": [\"{}\"]", PLANTED[3]),
        ", \"tools\": {\"client\": {\"a\": \"${DOT_SECRET}\"}}".to_owned(),
        ", \"adapters\": {\"telegram\": {\"webhookSecret\": [\"token-secret-4\"]}}".to_owned(),
        ", \"adapters\": {\"telegram\": {\"apiRoot\": \"database-secret-5\"}}".to_owned(),
        ", \"start\" {".to_owned(),
    ] {
        let error = planted(&more).load(&[("MY_TOKEN", PLANTED[0])]).expect_err(&more);
        assert_clean("Display", &error.to_string());
        assert_clean("Debug", &format!("{error:?}"));
        let hints: String =
            error.problems().iter().map(ship_project::ProjectProblem::hint).collect();
        assert_clean("hints", &hints);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_ship_json_makes_loading_panic(
        key in proptest::sample::select(DEFAULTS.iter().map(|(key, _)| *key).collect::<Vec<_>>()),
        value in prop_oneof![
            "[0-9.eE+-]{1,6}", "\"[a-z${}:/ ]{0,12}\"", Just("{}".to_owned()), Just("[1,[\"x\"]]".to_owned()),
        ],
    ) {
        let open = key.replace('.', "\": {\"");
        let _ = load(&format!("{{\"{open}\": {value}{}", "}".repeat(key.matches('.').count() + 1)));
    }
}

#[test]
fn a_setting_of_an_older_version_is_read_with_a_warning_that_names_its_successor() {
    let read = |json: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ship.json"), json).unwrap();
        let project = Project::load(folder.path(), []).unwrap();
        let warnings: Vec<String> = project.warnings().iter().map(|it| it.to_string()).collect();
        (project.settings().llm.request_facts, warnings.join("\n"))
    };
    let (facts, warning) = read(r#"{"llm":{"requestIdInSystem":true}}"#);
    assert_eq!(facts, RequestFacts::System);
    assert!(warning.contains("`llm.requestIdInSystem` is now `llm.requestFacts`"), "{warning}");
    let both = r#"{"llm":{"requestFacts":"off","requestIdInSystem":true}}"#;
    assert_eq!(read(both).0, RequestFacts::Off, "the new one counts");
    assert_eq!(read(r#"{"llm":{"requestIdInSystem":false}}"#).0, RequestFacts::Message);
}

#[test]
fn a_setting_that_nothing_obeys_yet_is_a_warning() {
    let text = "{ \"context\": { \"chatQueue\": { \"mode\": \"collect\", \"maxQueued\": null },\n\
                \"chatEgress\": { \"onUncertain\": \"hold\" } } }";
    let folder = Folder::with(text, "");
    let project = folder.load(&[]).expect("it is right");
    let told: Vec<String> =
        project.warnings().iter().map(|warning| folder.plain(warning)).collect();
    assert_eq!(
        told,
        [
            "ship.json:1: `context.chatQueue.mode` has no effect in this version",
            "ship.json:2: `context.chatEgress.onUncertain` has no effect in this version",
        ]
    );
}
