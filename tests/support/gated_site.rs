//! Sites of the test's own on which every name exists: some answer at once, some when they are told to. Each has a host.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::folder::Folder;
use super::held_site::Site;
use super::modules::own_flags;

pub(crate) struct GatedSite {
    site: Site,
    folder: Folder,
}

/// The networks of gated sites, and of those that answer at once: `127.0.1.*` and `127.0.2.*`.
const GATED: usize = 1;
const FREE: usize = 2;

impl GatedSite {
    pub(crate) fn start() -> Self {
        Self { site: Site::start(), folder: Folder::new() }
    }

    /// Returns the flags for a server that asks `free` sites that answer at once and `gated` sites that wait
    /// for the gate.
    pub(crate) fn flags(&self, free: usize, gated: usize) -> Vec<String> {
        let gated = (1..=gated).map(|number| self.module(GATED, number));
        let all = (1..=free).map(|number| self.module(FREE, number)).chain(gated);
        self.flags_of(&all.collect::<Vec<_>>())
    }

    /// Returns the flags for a site for usernames, whose answer names an email address, and two sites for email addresses,
    /// of which one waits for the gate.
    pub(crate) fn family_flags(&self) -> Vec<String> {
        let mut all =
            [(FREE, 1), (FREE, 2), (GATED, 1)].map(|(network, number)| self.module(network, number));
        let email = json!({"email": "template:{query}@mail.example.net"});
        all[0]["result"] = json!({"type": "profile", "metadata": email});
        all[1..].iter_mut().for_each(|module| module["type"] = "email".into());
        self.flags_of(&all)
    }

    fn flags_of(&self, modules: &[Value]) -> Vec<String> {
        let more = ["--check-timeout=5m", "--run-timeout=10m"].map(str::to_owned);
        own_flags(&self.folder, modules).into_iter().chain(more).collect()
    }

    fn module(&self, network: usize, number: usize) -> Value {
        let id = format!("site-127-0-{network}-{number}");
        if network == FREE {
            self.site.open(&id);
        }
        self.site.module(&id, network * 200 + number - 1)
    }

    pub(crate) fn open(&self) {
        self.site.open_all();
    }

    /// Lets gated sites wait again.
    pub(crate) fn close(&self) {
        self.site.close_all();
    }

    /// Returns the number of requests for that name.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.site.asked().iter().filter(|(_, asked)| asked == name).count()
    }

    /// Returns the sites that were asked for that name more than once.
    pub(crate) fn asked_again(&self, name: &str) -> Vec<String> {
        let mut counts = BTreeMap::<String, usize>::new();
        for (module, _) in self.site.asked().into_iter().filter(|(_, asked)| asked == name) {
            *counts.entry(module).or_default() += 1;
        }
        counts.into_iter().filter(|(_, count)| *count > 1).map(|(module, _)| module).collect()
    }
}
