//! A back end needs nothing but the public rules: a chat in lists gives the answers of the file store.

use std::collections::HashMap;

use ship_message::json::Object;
use ship_store::rules::{
    Accepting, Appending, Batch, BatchState, LedgerAddition, LedgerHead, LiveLog, OpenDeliveries,
    PlannedRotation, PreparedRotation, PresentLine, RawLine, SourceLog, TextBlob, UnnumberedLine,
    decode, entry_key, ledger_line, newest_revisions, next_number, prepare_deliveries,
    prepare_entry, source_logs, view_of_log,
};
use ship_store::{
    About, AcceptError, Accepted, AppendError, BlobError, ChatKey, Clock as _, Delivery,
    DeliveryState, Explain, FileStore, LedgerEntry, LedgerLine, LedgerSeq, LogPiece, NewLine,
    NewMessage, Position, RotateError, Rotated, Rotation, SealedName, Seq, Store, Timestamp, View,
};
use ship_testkit::chat::{compaction, entry, first_context, message, options};
use ship_testkit::clock::ManualClock;
use ship_testkit::runtime::block_on;

const BYTES_MAX: usize = 8_388_608;

/// A chat whose logs are lists of lines, as a table of a database would have them.
struct ListChat {
    key: ChatKey,
    live: Vec<Vec<u8>>,
    sealed: Vec<(SealedName, Vec<Vec<u8>>)>,
    ledger: Vec<Vec<u8>>,
    blobs: HashMap<String, String>,
}

impl ListChat {
    fn new(key: ChatKey) -> Self {
        let head = LedgerHead::default().to_line(
            &key,
            &OpenDeliveries::default(),
            LedgerSeq::FIRST,
            now(),
        );
        let ledger = vec![encoded(&head, 1)];
        Self { key, live: Vec::new(), sealed: Vec::new(), ledger, blobs: HashMap::new() }
    }

    fn append(&mut self, lines: Vec<NewLine>, end: Position) -> Result<Position, AppendError> {
        let (batch, texts) = Batch::prepare(lines, end, BYTES_MAX)?;
        self.put(texts);
        let lines = decoded(&self.live);
        let live = LiveLog::read(&lines);
        let mut present = HashMap::new();
        for line in newest_revisions(lines.into_iter()) {
            if let Some(new) =
                batch.lines.iter().find(|new| line.body.str("id") == Some(new.id.as_str()))
            {
                let (seq, line) = (Seq::new(line.seq), line.into_draft());
                present.insert(new.id.clone(), PresentLine { seq, line });
            }
        }
        let state = BatchState { present, ledger_end: self.ledger_end() };
        let mut appending = Appending::new(&self.key, live.map(|live| live.end));
        let position = appending.add(batch, &state)?;
        let next = live.expect("it was not refused").end.next.get();
        let lines = appending.into_lines();
        self.live.extend(lines.iter().zip(next..).map(|(line, seq)| encoded(line, seq)));
        Ok(position)
    }

    fn rotate(&mut self, rotation: Rotation) -> Result<Rotated, RotateError> {
        let sources = source_logs(&rotation, &self.key).into_iter().map(|source| {
            let log = self.sealed.iter().find(|(name, _)| source.log.as_ref() == Some(name));
            let (name, lines) = log.expect("a sealed log");
            let lines = decoded(lines).into_iter().skip(1);
            (source, SourceLog::new(lines, Some(name.range())))
        });
        let sources = sources.collect();
        let (prepared, texts) =
            PreparedRotation::prepare(rotation, &self.key, &sources, BYTES_MAX)?;
        self.put(texts);
        let lines = decoded(&self.live);
        let live = LiveLog::read(&lines);
        let kept = newest_revisions(lines.into_iter().skip(1));
        let PlannedRotation { log, rotated } =
            prepared.publish(&self.key, live.as_ref(), kept, self.ledger_end(), now())?;
        let first = log.first.get();
        let lines = log.into_lines(&self.key, now());
        let new = lines.iter().zip(first..).map(|(line, seq)| encoded(line, seq)).collect();
        let old = std::mem::replace(&mut self.live, new);
        self.sealed.extend(rotated.sealed.clone().map(|name| (name, old)));
        Ok(rotated)
    }

