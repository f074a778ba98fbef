//! A view that is followed as its log grows is always the one that a first look gives.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_message::json::Json;
use ship_store::{
    Chat, ChatKey, ContextEvent, ContextLine, FileStore, NewLine, NewMessage, Seq, Store,
    Timestamp, View,
};
use ship_testkit::chat::{Begun, ids, message, options};
use ship_testkit::sim::SimDisk;
use ship_testkit::sweep::block_on;

/// A project on the real disk, and its chat `a` with its view looked at after everything that happens.
struct Followed {
    project: tempfile::TempDir,
    begun: Begun,
}

impl Followed {
    async fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let begun = Begun::new(&store(&project), "a").await;
        let followed = Self { project, begun };
        followed.same("at the beginning").await;
        followed
    }

    fn log(&self) -> PathBuf {
        self.project.path().join(".ship/chat/a/messages/history.jsonl")
    }

    /// Lets the clock of the file system move on, which may stand still for some milliseconds.
    fn after_the_last_write(&self) -> Metadata {
        let written = fs::metadata(self.log()).unwrap();
        let scratch = self.project.path().join("scratch");
        let changed = |it: &Metadata| (it.ctime(), it.ctime_nsec());
        loop {
            fs::write(&scratch, "x").unwrap();
            if changed(&fs::metadata(&scratch).unwrap()) > changed(&written) {
                return written;
            }
        }
    }

    async fn append(&mut self, batch: Vec<NewLine>) {
        self.begun.position = self.begun.lane.append(batch, self.begun.position).await.unwrap();
    }

    /// Looks at the view, and compares it with what somebody sees who has never looked.
    async fn same(&self, what: &str) -> View {
        let ours = self.begun.chat.log().view().await.unwrap().unwrap();
        let fresh = open(&self.project).await.log().view().await.unwrap().unwrap();
        assert_eq!(ours, fresh, "{what}");
        ours
    }
}

fn store(project: &tempfile::TempDir) -> FileStore {
    FileStore::new(project.path(), options()).unwrap()
}

async fn open(project: &tempfile::TempDir) -> Arc<dyn Chat> {
    store(project).open(&"a".parse::<ChatKey>().unwrap()).await.unwrap().unwrap()
}

fn event(id: &str) -> NewLine {
    let (id, ts) = (id.to_owned(), Timestamp::from_millis(0));
    ContextEvent {
        id,
        ts,
        event: "mark".to_owned(),
        data: Json::Null,
        ref_msg_id: None,
        inbox: None,
    }
    .into()
}

#[test]
fn whatever_is_written_to_a_log_is_seen_as_on_a_first_look() {
    block_on(async {
        let mut a = Followed::new().await;
        a.append(vec![message("m1", "one").into()]).await;
        a.same("a message").await;
        a.append(vec![message("m2", "two").into(), event("e1"), message("m3", "3").into()]).await;
        a.same("a batch").await;
        let (message_2, inbox) = (message("m2", "two, better"), None);
        a.append(vec![NewMessage { message: message_2, rev: 1, inbox }.into()]).await;
        a.same("a message that was replaced").await;
        a.append(vec![message("m4", &"long ".repeat(20_000)).into()]).await;
        a.same("a message in a blob").await;
        a.begun.compact("s1", Seq::new(4)).await;
        a.same("a compaction").await;
        a.append(vec![message("m5", "five").into()]).await;
        let view = a.same("a message behind a compaction").await;
        assert_eq!(view.lines.len(), 5, "{view:?}");
    });
}

#[test]
fn whatever_becomes_of_the_bytes_is_seen_as_on_a_first_look() {
    block_on(async {
        let mut a = Followed::new().await;
        for id in ["m1", "m2", "m3"] {
            a.begun.say(id).await;
        }
        a.same("three messages").await;
        let good = fs::read(a.log()).unwrap();
        let half = [&good[..], b"{\"seq\":5,"].concat();
        let mut flipped = good.clone();
        let middle = good.len() / 2;
        flipped[middle] ^= 4;
        let (shorter, no_newline) = (&good[..middle], &good[..good.len() - 1]);
        for (what, bytes) in [
            ("an unfinished line", &half[..]),
            ("a flipped bit", &flipped),
            ("half of it", shorter),
            ("a lost newline", no_newline),
            ("all of it again", &good),
        ] {
            fs::write(a.log(), bytes).unwrap();
            a.same(what).await;
        }
        let aside = a.log().with_extension("other");
        fs::write(&aside, &good).unwrap();
        fs::rename(&aside, a.log()).unwrap();
        a.same("another file of the same bytes").await;
    });
}

