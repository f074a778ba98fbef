//! A tool whose effects can be counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ship_agent::Tool;
use ship_message::json::{Json, Object};
use ship_testkit::sim::SimDisk;

/// A tool that counts its effects, and how many changes the disk had seen at each.
#[expect(clippy::disallowed_methods, reason = "the clock is paused where a call waits")]
pub(crate) fn counting(
    name: &str,
    count: Arc<AtomicUsize>,
    disk: Option<(SimDisk, Arc<Mutex<Vec<usize>>>)>,
) -> Tool {
    let schema = Json::Object(Object::from([("type", "object")]));
    Tool::with_schema(name, "counts", schema, move |input, _| {
        let (count, disk) = (Arc::clone(&count), disk.clone());
        Box::pin(async move {
            count.fetch_add(1, Ordering::SeqCst);
            if let Some((disk, changes)) = &disk {
                changes.lock().unwrap().push(disk.ops_len());
            }
            match input.get("do").and_then(Json::as_str) {
                Some("panic") => panic!("a fault of the tool"),
                Some("hang") => std::future::pending().await,
                Some("wait") => {
                    for _ in 0..60 {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Ok(Json::from("waited"))
                }
                Some("fail") => Err("no such thing".to_owned()),
                Some("long") => Ok(Json::from("long ".repeat(100))),
                _ => Ok(Json::from("done")),
            }
        })
    })
}
