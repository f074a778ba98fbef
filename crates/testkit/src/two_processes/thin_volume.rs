//! A thin volume: a file system that promises more room than there is below it, fills up, and is extended.
//!
//! It is an ext4 image with holes, on a small disk in memory. While that disk is full, writes to the volume succeed and
//! their syncs fail, and what a sync could not write is lost with the next mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::case_runner::CaseRunner;
use super::chat_session::ChatSession;
use super::fault_case::BrokenPromise;
use super::sweep::SweepCounts;
use super::test_project::TestProject;

/// So many pages are left when the volume fills up: enough for none, some or all of what a message writes.
const FREE_PAGES: std::ops::Range<u64> = 0..12;
const PAGE: u64 = 4096;

/// Lets two processes run into a full thin volume and go on when it was extended, with more room left each time.
/// `None`, and a word on standard error, if this machine cannot mount one.
///
/// # Errors
/// How a promise was broken.
pub fn thin_volume(ship: &Path) -> Result<Option<SweepCounts>, BrokenPromise> {
    let mut total = SweepCounts::default();
    for free in FREE_PAGES {
        let Some(volume) = Volume::mount() else { return Ok(None) };
        let counts = fill_and_extend(ship, &volume, free * PAGE)
            .map_err(|wrong| BrokenPromise(format!("with {free} pages left: {wrong}")))?;
        total.add(&counts);
    }
    Ok(Some(total))
}

fn fill_and_extend(ship: &Path, volume: &Volume, free: u64) -> Result<SweepCounts, BrokenPromise> {
    let project = TestProject::at(ship, volume.root(), volume.folder.path().to_owned());
    let mut runner = CaseRunner::new(project, Path::new(""));
    runner.counts.cases = 1;
    for _ in 0..3 {
        runner.healthy_send()?;
    }
    let mut session = ChatSession::new(runner.project.start(&["chat", "--json"], None));
    runner.chat_message(&mut session)?;
    volume.fill(free);
    // Each of them may be refused.
    for _ in 0..2 {
        runner.chat_message(&mut session)?;
        runner.send()?;
        session.line(&mut runner, "/context new")?;
        runner.send()?;
    }
    volume.extend();
    runner.healthy_send()?;
    for _ in 0..2 {
        if !runner.chat_message(&mut session)? {
            return Err(BrokenPromise(
                "the chat refuses a message though there is room again".to_owned(),
            ));
        }
        runner.healthy_send()?;
    }
    session.end(&mut runner)?;
    volume.mount_again();
    runner.finish_after_lost_writes()?;
    Ok(runner.counts)
}

/// A mounted thin volume. Dropped, it is gone.
struct Volume {
    folder: TempDir,
    /// The loop device, once there is one.
    device: String,
}

impl Volume {
    fn mount() -> Option<Self> {
        let mut volume = Self { folder: tempfile::tempdir().unwrap(), device: String::new() };
        for name in ["below", "volume"] {
            fs::create_dir(volume.path(name)).unwrap();
        }
        let is_made =
            run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs"], &[&volume.path("below")])
                && volume.make_image()
                && volume.attach()
                && volume.mount_device();
        if !is_made {
            eprintln!("skipped: a thin volume needs root, loop devices and mkfs.ext4");
            return None;
        }
        fs::create_dir(volume.root()).unwrap();
        volume.touch();
        Some(volume)
    }

    /// Makes a file system in a file with holes, without anything that it would write on its own later.
    fn make_image(&self) -> bool {
        let features = "^has_journal,^uninit_bg,^metadata_csum,^dir_index";
        let options =
            ["-q", "-b", "4096", "-N", "2048", "-O", features, "-E", "lazy_itable_init=0"];
        fs::File::create_new(self.image()).and_then(|image| image.set_len(8 << 20)).is_ok()
            && run("mkfs.ext4", &options, &[&self.image()])
    }

    /// Makes a device of the image. It takes a page at a time: the loop driver reports a longer write as done when only
    /// its beginning found room.
    fn attach(&mut self) -> bool {
        let attached = Command::new("losetup").args(["-f", "--show"]).arg(self.image()).output();
        let Some(attached) = attached.ok().filter(|attached| attached.status.success()) else {
            return false;
        };
        self.device = String::from_utf8_lossy(&attached.stdout).trim().to_owned();
        let name = self.device.trim_start_matches("/dev/");
        fs::write(format!("/sys/block/{name}/queue/max_sectors_kb"), "4").is_ok()
    }

    fn mount_device(&self) -> bool {
        let options = ["-o", "errors=continue,dioread_lock", self.device.as_str()];
        run("mount", &options, &[&self.path("volume")])
    }

    /// Gives every block of the file system itself its place below: only what files hold may be lacking room.
    fn touch(&self) {
        let files: Vec<PathBuf> = (0..2000).map(|n| self.path(&format!("volume/{n}"))).collect();
        files.iter().for_each(|path| drop(fs::File::create(path).unwrap()));
        self.sync();
        files.iter().for_each(|path| fs::remove_file(path).unwrap());
        self.sync();
    }

    fn sync(&self) {
        assert!(run("sync", &["-f"], &[&self.path("volume")]), "the volume can be synced");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn image(&self) -> PathBuf {
        self.path("below/image")
    }

    /// The project's folder.
    fn root(&self) -> PathBuf {
        self.path("volume/project")
    }

    /// Leaves only so many bytes below the volume.
    fn fill(&self, free: u64) {
        self.sync();
        let filler = fs::File::create(self.path("below/filler")).unwrap();
        let mut len = 0;
        while rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), len, PAGE).is_ok()
        {
            len += PAGE;
        }
        filler.set_len(len.saturating_sub(free)).unwrap();
    }

    fn extend(&self) {
        assert!(run("mount", &["-o", "remount,size=64m"], &[&self.path("below")]));
    }

    /// Forgets what is in memory alone.
    fn mount_again(&self) {
        assert!(run("umount", &[], &[&self.path("volume")]), "nobody uses the volume any more");
        assert!(self.mount_device(), "the volume can be mounted again");
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // What was never made need not be taken away.
        run("umount", &["-l"], &[&self.path("volume")]);
        if !self.device.is_empty() {
            run("losetup", &["-d", self.device.as_str()], &[]);
        }
        run("umount", &["-l"], &[&self.path("below")]);
    }
}

/// Runs a command of the system. Returns whether it is there and was content.
fn run(program: &str, arguments: &[&str], paths: &[&Path]) -> bool {
    let output = Command::new(program).args(arguments).args(paths).output();
    output.is_ok_and(|output| output.status.success())
}
