//! The contexts of an injured chat: those that are listed at first stay listed, and can be loaded with what they said.

use std::collections::BTreeSet;

use ship_message::json::Json;
use ship_testkit::random::Random;

use crate::project::{Project, Ran};
use crate::readable::CHAT;

/// The contexts that were listed right after an injury.
pub(crate) struct Listed {
    ids: BTreeSet<String>,
    /// One of the archived contexts, and the texts that were shown of it.
    looked_at: Option<(String, BTreeSet<String>)>,
    /// Whether a blob was injured: then a message of the log is there in part.
    is_blob: bool,
}

impl Listed {
    /// Lists the contexts and looks at one that is archived; `None` if the list is refused. The injury of `file` may
    /// have cost a context whose file it is, but what a snapshot tells stays while a line is left of its log.
    pub(crate) fn look(project: &Project, file: &str, random: &mut Random) -> Option<Self> {
        let ids = ids(project).ok()?;
        let is_spared = |id: &&String| match Snapshot::read(project, id) {
            Some(snapshot) => {
                let is_left =
                    std::fs::read(project.path(file)).is_ok_and(|bytes| bytes.contains(&b'\n'));
                !file.contains(*id) && (is_left || !file.contains(&snapshot.sealed))
            }
            None => true,
        };
        let ids: BTreeSet<String> = ids.iter().filter(is_spared).cloned().collect();
        let archived =
            ids.iter().filter_map(|id| Some((id.clone(), Snapshot::read(project, id)?.texts)));
        let archived: Vec<(String, BTreeSet<String>)> = archived.collect();
        let looked_at = (!archived.is_empty()).then(|| random.one(&archived).clone());
        Some(Self { ids, looked_at, is_blob: file.starts_with("blobs/") })
    }

    /// Says what is missing now.
    pub(crate) fn check(&self, project: &Project) -> Vec<String> {
        let now: BTreeSet<String> = match ids(project) {
            Ok(ids) => ids.into_iter().collect(),
            Err(ran) => return vec![format!("the contexts cannot be listed: {ran}")],
        };
        let lost: Vec<&String> = self.ids.difference(&now).collect();
        let mut wrong = match lost.is_empty() {
            true => Vec::new(),
            false => vec![format!("contexts that are not listed any more: {lost:?}")],
        };
        let Some((id, texts)) = &self.looked_at else { return wrong };
        // A command may have come back to the context, and compacted it or said more than a snapshot shows.
        let Some(now) = Snapshot::read(project, id) else { return wrong };
        if !now.is_part && !texts.is_subset(&now.texts) {
            let begin = |text: &String| text.chars().take(60).collect::<String>();
            let lost: Vec<String> = texts.difference(&now.texts).map(begin).collect();
            wrong.push(format!("{id} does not say any more: {lost:?}"));
        }
        let ran = project.run(&["context", "load", id, "--json"], "");
        if ran.code != Some(0) {
            wrong.push(format!("a context cannot be loaded: {ran}"));
        }
        let shown = project.run(&["context", "show", "--json"], "");
        match Json::parse(shown.out.trim_end()).ok().and_then(|json| Snapshot::from_json(&json)) {
            Some(shown) if self.is_blob || shown.is_part || texts.is_subset(&shown.texts) => {}
            _ => wrong.push(format!("{id} was loaded without what was shown of it: {shown}")),
        }
        wrong
    }
}

/// Returns the ids of all contexts.
fn ids(project: &Project) -> Result<Vec<String>, Ran> {
    let ran = project.run(&["context", "list", "--json"], "");
    let Ok(list) = Json::parse(ran.out.trim_end()) else { return Err(ran) };
    let Some(items) = list.get("items").and_then(Json::as_array) else { return Err(ran) };
    let id = |context: &Json| context.get("contextId")?.as_str().map(str::to_owned);
    Ok(list.get("active").into_iter().chain(items).filter_map(id).collect())
}

/// The file about an archived context.
struct Snapshot {
    sealed: String,
    texts: BTreeSet<String>,
    /// Whether older texts are not in it.
    is_part: bool,
}

impl Snapshot {
    fn read(project: &Project, id: &str) -> Option<Self> {
        let path = project.path(&format!("{CHAT}contexts/archive/{id}.json"));
        Self::from_json(&Json::parse_bytes(&std::fs::read(path).ok()?).ok()?)
    }

    fn from_json(json: &Json) -> Option<Self> {
        let turns = json.get("turns")?.as_array()?;
        let text = |turn: &Json| turn.get("text")?.as_str().map(str::to_owned);
        let meta = |key: &str| json.get("meta").and_then(|meta| meta.get(key));
        let is_compacted = meta("compacted").and_then(Json::as_bool) == Some(true);
        let is_cut = meta("turnsLeftOut").and_then(Json::as_u64) > Some(0);
        Some(Self {
            is_part: is_compacted || is_cut,
            sealed: json.get("sealed").and_then(Json::as_str).unwrap_or_default().to_owned(),
            texts: turns.iter().filter_map(text).collect(),
        })
    }
}
