//! `./bench [PART]`: every time and size that we promise, as ratios within one run.

use std::process::ExitCode;

use ship_bench::message;
use ship_bench::report::Report;

fn main() -> std::io::Result<ExitCode> {
    let wanted = std::env::args().nth(1);
    let is_wanted = |part: &str| wanted.as_deref().is_none_or(|wanted| wanted == part);
    let mut out = std::io::stdout();
    let mut report = Report::new(&mut out);
    if is_wanted("message") {
        message::bench(&mut report)?;
        message::bench_growth(&mut report);
    }
    Ok(if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