#[test]
fn lines_that_were_seen_before_are_shared_and_not_read_again() {
    block_on(async {
        let mut a = Followed::new().await;
        a.begun.say("m1").await;
        let before = a.begun.chat.log().view().await.unwrap().unwrap();
        a.begun.say("m2").await;
        let after = a.begun.chat.log().view().await.unwrap().unwrap();
        let shared = |(old, new): (&Arc<ContextLine>, &Arc<ContextLine>)| Arc::ptr_eq(old, new);
        assert!(before.lines.iter().zip(&after.lines).all(shared));
        assert_eq!((before.lines.len(), after.lines.len()), (1, 2));
    });
}

#[test]
fn a_log_that_only_this_process_appends_to_is_read_once() {
    block_on(async {
        let disk = SimDisk::new();
        let store = FileStore::on_disk(Box::new(disk.clone()), options());
        let mut begun = Begun::new(&store, "a").await;
        let log = Path::new(".ship/chat/a/messages/history.jsonl");
        begun.say("first").await;
        assert_eq!(ids(&*begun.chat).await.len(), 1);
        let len = |disk: &SimDisk| disk.memory().contents()[log].as_ref().unwrap().len() as u64;
        let (read, known) = (disk.bytes_read_of(log), len(&disk));
        for number in 2..50 {
            begun.say(&format!("m{number}")).await;
            assert_eq!(ids(&*begun.chat).await.len(), number);
        }
        // Each append looks at the end that it continues, besides.
        let (read, new) = (disk.bytes_read_of(log) - read, len(&disk) - known);
        assert!(read <= new + 48 * 64, "{read} bytes read for {new} new ones");
    });
}

#[test]
fn an_edit_of_the_same_length_is_seen_though_its_time_was_set_back() {
    block_on(async {
        let mut a = Followed::new().await;
        for id in ["m1", "m2"] {
            a.begun.say(id).await;
            a.same("our own append").await;
        }
        let written = a.after_the_last_write();
        let edited = fs::read_to_string(a.log()).unwrap().replace("m2", "mm");
        fs::write(a.log(), edited).unwrap();
        let file = fs::File::options().append(true).open(a.log()).unwrap();
        file.set_modified(written.modified().unwrap()).unwrap();
        let seen = a.same("an edit by hand").await;
        assert_eq!((seen.lines.len(), seen.problems.len()), (1, 1), "{seen:?}");
    });
}

#[test]
fn an_edit_before_our_append_is_seen_behind_it() {
    block_on(async {
        let mut a = Followed::new().await;
        let text = "ahoy ".repeat(100);
        for id in ["m1", "m2", "m3"] {
            a.append(vec![message(id, &text).into()]).await;
        }
        a.same("three messages").await;
        a.after_the_last_write();
        // The end of the log, which an append looks at, is as it was.
        let edited = fs::read_to_string(a.log()).unwrap().replacen("ahoy", "ahoi", 1);
        fs::write(a.log(), edited).unwrap();
        a.append(vec![message("m4", "four").into()]).await;
        let seen = a.same("an append behind an edit").await;
        assert_eq!((seen.lines.len(), seen.problems.len()), (3, 1), "{seen:?}");
    });
}

#[test]
fn a_log_that_is_read_in_blocks_is_seen_whole() {
    block_on(async {
        let mut a = Followed::new().await;
        let text = "ahoy ".repeat(4_000);
        for nth in 0..60 {
            // Some of these batches stand across the border of two blocks.
            let batch = (0..3).map(|at| message(&format!("m{nth}-{at}"), &text).into());
            a.append(batch.collect()).await;
        }
        let long = a.same("a long log").await;
        let said = (0..180).map(|nth| format!("m{}-{}", nth / 3, nth % 3));
        assert!(long.messages().map(ship_testkit::chat::id).eq(said) && long.problems.is_empty());
        let mut bytes = fs::read(a.log()).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(a.log(), &bytes).unwrap();
        let damaged = a.same("damage in a later block").await;
        assert_eq!((damaged.lines.len(), damaged.problems.len()), (179, 1));
        bytes[middle] ^= 1;
        fs::write(a.log(), &bytes).unwrap();
        a.same("the damage is undone").await;
        a.begun.compact("s", long.lines[170].seq).await;
        let sealed = a.begun.chat.log().sealed().await.unwrap().remove(0);
        let whole = a.begun.chat.log().sealed_view(&sealed.name).await.unwrap();
        assert_eq!(whole.lines, long.lines);
        let kept = a.same("a rotation").await;
        let messages = |view: &View| view.messages().cloned().collect::<Vec<_>>();
        assert_eq!(messages(&kept)[1..], messages(&long)[170..]);
    });
}
