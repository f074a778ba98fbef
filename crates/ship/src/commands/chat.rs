//! `ship chat`: a person types a message, the message is on disk, the agent answers.

mod completions;
mod editor;
mod input;
pub(super) mod keyboard;
mod left_text;
mod left_work;
mod operations;
mod prompt;
mod prompt_line;
mod question;
mod recap;
mod run_outcome;
mod slash;
mod typed_ahead;
mod typed_file;
mod undo;

use std::cell::Cell;
use std::io::IsTerminal;
use std::pin::pin;
use std::process::ExitCode;

use ship_agent::{Agent, ChatNews, ModelChoice};
use tokio::signal::unix::{SignalKind, signal};

use super::answer_cost::AnswerCost;
use super::compact::CompactPlace;
use super::context::read_context_news;
use super::context::{self, ContextRequest};
use super::interrupt::{Interrupt, break_line};
use super::message_draft::MessageDraft;
use super::message_exchange::{
    AcceptResult, MessageExchange, active_messages, context_line_for_chat,
};
use super::message_line::last_messages;
use super::run_screen::{RunCost, Screen, ScreenCommand};
use crate::arguments::parse_model;
use crate::failure::{Failure, HUNG_UP, INTERRUPTED, TERMINATED};
use crate::output;
use crate::session::{Session, TellNewFolder};
use crate::style::Style;
use crate::table;
use crate::text_for_user::{self, project_texts_for_user};
use completions::Completions;
use input::{LineInput, LineSource};
use keyboard::collect_keys;
use recap::RecapOf;
use slash::{LineMeaning, Slash, message_text};

/// Talks until the person leaves. A first line that is not empty is taken as if it was typed.
pub(crate) async fn run(session: &Session, first_line: &str) -> Result<ExitCode, Failure> {
    if !std::io::stdin().is_terminal() {
        return converse(session, first_line).await;
    }
    let failure = |error: std::io::Error| Failure::from_other("system", &error);
    let mut termination = signal(SignalKind::terminate()).map_err(failure)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failure)?;
    let exit_code = tokio::select! {
        biased;
        _ = termination.recv() => TERMINATED,
        _ = hangup.recv() => HUNG_UP,
        ended = converse(session, first_line) => return ended,
    };
    // The terminal is left as it was. Everything that was accepted or typed is on disk.
    break_line();
    output::print_notice("ended by a signal; `ship chat` comes back here");
    Ok(ExitCode::from(exit_code))
}

async fn converse(session: &Session, first_line: &str) -> Result<ExitCode, Failure> {
    let agent = session.agent().await?;
    let completions = Completions::default();
    let input = LineSource::open(session, completions.clone())?;
    let news = agent.news(&session.chat).await?;
    let mut chat = ChatScreen {
        session,
        agent,
        input,
        completions,
        news,
        has_failed: Cell::new(false),
        was_interrupted: Cell::new(false),
        has_spoken: Cell::new(false),
    };
    if chat.input.is_interactive() && !session.json {
        chat.greet().await?;
        chat.take_back_left().await?;
        chat.agent.warn_of_unknown_window(&session.chat).await;
    }
    // The unfinished work of an interrupted run comes first.
    let mut next = if session.json { ChatAction::Listen } else { ChatAction::Begin };
    let mut first_line = Some(first_line).filter(|line| !line.is_empty());
    loop {
        session.print_budget_warnings();
        let is_told = chat.input.is_interactive();
        session.settle_new_folder(if is_told { TellNewFolder::Yes } else { TellNewFolder::No });
        next = match next {
            ChatAction::Listen => match first_line.take() {
                Some(line) => chat.begin_with(line).await?,
                None => chat.read_and_act().await?,
            },
            ChatAction::Begin => chat.begin().await?,
            ChatAction::Resume => chat.resume().await?,
            ChatAction::Leave => return Ok(chat.exit_code()),
        };
        if chat.is_ended_by_interrupt() {
            next = ChatAction::Leave;
        }
    }
}

/// The next action of the chat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChatAction {
    /// Do the work that was left when the chat was left.
    Begin,
    /// Read what the person types.
    Listen,
    /// Do the work that is left in the chat, if any.
    Resume,
    /// Leave the chat.
    Leave,
}

