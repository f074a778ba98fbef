//! Keeps what is known of hosts: `.ship/hosts.json`, with one object for each host.
//!
//! The file is derived: without it, each host is learned anew, at the price of a refused request. So a file that
//! cannot be read is set aside and never an error. Processes that write at the same moment may lose what one of them
//! has written, but never the file; it still knows what it wrote, and writes it again.

use std::path::Path;

use ship_message::json::{Json, Object};

use super::blobs::create_unfinished;
use super::store_env::{Env, write_all};
use crate::StorageError;

const FOLDER: &str = ".ship";
const FILE: &str = ".ship/hosts.json";
const SET_ASIDE: &str = ".ship/hosts.damaged.json";
/// The version that this program writes.
const VERSION: u64 = 1;
/// The number of hosts that are remembered; the one that was written first is dropped.
const HOSTS_MAX: usize = 64;

/// Returns what is known of a host; nothing if the file is missing, damaged or of a newer program.
pub(super) fn facts_of(env: &Env, host: &str) -> Result<Object, StorageError> {
    let hosts = match read_hosts(env)? {
        HostsFile::Hosts(hosts) => hosts,
        HostsFile::Damaged(_) | HostsFile::Newer => return Ok(Object::new()),
    };
    Ok(hosts.get(host).and_then(Json::as_object).cloned().unwrap_or_default())
}

/// Replaces what is known of a host, and leaves the other hosts as they are. The file of a newer program stays.
pub(super) fn put_facts(env: &Env, host: &str, facts: Object) -> Result<(), StorageError> {
    let mut hosts = match read_hosts(env)? {
        HostsFile::Hosts(hosts) => hosts,
        HostsFile::Newer => return Ok(()),
        HostsFile::Damaged(bytes) => {
            write(env, Path::new(SET_ASIDE), &bytes)?;
            Object::new()
        }
    };
    // The newest stands last.
    hosts.remove(host);
    hosts.set(host.to_owned(), facts);
    let surplus = hosts.len().saturating_sub(HOSTS_MAX);
    let kept = hosts.iter().skip(surplus);
    let hosts: Object = kept.map(|(host, facts)| (host.to_owned(), facts.clone())).collect();
    let text = Json::from(Object::from([("v", Json::from(VERSION)), ("hosts", hosts.into())]));
    env.ensure_folder(Path::new(FOLDER))?;
    write(env, Path::new(FILE), format!("{text}\n").as_bytes())
}

enum HostsFile {
    Hosts(Object),
    Newer,
    Damaged(Vec<u8>),
}

fn read_hosts(env: &Env) -> Result<HostsFile, StorageError> {
    let Some((_, bytes)) = env.read(Path::new(FILE))? else {
        return Ok(HostsFile::Hosts(Object::new()));
    };
    let json = Json::parse_bytes(&bytes).ok();
    let version = json.as_ref().and_then(|json| json.get("v")?.as_u64());
    let hosts = json.as_ref().and_then(|json| json.get("hosts")?.as_object());
    Ok(match (version, hosts) {
        (Some(VERSION), Some(hosts)) => HostsFile::Hosts(hosts.clone()),
        (Some(version), _) if version > VERSION => HostsFile::Newer,
        _ => HostsFile::Damaged(bytes),
    })
}

/// Writes the file under a name of its own and renames it, because another process may be doing the same.
fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let failed = |error| StorageError::io("write", path, error);
    let (aside, file) = create_unfinished(env, Path::new(FOLDER)).map_err(failed)?;
    let written = write_all(&*file, bytes)
        .and_then(|()| file.sync())
        .and_then(|()| env.disk.rename(&aside, path));
    written.map_err(|error| {
        // No reader opens a name like this.
        let _ = env.disk.remove(&aside);
        failed(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;
    use crate::disk::MemoryDisk;

    fn facts(limit: u64) -> Object {
        Object::from([("limit", limit)])
    }

    #[test]
    fn each_host_has_facts_of_its_own_and_the_oldest_are_dropped() {
        let env = Env::new(Box::new(MemoryDisk::new()), StoreOptions::default());
        assert!(facts_of(&env, "a").unwrap().is_empty());
        put_facts(&env, "a", facts(1)).unwrap();
        put_facts(&env, "b", facts(2)).unwrap();
        put_facts(&env, "a", facts(3)).unwrap();
        assert_eq!(
            (facts_of(&env, "a").unwrap(), facts_of(&env, "b").unwrap()),
            (facts(3), facts(2))
        );
        for nth in 1..HOSTS_MAX {
            put_facts(&env, &format!("host {nth}"), facts(4)).unwrap();
        }
        assert!(facts_of(&env, "b").unwrap().is_empty(), "it was the oldest");
        assert_eq!(facts_of(&env, "a").unwrap(), facts(3));
        assert_eq!(env.list(Path::new(FOLDER)).unwrap(), ["hosts.json"], "nothing is left over");
    }

    #[test]
    fn a_damaged_file_is_set_aside_and_a_newer_one_stays() {
        let env = Env::new(Box::new(MemoryDisk::new()), StoreOptions::default());
        env.ensure_folder(Path::new(FOLDER)).unwrap();
        let content = |path: &str| env.read(Path::new(path)).unwrap().unwrap().1;
        for damaged in ["", "{\"v\":1,\"hosts\":{\"a\"", "[]", "{\"v\":1}"] {
            env.replace(Path::new(FILE), damaged.as_bytes()).unwrap();
            assert!(facts_of(&env, "a").unwrap().is_empty());
            put_facts(&env, "a", facts(1)).unwrap();
            assert_eq!(content(SET_ASIDE), damaged.as_bytes());
            assert_eq!(facts_of(&env, "a").unwrap(), facts(1));
        }
        let newer = b"{\"v\":2,\"hosts\":[]}";
        env.replace(Path::new(FILE), newer).unwrap();
        assert!(facts_of(&env, "a").unwrap().is_empty());
        put_facts(&env, "a", facts(1)).unwrap();
        assert_eq!(content(FILE), newer);
    }
}
