//! Describes failures to people and programs.

#[cfg(test)]
mod tested_codes;

use std::io::ErrorKind;
use std::process::ExitCode;

use ship_agent::{ContextName, OpenAgentError, RunError};
use ship_message::json::Object;
use ship_project::{EditSettingsError, InitError, Secrets};
use ship_store::{
    AcceptError, ChatKeyError, Explain, Explanation, ReadError, RefusedInput, StorageError,
};

/// The reason why a command failed: a stable code, and the problems.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    /// The problems, at least one.
    pub(crate) problems: Vec<ReportedProblem>,
    /// The contexts that the person may have meant instead.
    pub(crate) offered: Vec<ContextName>,
    /// The unfinished answer, for programs.
    pub(crate) answer: Option<Box<Object>>,
    /// The exit code, if a signal ended the command.
    signal_code: Option<u8>,
}

/// The exit code of a command that was ended with Ctrl-C: that of a shell.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit code of a command that was ended by SIGTERM, as shells report it.
pub(crate) const TERMINATED: u8 = 143;

/// The exit code of a command whose terminal was closed, as shells report it.
pub(crate) const HUNG_UP: u8 = 129;

/// One problem and its remedy.
#[derive(Debug)]
pub(crate) struct ReportedProblem {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        let problems = vec![ReportedProblem { message: message.into(), hint: None }];
        Self { code, problems, offered: Vec::new(), answer: None, signal_code: None }
    }

    /// Adds the unfinished answer.
    pub(crate) fn with_answer(self, answer: Object) -> Self {
        Self { answer: Some(Box::new(answer)), ..self }
    }

    /// Says whether the person ended the command with Ctrl-C.
    pub(crate) fn by_interrupt(self, is_interrupt: bool) -> Self {
        Self { signal_code: is_interrupt.then_some(INTERRUPTED), ..self }
    }

    /// Says that SIGTERM ended the command.
    pub(crate) fn by_termination(self) -> Self {
        Self { signal_code: Some(TERMINATED), ..self }
    }

    /// Whether the person ended the command with Ctrl-C.
    pub(crate) fn is_interrupt(&self) -> bool {
        self.signal_code == Some(INTERRUPTED)
    }

    /// Adds contexts to choose from.
    pub(crate) fn with_offered_contexts(self, offered: Vec<ContextName>) -> Self {
        Self { offered, ..self }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if let Some(problem) = self.problems.last_mut() {
            problem.hint = Some(hint);
        }
        self
    }

    /// Makes a failure from an error that names its remedy, with all its causes on one line.
    pub(crate) fn from_error(
        code: &'static str,
        error: &(impl Explain + std::error::Error + 'static),
    ) -> Self {
        Self::with_causes(code, error, error.explain())
    }

    /// Makes a failure from an error of the system or a library.
    pub(crate) fn from_other(
        code: &'static str,
        error: &(dyn std::error::Error + 'static),
    ) -> Self {
        Self::with_causes(code, error, Explanation::new(error.to_string()))
    }

    fn with_causes(
        code: &'static str,
        error: &dyn std::error::Error,
        Explanation { problem, remedy }: Explanation,
    ) -> Self {
        let text = error.to_string();
        let mut message = problem;
        let mut cause = error.source();
        while let Some(error) = cause {
            let because = error.to_string();
            // Many errors repeat their cause in their own text.
            if !text.contains(&because) && !message.contains(&because) {
                message = format!("{message}: {because}");
            }
            cause = error.source();
        }
        Self {
            code,
            problems: vec![ReportedProblem { message, hint: remedy }],
            offered: Vec::new(),
            answer: None,
            signal_code: None,
        }
    }

    /// Makes the failure of a message that is too long.
    pub(crate) fn too_long(bytes: Option<usize>, max: u64) -> Self {
        let message = match bytes {
            Some(bytes) => {
                format!("your message has {bytes} bytes, but `limits.messageBytes` allows {max}")
            }
            None => format!("your message has more than {max} bytes (`limits.messageBytes`)"),
        };
        Self::new(REFUSED, message).with_hint("shorten it, or raise the limit in ship.json")
    }

    /// Makes the failure of input that is not text. `unsent` names the part that was not sent.
    pub(crate) fn not_utf8(offset: u64, unsent: &str) -> Self {
        let message =
            format!("standard input is not UTF-8 at byte {offset} (counted from 0); {unsent}");
        Self::new("not_utf8", message)
            .with_hint("convert it first, for example with `iconv -f latin1 -t utf-8`")
    }

    /// Makes the failure of a chat with a frozen holder, which only a signal to that process can end.
    pub(crate) fn frozen(message: String) -> Self {
        Self::new(FROZEN, message)
    }

    /// Returns the exit code of the process.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match (self.signal_code, self.code) {
            (Some(code), _) => ExitCode::from(code),
            (None, USAGE) => ExitCode::from(2),
            (None, FROZEN) => ExitCode::from(3),
            (None, _) => ExitCode::FAILURE,
        }
    }

    /// Adds that the person's message is not lost.
    pub(crate) fn and_message_is_kept(mut self) -> Self {
        if let Some(problem) = self.problems.last_mut() {
            let kept = "your message is kept, and `ship chat` continues with it";
            let hint = problem.hint.take();
            problem.hint = Some(hint.map_or(kept.to_owned(), |hint| format!("{hint}; {kept}")));
        }
        self
    }

    /// Returns the failure with changed remedies.
    pub(crate) fn map_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        for hint in self.problems.iter_mut().filter_map(|problem| problem.hint.as_mut()) {
            *hint = change(hint);
        }
        self
    }

    /// Returns the failure with secrets masked: a path or an answer of a provider may quote one.
    pub(crate) fn mask_secrets(mut self, secrets: &Secrets) -> Self {
        for problem in &mut self.problems {
            problem.message = secrets.mask(&problem.message).into_owned();
            problem.hint = problem.hint.take().map(|hint| secrets.mask(&hint).into_owned());
        }
        for named in &mut self.offered {
            named.title = secrets.mask(&named.title).into_owned();
        }
        self
    }

    /// Whether a frozen process holds the chat.
    pub(crate) fn is_frozen(&self) -> bool {
        self.code == FROZEN
    }

    /// Whether another process holds the chat.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_frozen() || self.code == BUSY
    }

    /// Whether only the input is at fault, and everything else works.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == REFUSED
    }

    /// Whether the only failure is that the reader of the output is gone.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.code == READER_GONE
    }

    /// Returns the problems on one line.
    pub(crate) fn sentence(&self) -> String {
        let messages: Vec<&str> =
            self.problems.iter().map(|problem| problem.message.as_str()).collect();
        messages.join("; ")
    }

    /// Returns the first remedy.
    pub(crate) fn remedy(&self) -> Option<&str> {
        self.problems.iter().find_map(|problem| problem.hint.as_deref())
    }
}