/// A person and an agent in a conversation.
struct ChatScreen<'a> {
    session: &'a Session,
    agent: Agent,
    input: LineSource,
    completions: Completions,
    news: ChatNews,
    /// Whether an answer or a command has failed.
    has_failed: Cell<bool>,
    /// Whether the person has pressed Ctrl-C during an answer.
    was_interrupted: Cell<bool>,
    /// Whether the last run has said something.
    has_spoken: Cell<bool>,
}

impl ChatScreen<'_> {
    async fn greet(&self) -> Result<(), Failure> {
        let style = Style::of_stdout();
        let root = self.session.project.root().display().to_string();
        let fit = |text: &str| style.dim(&table::fit(text, table::columns()));
        let who = table::wrap_text(&format!("Shipmate {}", self.session.describe_model()), 9);
        let who = who.strip_prefix("Shipmate ").unwrap_or(&who);
        let mut lines = vec![
            format!("{} {}", style.bold("Shipmate"), style.dim(who)),
            style.dim(&table::wrap_text(&format!("{} in {root}", self.session.chat), 4)),
        ];
        let advice = self.session.way_to_real_model().into_iter();
        let advice = advice.chain(["/help lists what you can do, Ctrl-D leaves."]);
        lines.extend(advice.map(|text| style.dim(&table::wrap_text(text, 0))));
        // A chat that cannot be read is reported when it is used.
        if let Ok(recap) = self.recap(RecapOf::Chat).await {
            lines.extend(recap.iter().map(|line| fit(line)));
        }
        output::print_line(&lines.join("\n"))
    }

    /// Returns the exit code. A person has seen what failed; a program behind a pipe learns it from the code.
    fn exit_code(&self) -> ExitCode {
        match self.has_failed.get() && !self.input.is_interactive() {
            _ if self.is_ended_by_interrupt() => ExitCode::from(INTERRUPTED),
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    }

    /// Whether Ctrl-C ends the chat: with a pipe it means all that is to come, and at a terminal one answer.
    fn is_ended_by_interrupt(&self) -> bool {
        let was_interrupted = self.was_interrupted.get() || self.input.is_interrupted();
        was_interrupted && !self.input.is_interactive()
    }

    /// Prints a note of the program itself, dimmed to differ from the agent's text. With JSON, it is no answer.
    fn print_note(&self, text: &str) -> Result<(), Failure> {
        if self.session.json {
            output::print_notice(text);
            return Ok(());
        }
        output::print_line(&Style::of_stdout().dim(&table::wrap_text(text, 0)))
    }

    /// Reports a failure that does not end the chat, unless the reader of the output is gone.
    fn print_failure(&self, failure: Failure) -> Result<(), Failure> {
        if failure.is_reader_gone() {
            return Err(failure);
        }
        self.has_failed.set(true);
        if failure.is_interrupt() {
            self.note_interrupt();
        }
        let failure = self.session.complete_failure(failure);
        output::print_failure(&failure, self.session.json);
        Ok(())
    }

    /// Tells why a line was not done. A person reads on; a program behind a pipe gets a failure.
    fn refuse_line(&self, why: &str) -> Result<(), Failure> {
        match self.input.is_interactive() {
            true => self.print_note(why),
            false => self.print_failure(Failure::new("line", why)),
        }
    }

    /// Notes a Ctrl-C. What the person has typed ahead is not sent, but comes back to the prompt.
    fn note_interrupt(&self) {
        self.was_interrupted.set(true);
        self.take_back_typed();
    }

    /// Acts on the line that the person wrote behind the command.
    async fn begin_with(&mut self, line: &str) -> Result<ChatAction, Failure> {
        self.input.remember(line);
        if self.input.is_interactive() && !self.session.json {
            self.print_note(&format!("> {}", output::escape_unprintable(line)))?;
        }
        self.act_on(line).await
    }

    /// Reads one line and acts on it.
    async fn read_and_act(&mut self) -> Result<ChatAction, Failure> {
        match self.next_line().await? {
            LineInput::End => return Ok(ChatAction::Leave),
            LineInput::Interrupted => self.print_note("Ctrl-D leaves.")?,
            LineInput::TooLong => {
                self.print_failure(Failure::too_long(None, self.session.message_bytes_max()))?
            }
            LineInput::Line(line) => return self.act_on(&line).await,
        }
        Ok(ChatAction::Listen)
    }

    async fn act_on(&mut self, text: &str) -> Result<ChatAction, Failure> {
        let (line, rest) = slash::split_command(text);
        if let (Some(rest), Some(keyboard)) = (rest, self.input.keyboard()) {
            keyboard.typed().put_draft_first(rest);
        }
        let meaning = self.interpret_line(line);
        if meaning != LineMeaning::Message {
            self.let_go();
        }
        match meaning {
            LineMeaning::Nothing => {}
            LineMeaning::Command(Slash::Edit(text)) => return self.edit_message(&text).await,
            LineMeaning::Command(Slash::Answer) => return self.answer_question().await,
            LineMeaning::Command(command) => return self.run_command(command).await,
            LineMeaning::Usage(usage) => self.refuse_line(usage)?,
            LineMeaning::NoCommand(meant) => self.report_unknown_command(line, meant)?,
            // The message is sent as it was typed, with the spaces at its ends.
            LineMeaning::Message => return self.say(message_text(line)).await,
        }
        Ok(ChatAction::Listen)
    }

    /// Interprets a line. Only a person means a command by a word such as `exit`.
    fn interpret_line(&self, line: &str) -> LineMeaning {
        let word = slash::command_of_word(line).filter(|_| self.input.is_interactive());
        word.map_or_else(|| slash::interpret_line(line), LineMeaning::Command)
    }

    /// Waits for a line, and meanwhile reports changes of other processes to the contexts.
    async fn next_line(&mut self) -> Result<LineInput, Failure> {
        if self.session.json {
            return self.input.line().await;
        }
        if let Err(failure) = self.print_news().await {
            self.print_failure(failure)?;
        }
        let printer = self.input.printer();
        let mut line = pin!(self.input.line());
        let mut looks = true;
        loop {
            tokio::select! {
                typed = &mut line => return typed,
                () = self.news.changed(), if looks => match read_context_news(&mut self.news).await {
                    Ok(news) => {
                        for notice in &news {
                            printer.line(&context::dim_line(&context_line_for_chat(notice)))?;
                        }
                        if !news.is_empty() {
                            // Completions are only a help: a failure to read the contexts is no news.
                            let _ = update_words(&self.completions, self.session, &self.agent).await;
                        }
                    }
                    // The failure is reported after the line is typed, if it persists.
                    Err(_) => looks = false,
                },
            }
        }
    }

    /// Reports changes of other processes to the contexts, and updates the completions.
    async fn print_news(&mut self) -> Result<(), Failure> {
        for notice in read_context_news(&mut self.news).await? {
            output::print_line(&context::dim_line(&context_line_for_chat(&notice)))?;
        }
        if self.input.is_interactive() {
            update_words(&self.completions, self.session, &self.agent).await?;
        }
        Ok(())
    }

    /// Reports a command that does not exist. Its line is not sent.
    fn report_unknown_command(&self, line: &str, meant: Option<&str>) -> Result<(), Failure> {
        let name = line.split_whitespace().next().unwrap_or_default();
        let name = output::escape_unprintable(name);
        let advice = match meant {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("/help lists them. To say it to the agent, write /{name}."),
        };
        self.refuse_line(&format!("There is no command {name}; {advice}"))
    }

    /// Tells which model answers, or has another one answer in this chat from now on.
    async fn choose_model(&mut self, name: Option<String>) -> Result<(), Failure> {
        if let Some(name) = name {
            let name = match parse_model(&name) {
                Ok(name) => name,
                Err(why) => return self.refuse_line(why),
            };
            let kept = Some(name).filter(|name| name != "-");
            self.session.keep_model(kept).await?;
            self.agent = self.session.agent().await?;
            self.news = self.agent.news(&self.session.chat).await?;
        }
        let model = self.session.describe_model();
        self.print_note(&match self.session.model_choice() {
            ModelChoice::Chat(_) => {
                format!("{model}, in this chat; /model - returns to the model in the settings.")
            }
            ModelChoice::Call(_) => format!("{model}, until you leave."),
            ModelChoice::Settings if self.session.is_offline() => {
                let way = self.session.way_to_real_model();
                way.map_or_else(|| model.clone(), |way| format!("{model}. {way}"))
            }
            ModelChoice::Settings => {
                format!("{model}; /model NAME chooses another one for this chat.")
            }
        })?;
        match self.agent.known_models(&self.session.project).await {
            known if known.len() > 1 => {
                self.print_note(&format!("Known here: {}", known.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Performs a command. A failure is reported and does not end the chat.
    async fn run_command(&mut self, command: Slash) -> Result<ChatAction, Failure> {
        let (session, keyboard) = (self.session, self.input.keyboard());
        let done = match command {
            Slash::Help => self.print_help().map(|()| ExitCode::SUCCESS),
            Slash::History(last) => {
                collect_keys(keyboard, super::history::run(session, last, false)).await
            }
            Slash::Search(words) => {
                collect_keys(keyboard, super::search::run_in_chat(session, &self.agent, &words))
                    .await
            }
            Slash::Edit(_) => self
                .refuse_line("/edit writes a message; this question comes first.")
                .map(|()| ExitCode::SUCCESS),
            // The question is asked again after every command.
            Slash::Answer => Ok(ExitCode::SUCCESS),
            Slash::Inspect => collect_keys(keyboard, super::inspect::run(session)).await,
            Slash::Compact(request) => {
                super::compact::run(session, request, CompactPlace::Chat(keyboard)).await
            }
            Slash::Model(name) => self.choose_model(name).await.map(|()| ExitCode::SUCCESS),
            Slash::Undo(exchanges) => return self.undo(exchanges).await,
            Slash::Context(ContextRequest::Do(operation)) => return self.operate(operation).await,
            Slash::Context(request) => {
                let list_command = "/context list";
                let looked =
                    context::show_requested(session, &self.agent, &request, list_command).await;
                looked.map(|()| ExitCode::SUCCESS)
            }
            Slash::Chats => collect_keys(keyboard, super::chats::run(session)).await,
            Slash::Config => super::config::run(session),
            Slash::Verify => collect_keys(keyboard, super::verify::run(session)).await,
            Slash::Exit => {
                if self.input.is_interactive() {
                    self.print_note("(left; `ship chat` comes back here)")?;
                }
                return Ok(ChatAction::Leave);
            }
        };
        if let Err(failure) = done {
            self.print_failure(failure)?;
        }
        Ok(ChatAction::Listen)
    }

    fn print_help(&self) -> Result<(), Failure> {
        match self.session.json {
            // The help is no answer for a program; its author may ask for it.
            true => output::print_on_stderr(&slash::help(Style::of_stderr())),
            false => output::print_line(&slash::help(Style::of_stdout())),
        }
    }

    /// For programs: prints each answer on a line, like `ship send --json`.
    async fn answer_json(&self, text: &str) -> Result<(), Failure> {
        let answered = super::send::answer(self.session, &self.agent, text.into(), || {}).await;
        match answered.and_then(|answer| answer.print(self.session)) {
            Err(failure) => self.print_failure(failure),
            Ok(()) => Ok(()),
        }
    }

    fn screen(&self) -> Screen<'_> {
        let listener = self.agent.listen(&self.session.chat);
        Screen::new(self.session, self.input.keyboard(), listener, ScreenCommand::Chat)
    }

    /// Shows a run until it ends, and then what it cost. None if the person does not wait for its end.
    async fn follow<T>(
        &self,
        screen: &mut Screen<'_>,
        running: impl Future<Output = T>,
        interrupt: &Interrupt,
    ) -> Result<Option<T>, Failure> {
        let followed = interrupt.stop_on_interrupt(screen.follow(running, interrupt)).await;
        if interrupt.was_pressed() {
            self.note_interrupt();
        }
        let result = followed.transpose()?;
        self.has_failed.set(self.has_failed.get() || screen.is_unfinished());
        self.has_spoken.set(screen.has_spoken());
        if let Some(cost) = screen.cost().filter(|_| std::io::stdout().is_terminal()) {
            self.print_cost(cost).await?;
        }
        Ok(result)
    }

    async fn print_cost(&self, cost: RunCost) -> Result<(), Failure> {
        let usage = self.agent.usage_of_run(&self.session.chat, &cost.run_id).await?;
        if let Some(usage) = usage {
            AnswerCost::new(usage, self.session).print(cost.time, cost.has_summary);
        }
        Ok(())
    }

    /// Accepts a line as a message, and tells what is attached to it. A person's line can name files; a piped one is
    /// sent as it is.
    async fn accept(&self, text: &str, interrupt: &Interrupt) -> Result<AcceptResult, Failure> {
        let draft = match self.input.is_interactive() {
            true => MessageDraft::with_mentioned_files(self.session, text)?,
            false => text.into(),
        };
        let notes = draft.notes(self.agent.window_tokens());
        let turn = MessageExchange::new(self.session, &self.agent);
        let accepted = turn.accept(draft, interrupt).await?;
        if matches!(accepted, AcceptResult::Yes(_)) {
            notes.iter().try_for_each(|note| self.print_note(&format!("({note})")))?;
        }
        Ok(accepted)
    }

    /// Sends a message that is written in the person's editor.
    async fn edit_message(&mut self, text: &str) -> Result<ChatAction, Failure> {
        if !self.input.is_interactive() {
            self.refuse_line("/edit needs a terminal.")?;
            return Ok(ChatAction::Listen);
        }
        self.input.keyboard().inspect(|keyboard| keyboard.release());
        let edited = editor::edit_text(text);
        self.input.keyboard().inspect(|keyboard| keyboard.silence());
        match edited {
            Err(failure) => self.print_failure(failure)?,
            Ok(text) if text.is_empty() => self.print_note("(nothing was sent)")?,
            Ok(text) => {
                self.input.remember(&text);
                self.print_note(&format!("> {}", output::escape_unprintable(&text)))?;
                return self.say(&text).await;
            }
        }
        Ok(ChatAction::Listen)
    }

    /// Sends a text, and shows or prints its answer.
    async fn say(&mut self, text: &str) -> Result<ChatAction, Failure> {
        match self.session.json {
            true => self.answer_json(text).await.map(|()| ChatAction::Listen),
            false => self.send_message(text).await,
        }
    }

    async fn send_message(&mut self, text: &str) -> Result<ChatAction, Failure> {
        let turn = MessageExchange::new(self.session, &self.agent);
        let (interrupt, mut screen) = (Interrupt::default(), self.screen());
        let accepted = match self.accept(text, &interrupt).await {
            Ok(AcceptResult::Yes(accepted)) => {
                self.let_go();
                accepted
            }
            Ok(AcceptResult::Unknown) => {
                screen.end_early()?;
                self.print_failure(super::send::unknown_if_kept())?;
                return Ok(ChatAction::Listen);
            }
            // The message is at fault, not the chat: the person can write another one.
            Err(failure) if failure.is_refusal() => {
                self.print_failure(failure)?;
                return Ok(ChatAction::Listen);
            }
            // A person may make room on the disk, and try again.
            Err(failure) if self.input.is_interactive() => {
                self.put_back(text);
                self.print_failure(failure)?;
                return Ok(ChatAction::Listen);
            }
            Err(failure) => return Err(failure),
        };
        let running = turn.reply(&accepted, &interrupt);
        let ended = self.follow(&mut screen, running, &interrupt).await?;
        let ended = match ended.transpose() {
            // A person can deal with the disk or the other process, and continue here; a pipe would only wait.
            Err(failure) if self.input.is_interactive() => {
                self.take_back_typed();
                self.print_failure(failure)?;
                return Ok(ChatAction::Listen);
            }
            ended => ended?,
        };
        let Some(reply) = ended else {
            screen.end_early()?;
            self.print_note("(your message is kept)")?;
            return Ok(ChatAction::Listen);
        };
        drop(screen);
        match reply {
            Some(reply) if reply.is_from_here && !reply.is_left() => {
                return self.report_outcome(Some(reply.outcome)).await;
            }
            Some(reply) if !reply.messages.is_empty() => {
                // Where the answer was given is told before it.
                self.print_news().await?;
                for message in &reply.messages {
                    for text in project_texts_for_user(message, self.session.project.settings()) {
                        output::print_line(&text_for_user::render_text(&text))?;
                    }
                }
            }
            Some(_) | None => self.print_note("(your message is kept)")?,
        }
        Ok(ChatAction::Listen)
    }
}

/// Reads the words that can be completed.
async fn update_words(
    completions: &Completions,
    session: &Session,
    agent: &Agent,
) -> Result<(), Failure> {
    completions.set_models(agent.known_models(&session.project).await);
    let Some(contexts) = agent.contexts(&session.chat).await? else { return Ok(()) };
    let messages = active_messages(&*session.store()?, &session.chat).await?;
    let messages = last_messages(messages.iter(), session.project.settings());
    completions.set_words(&contexts, messages);
    Ok(())
}
