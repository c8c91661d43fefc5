//! The report of `catalog check`: failures for people, everything for programs.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::learn::Repair;
use crate::base::text::write_json;
use crate::cli::exit::{Exit, Failure};
use crate::cli::table::{TextFormat, write_table};
use crate::runs::proof::{ModuleProof, Verdict};

/// The report. Its JSON form contains everything.
#[derive(Serialize)]
pub(super) struct Report {
    /// Whether the web was simulated. The report then says nothing about the real sites.
    simulated: bool,
    /// Whether all modules were tested. `false` after an interrupt.
    finished: bool,
    elapsed_ms: u128,
    /// Number of modules tested.
    asked: usize,
    /// Number of modules that are disabled, or touch a sign-in page.
    left_out: usize,
    counts: BTreeMap<&'static str, usize>,
    modules: Vec<ModuleProof>,
    /// The repairs of modules, if they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs: Vec<Repair>,
}

impl Report {
    pub(super) fn new(
        modules: Vec<ModuleProof>,
        repairs: Vec<Repair>,
        simulated: bool,
        finished: bool,
        left_out: usize,
        took: Duration,
    ) -> Self {
        let mut counts: BTreeMap<_, _> = Verdict::ALL.iter().map(|verdict| (verdict.as_str(), 0)).collect();
        for module in &modules {
            *counts.entry(module.verdict.as_str()).or_default() += 1;
        }
        let (elapsed_ms, asked) = (took.as_millis(), modules.len());
        Self { simulated, finished, elapsed_ms, asked, left_out, counts, modules, repairs }
    }

    pub(super) fn write(&self, format: TextFormat, out: &mut dyn Write) -> Result<(), Failure> {
        match format {
            TextFormat::Json => write_json(out, self)?,
            TextFormat::Text => {
                let mut failing: Vec<&ModuleProof> =
                    self.modules.iter().filter(|proof| proof.verdict != Verdict::Ok).collect();
                failing.sort_by_key(|proof| std::cmp::Reverse(proof.verdict));
                let rows: Vec<Vec<String>> = failing.into_iter().map(row).collect();
                if !rows.is_empty() {
                    write_table(out, &["VERDICT", "MODULE", "WHY"], &rows)?;
                }
                self.repairs.iter().try_for_each(|repair| repair.write(out))?;
                writeln!(out, "{}", self.summary())?;
            }
        }
        Ok(())
    }

    /// Returns one line with the number of modules, and of each verdict.
    pub(super) fn summary(&self) -> String {
        let counts = Verdict::ALL.iter().filter_map(|verdict| {
            let count = self.count(*verdict);
            (count > 0 || *verdict == Verdict::Ok).then(|| format!("{count} {}", verdict.as_str()))
        });
        let mut text = format!("{} modules: {}", self.asked, counts.collect::<Vec<_>>().join(", "));
        let left_out = format!("; {} skipped", self.left_out);
        for (holds, what) in [
            (self.left_out > 0, left_out.as_str()),
            (!self.finished, "; stopped before all modules were tested"),
            (self.is_unreachable(), "; no site could be reached"),
            (self.simulated, "; SIMULATED: this tests the rules, not the real sites"),
        ] {
            text.push_str(if holds { what } else { "" });
        }
        text
    }

    pub(super) fn exit(&self) -> Exit {
        // On the simulated web no site is down or slow, so every verdict but `ok` is a mistake of the module.
        let is_wrong = |verdict: Verdict| {
            verdict.is_failing() || (self.simulated && !matches!(verdict, Verdict::Ok | Verdict::Unfinished))
        };
        if self.modules.iter().any(|proof| is_wrong(proof.verdict)) {
            Exit::NothingFound
        } else if !self.finished || self.is_unreachable() {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.counts.get(verdict.as_str()).copied().unwrap_or_default()
    }

    /// Returns whether modules were tested and none got an answer, most likely because there is no network.
    fn is_unreachable(&self) -> bool {
        let silent = self.count(Verdict::Error) + self.count(Verdict::Timeout);
        let is_asked = |proof: &&ModuleProof| !proof.answers.is_empty();
        silent > 0
            && silent == self.modules.iter().filter(is_asked).count()
            && self.modules.iter().flat_map(|proof| &proof.answers).all(|it| it.http_status.is_none())
    }
}

fn row(proof: &ModuleProof) -> Vec<String> {
    vec![proof.verdict.as_str().to_owned(), proof.module.clone(), proof.why.clone().unwrap_or_default()]
}