    fn accept(&mut self, entry: LedgerEntry) -> Result<Accepted, AcceptError> {
        let (addition, texts) = prepare_entry(entry, BYTES_MAX)?;
        self.add_to_ledger(addition, texts)
    }

    fn deliver(&mut self, states: Vec<Delivery>) -> Result<LedgerSeq, AcceptError> {
        let (addition, texts) = prepare_deliveries(states, BYTES_MAX)?;
        self.add_to_ledger(addition, texts).map(|added| added.seq)
    }

    fn add_to_ledger(
        &mut self,
        addition: LedgerAddition,
        texts: Vec<TextBlob>,
    ) -> Result<Accepted, AcceptError> {
        self.put(texts);
        let lines = decoded(&self.ledger);
        let cursor = LiveLog::read(&decoded(&self.live)).and_then(|live| live.inbox);
        let next = next_number(lines.last().map_or(0, |line| line.seq), cursor);
        let mut accepting = Accepting::new(&self.key, next, 0);
        let known = accepting.unknown_key(&addition).and_then(|key| {
            let entry = lines.iter().find(|line| entry_key(line) == Some(key))?;
            Some(LedgerSeq::new(entry.seq))
        });
        let accepted = accepting.add(addition, known)?;
        let new = accepting.lines().iter().zip(next.get()..);
        self.ledger.extend(new.map(|(line, seq)| encoded(line, seq)));
        Ok(accepted)
    }

    fn put(&mut self, texts: Vec<TextBlob>) {
        self.blobs.extend(texts.into_iter().map(|text| (text.blob.sha256, text.text)));
    }

    fn read_blob(&self, digest: &str) -> Result<Vec<u8>, BlobError> {
        let text = self.blobs.get(digest).cloned();
        text.map(String::into_bytes).ok_or_else(|| BlobError::Missing(digest.to_owned()))
    }

    fn ledger_end(&self) -> Option<LedgerSeq> {
        decoded(&self.ledger).last().map(|line| LedgerSeq::new(line.seq))
    }

    fn view(&self, log: &[Vec<u8>]) -> View {
        let view = view_of_log(decoded(log), "a list", |digest| self.read_blob(digest));
        view.expect("no blob fails").expect("a log has a head")
    }

    fn entries(&self) -> Vec<LedgerLine> {
        let read =
            |line| ledger_line(line, |digest| self.read_blob(digest)).expect("no blob fails");
        decoded(&self.ledger).into_iter().filter_map(read).collect()
    }

    fn open_deliveries(&self) -> Vec<Delivery> {
        let mut open = OpenDeliveries::default();
        decoded(&self.ledger).iter().for_each(|line| open.apply(line));
        open.restore(|digest| self.read_blob(digest)).expect("no blob fails")
    }
}

fn now() -> Timestamp {
    ManualClock::default().now()
}

fn encoded(line: &UnnumberedLine, seq: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    line.write(seq, None, &mut bytes);
    bytes.pop();
    bytes
}

fn decoded(lines: &[Vec<u8>]) -> Vec<RawLine> {
    lines.iter().map(|line| decode(line).expect("a line")).collect()
}

/// Compares two answers; errors are the same if they say the same.
fn same<T: PartialEq + std::fmt::Debug, E: Explain>(
    list: Result<T, E>,
    file: Result<T, E>,
) -> Result<T, String> {
    let told = |answer: Result<T, E>| answer.map_err(|error| error.explain().to_string());
    let (list, file) = (told(list), told(file));
    assert_eq!(list, file);
    list
}

