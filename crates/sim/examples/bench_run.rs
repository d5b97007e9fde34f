//! Runs one scenario file and prints its record: for profilers, which want a plain program.
//!
//! `bench_run FILE.toml [SEED] [--duration SECONDS] [--event-path] [--unfolded]`

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "it is a command, which times the run"
)]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use evenflow_base::Duration;
use evenflow_scenario::model::Scenario;
use evenflow_sim::Options;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.first().ok_or("usage: bench_run FILE.toml [SEED] [--duration SECONDS]")?;
    let seed = args.get(1).and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut scenario = Scenario::from_toml(&std::fs::read_to_string(file)?).map_err(|e| e.to_string())?;
    if let Some(at) = args.iter().position(|a| a == "--duration") {
        scenario.duration =
            Duration::from_seconds(args.get(at + 1).ok_or("--duration wants seconds")?.parse()?);
    }
    let start = Instant::now();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let (eager, unfolded) = (has("--eager"), has("--unfolded"));
    // As runs of users have one.
    let options = Options { eager, unfolded, memory: Some(1 << 40), ..Options::default() };
    let outcome = evenflow_sim::run(&scenario, seed, options, &AtomicBool::new(false))?;
    let mut record = outcome.record;
    record.insert("record_hash".into(), outcome.record_hash.into());
    record.insert("folded".into(), outcome.folded.into());
    record.insert("wall_s".into(), start.elapsed().as_secs_f64().into());
    println!("{}", serde_json::Value::Object(record));
    Ok(())
}
