//! The web app in a real browser: normal use, interruptions, and attacks.

mod axe;
mod delays;
mod docs;
mod example;
mod families;
mod hostile;
mod injection;
mod interruptions;
mod journey;
mod live;
mod pages;
mod verdicts;
mod watches;

mod campaigns {
    mod documents;
}

use std::net::SocketAddr;

use serde_json::json;

use super::person::{PASSWORD, new_account};
use crate::support::browser::Browser;
use crate::support::server::{Server, Setup};

/// A server and a browser in front of it.
pub(super) struct Desk {
    pub(super) server: Server,
    pub(super) browser: Browser,
    /// The address of the server for the browser.
    pub(super) origin: String,
}

impl Desk {
    pub(super) fn new(setup: Setup) -> Self {
        let (browser, server) = (Browser::start(), setup.start());
        let origin = format!("http://{}", server.address);
        Self { server, browser, origin }
    }

    /// Connects the browser to the server through this address.
    pub(super) fn through(self, line: SocketAddr) -> Self {
        Self { origin: format!("http://{line}"), ..self }
    }

    /// Opens a page of the app.
    pub(super) fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.origin));
    }

    /// Returns the path and query of the current page.
    pub(super) fn place(&self) -> String {
        self.browser.url().strip_prefix(&self.origin).unwrap_or_default().to_owned()
    }

    /// Waits until the page of that path has loaded.
    pub(super) fn arrives_at(&self, path: &str) {
        let path = serde_json::to_string(path).unwrap();
        self.browser
            .wait_until(&format!("location.pathname === {path} && document.readyState === 'complete'"));
    }

    /// Waits until the page shows this text.
    pub(super) fn reads(&self, text: &str) {
        let text = serde_json::to_string(text).unwrap();
        self.browser.wait_until(&format!("document.body.innerText.includes({text})"));
    }

    /// Creates an account, and returns the path of its set-up link.
    pub(super) fn account(&self, email: &str, plan: &str) -> String {
        new_account(&self.server, email, plan)
    }

    /// Creates an account whose owner has chosen a password and is signed in.
    pub(super) fn sign_up(&self, email: &str, plan: &str) {
        let link = self.account(email, plan);
        self.open(&link);
        for field in self.browser.find_all("form[action*='set-up'] input[type=password]") {
            field.type_keys(PASSWORD);
        }
        self.browser
            .click("form[action*='set-up'] button[type=submit], form[action*='set-up'] button:not([type])");
        self.browser
            .wait_until("!location.pathname.includes('set-up') && document.readyState === 'complete'");
        if self.place().contains("sign-in") {
            self.sign_in(email, PASSWORD);
            self.arrives_at("/app");
        }
    }

    /// Fills in and sends the current sign-in form.
    pub(super) fn sign_in(&self, email: &str, password: &str) {
        for (field, keys) in [("email", email), ("password", password)] {
            let field = self.browser.find(&format!("form input[name={field}]"));
            field.clear();
            field.type_keys(keys);
        }
        self.browser.run("window.before = true", &[]);
        self.browser.click("main form button");
        self.browser.wait_until("window.before === undefined && document.readyState === 'complete'");
    }

    /// Starts a search on the search page and waits for the page of its run. Returns its path.
    pub(super) fn search(&self, query: &str) -> String {
        self.open("/app");
        self.search_here(query)
    }

    /// Starts a search from the current page, as its form is, and returns the path of the run's page.
    pub(super) fn search_here(&self, query: &str) -> String {
        self.browser.type_into("input[name=query]", query);
        self.browser.click("form[data-search] button[type=submit]");
        self.browser.wait_until(
            "location.pathname.startsWith('/app/searches/') && document.readyState === 'complete'",
        );
        self.place()
    }

    /// Returns the number of results on the page of a run, and asserts that each appears once.
    pub(super) fn results(&self) -> usize {
        let script = "const ids = [...document.querySelectorAll('[id^=result-]')].map((at) => at.id);
            return [ids.length, new Set(ids).size]";
        let counts = self.browser.run(script, &[]);
        assert_eq!(counts[0], counts[1], "a result stands there twice");
        counts[0].as_u64().and_then(|count| count.try_into().ok()).unwrap()
    }

    /// Waits until the page shows the whole of a run that has ended. Returns the number of results.
    pub(super) fn draws_all(&self) -> usize {
        self.has_state("Completed");
        self.browser.wait_until(
            "(() => {
                document.querySelector('[data-news]:not([hidden])')?.click();
                const found = document.querySelector('[data-part=found]').textContent;
                const isOpen = document.querySelector('[data-open], #order:disabled');
                return !isOpen && Number(found) === document.querySelectorAll('[id^=result-]').length;
            })()",
        );
        self.results()
    }

    /// Asserts the status on the page of a run.
    pub(super) fn has_state(&self, word: &str) {
        let word = serde_json::to_string(word).unwrap();
        self.browser.wait_until(&format!(
            "document.querySelector('[data-part=state]')?.textContent.trim() === {word}"
        ));
    }

    /// Sends a form as a script of the page would, and returns the status of the answer.
    pub(super) fn send(&self, path: &str, fields: &[(&str, &str)]) -> u64 {
        let script = "const answer = await fetch(given[0], { method: 'POST', redirect: 'manual',
                body: new URLSearchParams(given[1]) });
            return answer.type === 'opaqueredirect' ? 303 : answer.status;";
        let status = self.browser.run_async(script, &[json!(path), json!(fields)]);
        status.as_u64().unwrap()
    }

    /// Asserts that the console has no errors, and that there were no requests to other origins.
    pub(super) fn is_clean(&self) {
        assert!(self.browser.complaints().is_empty(), "{:#?}", self.browser.complaints());
        let outside = self.browser.requests_outside(&self.origin);
        assert!(outside.is_empty(), "{outside:#?}");
    }
}