/// The code of a lost standard output, which ends a command but needs no message of its own.
const READER_GONE: &str = "reader_gone";

/// Turns an error of printing into a failure. All other writes have error types of their own.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(READER_GONE, "the reader of the output is gone");
        }
        Self::new("output", format!("cannot write the output: {error}"))
            .with_hint("check where it goes, and the free space")
    }
}

/// The code for a command line that makes no sense.
pub(crate) const USAGE: &str = "usage";

/// The code for a chat that a frozen process holds.
const FROZEN: &str = "frozen";

/// The code for a chat that a process at work holds.
pub(crate) const BUSY: &str = "storage_busy";

/// The code for a refusal of the store without a code of its own.
const STORAGE: &str = "storage";

/// The code for a message that cannot be accepted, for example because it is too long.
pub(crate) const REFUSED: &str = "refused";

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Accept(AcceptError::Refused(RefusedInput::TooLarge { bytes, max, .. })) => {
                Self::too_long(Some(bytes), max as u64)
            }
            RunError::Accept(AcceptError::Refused(_)) => Self::from_error(REFUSED, &error),
            RunError::Kept(cause) => Self::from(*cause).with_hint(
                "do not ask again: what you asked for is kept, and unless it is done already, the next command in \
                 this chat does it",
            ),
            _ => Self::from_error(error.storage().map_or("run", StorageError::code), &error),
        }
    }
}

impl From<OpenAgentError> for Failure {
    fn from(error: OpenAgentError) -> Self {
        match &error {
            OpenAgentError::NoKey(why) => Self::new("no_key", why.clone())
                .with_hint("to try ship without a key: `ship config set llm.provider offline`"),
            OpenAgentError::NoModel => Self::from_error("no_model", &error),
            OpenAgentError::Provider(provider) => {
                let failure = Self::new(provider.code(), provider.to_string());
                match provider.remedy() {
                    Some(remedy) => failure.with_hint(remedy),
                    None => failure,
                }
            }
            OpenAgentError::Store(storage) => Self::from_error(storage.code(), &error),
            // What is left are settings.
            _ => Self::from_error("config", &error),
        }
    }
}

impl From<ChatKeyError> for Failure {
    fn from(error: ChatKeyError) -> Self {
        Self::from_error("chat_key", &error)
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::from_error(error.code(), &error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Storage(error) => error.into(),
            _ => Self::from_error(STORAGE, &error),
        }
    }
}

impl From<InitError> for Failure {
    fn from(error: InitError) -> Self {
        Self::from_error(disk_code(&error).unwrap_or("init"), &error)
    }
}

impl From<EditSettingsError> for Failure {
    fn from(error: EditSettingsError) -> Self {
        match error {
            EditSettingsError::Settings(error) => error.into(),
            error => Self::from_error(disk_code(&error).unwrap_or("config"), &error),
        }
    }
}

