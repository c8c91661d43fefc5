//! `catalog check --repair`: learns new rules for modules that no longer work.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use crate::app::learn_entries;
use crate::base::text::{json, plain};
use crate::cli::exit::Failure;
use crate::cli::replace;
use crate::cli::unified::unified;
use crate::config::{EngineConfig, SandboxMode};
use crate::modules::catalog::{Catalog, format as form};
use crate::modules::definition::Entry;
use crate::modules::learn::{Lesson, NotLearned};
use crate::modules::module::Module;
use crate::runs::proof::{ModuleProof, Stop};

/// The options of a repair.
#[derive(Debug, Args)]
pub(super) struct RepairArgs {
    /// Learn new rules for broken and unreliable modules from the answers for their known accounts and for
    /// made-up names, and show them as a diff
    #[arg(long)]
    repair: bool,
    /// Write the repaired entries to this catalogue file, for --catalog
    #[arg(long, value_name = "FILE", requires = "repair")]
    repaired: Option<PathBuf>,
    /// Replace the repaired entries in your own files (--catalog)
    #[arg(long, requires = "repair")]
    write: bool,
}

/// The repair of one module.
#[derive(Debug, Serialize)]
pub(super) struct Repair {
    /// The id of the module.
    module: String,
    /// Whether new rules were learned and proved.
    repaired: bool,
    /// The reason why there are no new rules.
    why: Option<String>,
    /// The rule that the known account fulfils.
    hit: Option<String>,
    /// The rule that made-up names fulfil.
    miss: Option<String>,
    /// The unified diff of the entry.
    diff: Option<String>,
    /// The repaired entry.
    entry: Option<Entry>,
}

impl RepairArgs {
    /// Checks the options that depend on others.
    pub(super) fn check(&self, engine: &EngineConfig) -> Result<(), Failure> {
        if self.repair && engine.sandbox != SandboxMode::Off {
            let message = "--repair asks the real sites: leave out --sandbox";
            return Err(Failure::Usage(message.to_owned()));
        }
        if self.write && engine.catalog.files.is_empty() {
            let message = "--write replaces entries of your own files: name them with --catalog, or use --repaired FILE";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(())
    }

    /// Repairs the modules whose proof failed. Returns nothing if no repair was asked for.
    pub(super) fn repair(
        &self,
        engine: &EngineConfig,
        modules: &[Arc<Module>],
        proofs: &[ModuleProof],
        stop: &Stop,
    ) -> Result<Vec<Repair>, Failure> {
        if !self.repair {
            return Ok(Vec::new());
        }
        let failing = proofs.iter().filter(|proof| proof.verdict.is_failing());
        let of_proof = |proof: &ModuleProof| modules.iter().find(|module| **module.id() == *proof.module);
        let entries: Vec<Entry> = failing.filter_map(of_proof).map(|module| module.entry().clone()).collect();
        let lessons = learn_entries(engine, &entries, stop)?;
        entries.iter().zip(lessons).map(|(entry, lesson)| Repair::new(entry, lesson)).collect()
    }

    /// Writes the repaired entries to the files that were asked for. Returns a line for each file.
    pub(super) fn save(&self, engine: &EngineConfig, repairs: &[Repair]) -> Result<Vec<String>, Failure> {
        let mut entries: Vec<Entry> = repairs.iter().filter_map(|repair| repair.entry.clone()).collect();
        let mut lines = Vec::new();
        if self.write {
            for file in &engine.catalog.files {
                lines.extend(write_into(file, &mut entries)?);
            }
            lines.extend(entries.iter().map(|entry| {
                format!("not written: {} is in none of your files; use --repaired FILE", entry.id)
            }));
        }
        if let Some(file) = &self.repaired {
            let all: Vec<Entry> = repairs.iter().filter_map(|repair| repair.entry.clone()).collect();
            let count = all.len();
            replace::write(file, &form::write(all)?)?;
            lines.push(format!("wrote {count} repaired entries to {}", shown(file)));
        }
        Ok(lines)
    }
}

impl Repair {
    fn new(before: &Entry, lesson: Result<Lesson, NotLearned>) -> Result<Self, Failure> {
        let module = before.id.clone();
        Ok(match lesson {
            Ok(lesson) => Self {
                module,
                repaired: true,
                why: None,
                hit: Some(lesson.hit),
                miss: Some(lesson.miss),
                diff: Some(diff(before, &lesson.entry)?),
                entry: Some(lesson.entry),
            },
            Err(why) => Self {
                module,
                repaired: false,
                why: Some(why.to_string()),
                hit: None,
                miss: None,
                diff: None,
                entry: None,
            },
        })
    }

    /// Writes the repair for people.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), Failure> {
        match &self.why {
            Some(why) => writeln!(out, "not repaired: {}: {}", self.module, plain(why))?,
            None => {
                writeln!(out, "repaired: {}", self.module)?;
                for rule in self.hit.iter().chain(&self.miss) {
                    writeln!(out, "  {}", plain(rule))?;
                }
                // A diff contains texts of the site, which may have control characters.
                for line in self.diff.iter().flat_map(|diff| diff.lines()) {
                    writeln!(out, "{}", json(line))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the diff of two versions of an entry, each as a catalogue file.
fn diff(before: &Entry, after: &Entry) -> Result<String, Failure> {
    let text = |entry: &Entry| form::write(vec![entry.clone()]);
    let (old, new) = (format!("{} (now)", before.id), format!("{} (repaired)", before.id));
    Ok(unified(&old, &text(before)?, &new, &text(after)?))
}

/// Replaces those of the entries that are in a file, and removes them from the list. Returns a line that says so.
fn write_into(file: &Path, entries: &mut Vec<Entry>) -> Result<Option<String>, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Failed(format!("cannot read {}: {}", shown(file), plain(&error.to_string())))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    // Lists of other tools have no entries to replace.
    let Ok(catalog) = Catalog::from_text(&shown(file), &text) else { return Ok(None) };
    let mut all: Vec<Entry> = catalog.modules().iter().map(|module| module.entry().clone()).collect();
    let mut count = 0;
    for entry in &mut all {
        if let Some(at) = entries.iter().position(|repaired| repaired.id == entry.id) {
            *entry = entries.swap_remove(at);
            count += 1;
        }
    }
    if count == 0 {
        return Ok(None);
    }
    replace::write(file, &form::write(all)?)?;
    Ok(Some(format!("replaced {count} entries in {}", shown(file))))
}

fn shown(file: &Path) -> String {
    plain(&file.display().to_string()).into_owned()
}