#[test]
fn a_chat_in_lists_gives_the_answers_of_the_file_store() {
    block_on(async {
        let store = FileStore::in_memory(options());
        let key: ChatKey = "a".parse().unwrap();
        let chat = store.create(&key, About::default()).await.unwrap();
        let lane = chat.lane("test").await.unwrap();
        let mut list = ListChat::new(key);
        let begun = same(list.rotate(first_context()), lane.rotate(first_context()).await).unwrap();

        let long = "0123456789 漢字 🦜 ".repeat(3000);
        for (key, is_new) in [("k1", true), ("k2", true), ("k1", false)] {
            let entry = entry(key, &long);
            let accepted =
                same(list.accept(entry.clone()), chat.ledger().accept(entry).await).unwrap();
            assert_eq!(accepted.new, is_new);
        }
        let answered = list.entries()[0].seq;
        let promoted = |inbox| NewMessage { message: message("m1", &long), rev: 0, inbox };
        let better = NewMessage { message: message("m1", "better"), rev: 1, inbox: None };
        let batches: [(Vec<NewLine>, u64); 6] = [
            (vec![promoted(Some(answered)).into(), message("m2", "m2").into()], 1),
            (vec![message("m3", "too late").into()], 1),
            (vec![promoted(Some(answered)).into()], 1),
            (vec![better.into()], 3),
            (vec![message("m2", "a conflict").into()], 4),
            (vec![promoted(Some(LedgerSeq::new(99))).into()], 4),
        ];
        let mut refused = 0;
        for (batch, seq) in batches {
            let expected = Position { seq: Seq::new(seq), ..begun.position };
            let file = lane.append(batch.clone(), expected).await;
            refused += usize::from(same(list.append(batch, expected), file).is_err());
        }
        assert_eq!(refused, 3);

        let delivery = |id: &str, state, text: &str| {
            let data = Object::from([("text", text)]);
            Delivery { entry: answered, id: id.to_owned(), ts: now(), state, data }
        };
        let planned = delivery("p1", DeliveryState::Planned, &long);
        let states = vec![planned.clone(), delivery("p2", DeliveryState::Sent, "")];
        same(list.deliver(states.clone()), lane.deliver(states).await).unwrap();
        let ghost = Delivery { entry: LedgerSeq::new(99), ..planned.clone() };
        assert!(same(list.deliver(vec![ghost.clone()]), lane.deliver(vec![ghost]).await).is_err());

        let view = list.view(&list.live);
        let compacted = compaction(&view, vec![message("s1", "summary").into()], Seq::new(3));
        let rotated = same(list.rotate(compacted.clone()), lane.rotate(compacted.clone()).await);
        assert!(same(list.rotate(compacted.clone()), lane.rotate(compacted).await).is_err());

        let undo = |log: &SealedName| {
            let (first, last) = log.range();
            let pieces = vec![LogPiece::Sealed { log: log.clone(), first, last }];
            let expected = Some(begun.position.generation.next());
            Rotation { expected, head: view.head.clone(), pieces }
        };
        let undo = undo(&list.sealed[0].0);
        same(list.rotate(undo.clone()), lane.rotate(undo).await).unwrap();

        // Lists need no marks of a batch, which change the checksums in the sealed log.
        let live = chat.log().view().await.unwrap().unwrap();
        assert_eq!(list.view(&list.live), live);
        assert_eq!(live.lines.len(), 2);
        let (name, sealed) = &list.sealed[0];
        assert_eq!(rotated.unwrap().sealed.as_ref(), Some(name));
        let in_file = chat.log().sealed_view(name).await.unwrap();
        assert_eq!(list.view(sealed).lines, in_file.lines);
        assert_eq!(list.entries(), chat.ledger().after(None, 9).await.unwrap());
        assert_eq!(list.open_deliveries(), [planned]);
        assert_eq!(list.open_deliveries(), chat.ledger().open_deliveries().await.unwrap());
    });
}
