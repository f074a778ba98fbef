//! `./bench [PART]`: every time and size that we promise, as ratios within one run.

use std::process::ExitCode;

use ship_bench::report::Report;
use ship_bench::{
    compact, contexts, idle, import, large, many, message, provider, queue, search, ship, store,
    subscribers, tokens,
};

const PARTS: [&str; 14] = [
    "message",
    "store",
    "ship",
    "large",
    "tokens",
    "provider",
    "compact",
    "contexts",
    "queue",
    "subscribers",
    "many",
    "idle",
    "import",
    "search",
];

fn main() -> std::io::Result<ExitCode> {
    let wanted = std::env::args().nth(1);
    if let Some(unknown) = wanted.as_deref().filter(|part| !PARTS.contains(part)) {
        eprintln!(
            "bench: there is no part `{unknown}`\nhint: ./bench, or one of: {}",
            PARTS.join(", ")
        );
        return Ok(ExitCode::from(2));
    }
    let is_wanted = |part: &str| wanted.as_deref().is_none_or(|wanted| wanted == part);
    // Beside this program: what is measured must be a disk, and the system's folder for temporary files may be memory.
    let program = std::env::current_exe()?;
    let folder = program.parent().expect("a program is in a folder");
    let mut out = std::io::stdout();
    let mut report = Report::new(&mut out);
    if is_wanted("message") {
        message::bench(&mut report)?;
        message::bench_growth(&mut report);
    }
    if is_wanted("store") {
        store::bench(folder, &mut report)?;
    }
    if is_wanted("ship") {
        ship::bench(folder, &mut report)?;
    }
    if is_wanted("large") {
        large::bench(folder, &mut report)?;
    }
    if is_wanted("tokens") {
        tokens::bench(&mut report);
    }
    if is_wanted("provider") {
        provider::bench(&mut report);
    }
    if is_wanted("compact") {
        compact::bench(&mut report).map_err(std::io::Error::other)?;
    }
    if is_wanted("contexts") {
        contexts::bench(folder, &mut report)?;
    }
    if is_wanted("queue") {
        queue::bench(&mut report)?;
    }
    if is_wanted("subscribers") {
        subscribers::bench(&mut report)?;
    }
    if is_wanted("many") {
        many::bench(folder, &mut report)?;
    }
    if is_wanted("idle") {
        idle::bench(folder, &mut report)?;
    }
    if is_wanted("import") {
        import::bench(folder, &mut report)?;
    }
    if is_wanted("search") {
        search::bench(folder, &mut report)?;
    }
    Ok(if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
