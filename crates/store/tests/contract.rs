//! One suite of promises, on every back end.

use ship_store::FileStore;
use ship_testkit::chat::options;

fn on_files() -> (FileStore, tempfile::TempDir) {
    let project = tempfile::tempdir().expect("a folder");
    (FileStore::new(project.path(), options()).expect("a store"), project)
}

ship_testkit::store_contract!(files, super::on_files());
ship_testkit::store_contract!(
    memory,
    (ship_store::FileStore::in_memory(ship_testkit::chat::options()), ())
);
ship_testkit::store_contract!(
    simulated,
    (
        ship_store::FileStore::on_disk(
            Box::new(ship_testkit::sim::SimDisk::new()),
            ship_testkit::chat::options()
        ),
        ()
    )
);
ship_testkit::store_contract!(maps, (ship_testkit::map_store::MapStore::default(), ()));