/// Returns the code of a failed write, the same as for the files of a chat.
fn disk_code(error: &dyn std::error::Error) -> Option<&'static str> {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    match cause.map(std::io::Error::kind)? {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            Some("storage_full")
        }
        ErrorKind::ReadOnlyFilesystem => Some("storage_readonly"),
        ErrorKind::PermissionDenied => Some("storage_denied"),
        _ => None,
    }
}

impl From<ship_project::LoadProjectError> for Failure {
    fn from(error: ship_project::LoadProjectError) -> Self {
        let reported = |problem: &ship_project::ProjectProblem| {
            let because = std::error::Error::source(problem).map(|cause| format!(": {cause}"));
            let message = format!("{problem}{}", because.unwrap_or_default());
            ReportedProblem { message, hint: Some(problem.hint()) }
        };
        let problems = error.problems().iter().map(reported).collect();
        Self { code: "config", problems, offered: Vec::new(), answer: None, signal_code: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_a_problem_is_no_hint() {
        let sentence = "the system takes 10 tokens; the model takes 9";
        let why = Explanation::new(sentence);
        let failure = Failure::from(RunError::NoRoom(why.clone()));
        assert_eq!((failure.sentence().as_str(), failure.remedy()), (sentence, None));
        let failure = Failure::from(RunError::NoRoom(why.with_remedy("shorten it")));
        assert_eq!((failure.sentence().as_str(), failure.remedy()), (sentence, Some("shorten it")));
        let place = "a; b.jsonl".to_owned();
        let failure = Failure::from(StorageError::Damaged { place, what: "cut".to_owned() });
        assert_eq!(failure.sentence(), "a; b.jsonl is damaged: cut");
        assert!(failure.remedy().is_some_and(|remedy| remedy.contains("`ship repair`")));
    }

    #[test]
    fn a_program_learns_which_kind_of_disk_stopped_a_command() {
        let read_only = || StorageError::ReadOnly {
            path: "a".into(),
            source: ErrorKind::ReadOnlyFilesystem.into(),
        };
        let failures: [Failure; 6] = [
            RunError::Accept(AcceptError::Storage(read_only())).into(),
            RunError::Storage(read_only()).into(),
            RunError::Storage(read_only()).into(),
            OpenAgentError::Store(read_only()).into(),
            read_only().into(),
            ReadError::Storage(read_only()).into(),
        ];
        for failure in failures {
            assert_eq!(failure.code, "storage_readonly", "{failure:?}");
        }
    }

    #[test]
    fn a_program_learns_which_problem_of_the_store_stopped_a_command() {
        let chat = || "terminal:main".parse().unwrap();
        let copying = Box::new(Explanation::new("no space"));
        let (path, what) = (std::path::PathBuf::from("a"), || "why".to_owned());
        let sealed = path.clone();
        let refused = RefusedInput::TooLarge { id: what(), bytes: 2, max: 1 };
        for (error, code) in [
            (StorageError::LaneLost { chat: chat(), how: what() }, "storage_lock_lost"),
            (
                StorageError::Unavailable { doing: "read", why: what(), may_have_happened: false },
                "storage_unavailable",
            ),
            (StorageError::Damaged { place: what(), what: what() }, "storage_damaged"),
            (StorageError::Unsettled { path: path.clone(), cause: what() }, "storage_unsettled"),
            (
                StorageError::CannotSeal { path, sealed, linking: what(), copying },
                "storage_cannot_seal",
            ),
            (StorageError::Refused { place: what(), refused }, "storage_refused"),
        ] {
            let failure = Failure::from(error);
            assert_eq!(failure.code, code, "{failure:?}");
            assert_eq!(failure.exit_code(), ExitCode::FAILURE);
        }
    }

    #[test]
    fn a_program_learns_the_area_of_any_other_failure() {
        let chat = || "terminal:main".parse().unwrap();
        let no_log = ReadError::NoSealedLog { chat: chat(), name: "log.1.jsonl".to_owned() };
        let failures: [(Failure, &str); 7] = [
            (OpenAgentError::NoKey("there is no key".to_owned()).into(), "no_key"),
            (OpenAgentError::NoModel.into(), "no_model"),
            (RunError::NoRoom(Explanation::new("too long")).into(), "run"),
            (RunError::Vanished { chat: chat() }.into(), "run"),
            (no_log.into(), "storage"),
            (std::io::Error::from(ErrorKind::StorageFull).into(), "output"),
            (std::io::Error::from(ErrorKind::BrokenPipe).into(), "reader_gone"),
        ];
        for (failure, code) in failures {
            assert_eq!(failure.code, code, "{failure:?}");
            assert_eq!(failure.exit_code(), ExitCode::FAILURE);
        }
    }
}
