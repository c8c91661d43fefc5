//! `scripts/simulate`, compared with results in closed form.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs the simulation, and returns the row of its only rate.
fn simulated(arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/simulate");
    let output = Command::new("python3").arg(script).arg("--json").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    rows[0].clone()
}

#[track_caller]
fn is_near(value: &Value, want: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - want).abs() <= want * 0.08, "{value} is not near {want}");
}

/// Searches that only need one processor for a fixed time form an M/D/1 queue: their mean wait is
/// ρ·d / (2·(1 − ρ)), where d is the time and ρ the product of time and rate (Pollaczek and Khinchine).
#[test]
fn the_wait_for_a_processor_is_that_of_an_m_d_1_queue() {
    let row = simulated(&[
        "--sites=[[0,0,null]]",
        "--rates=20",
        "--instances=1",
        "--cores=1",
        "--processor-seconds=0.04",
        "--database-writes=1e9",
        "--seconds=2000",
    ]);
    let (time, load) = (0.04, 0.8);
    is_near(&row["mean_processor_wait_seconds"], load * time / (2.0 * (1.0 - load)));
    is_near(&row["searches_a_minute"], 1200.0);
    is_near(&row["database_writes_a_second"], 40.0);
    assert_eq!(row["bottleneck"], "processors");
}

#[test]
fn a_site_that_is_always_busy_gives_as_many_searches_as_it_can_answer() {
    let setup =
        ["--rates=20", "--processor-seconds=0", "--seconds=1200", "--max-waiting=100000", "--ceiling=100000"];
    let busy = simulated(&[&setup[..], &["--sites=[[1,8,null]]", "--instances=2", "--addresses=1"]].concat());
    // Ten checks at once on each of two instances, of eight seconds each.
    is_near(&busy["searches_a_minute"], 2.0 * 10.0 * 60.0 / 8.0);
    assert!(busy["bottleneck"].as_str().unwrap().contains("8 s"), "{busy}");
    let paced = simulated(&[&setup[..], &["--sites=[[1,0,30]]", "--instances=1", "--addresses=3"]].concat());
    // Thirty requests a minute from each of three addresses.
    is_near(&paced["searches_a_minute"], 90.0);
    assert!(paced["bottleneck"].as_str().unwrap().contains("30 a minute"), "{paced}");
}
