//! A person with a browser at the level of HTTP: cookies, forms, redirects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::support::awaited;
use crate::support::server::{Answer, RequestBuilder, Server};
use crate::support::wire::Transport;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A browser without scripts.
pub(crate) struct Person {
    server: SocketAddr,
    cookies: RefCell<BTreeMap<String, String>>,
    /// The token in the forms of the last page with a form.
    token: RefCell<String>,
}

impl Person {
    /// Creates one without cookies.
    pub(crate) fn new(server: &Server) -> Self {
        Self { server: server.address, cookies: RefCell::default(), token: RefCell::default() }
    }

    /// Goes on with another server.
    pub(crate) fn goes_to(&mut self, server: &Server) {
        self.server = server.address;
    }

    /// Creates an account on that plan, whose owner is signed in by its set-up link.
    pub(crate) fn signed_in(server: &Server, email: &str, plan: &str) -> Self {
        let link = new_account(server, email, plan);
        let person = Self::new(server);
        person.get(&link);
        let answer = person.post(&link, &link, &[("password", PASSWORD), ("again", PASSWORD)]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/app")), "{answer}");
        person
    }

    /// Signs in with a password.
    pub(crate) fn sign_in(&self, email: &str, password: &str) -> Answer {
        self.post("/app/sign-in", "/app/sign-in", &[("email", email), ("password", password)])
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, &[])
    }

    /// Opens `page` and sends its form, with its token and these fields, to `path`.
    pub(crate) fn post(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.form_token(page);
        let mut fields = fields.to_vec();
        fields.push(("csrf", &token));
        self.post_as(path, &fields, &[])
    }

    /// Does the same as [`Self::post`], and opens the page to which the answer leads.
    pub(crate) fn post_and_go(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = self.post(page, path, fields);
        assert_eq!(answer.status, 303, "{answer}");
        self.get(answer.header("location").unwrap())
    }

    /// Sends these fields and headers unchanged.
    pub(crate) fn post_as(&self, path: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send("POST", path, Some(&body), headers)
    }

    /// Sends the search form with this query and further fields.
    pub(crate) fn try_search(&self, query: &str, more: &[(&str, &str)]) -> Answer {
        let once = field_of(&self.get("/app"), "once");
        let fields = [("query", query), ("type", "auto"), ("once", &once)];
        self.post("/app", "/app/searches", &[&fields[..], more].concat())
    }

    /// Starts a search. Returns the address of its page.
    pub(crate) fn search(&self, query: &str, more: &[(&str, &str)]) -> String {
        page_of(&self.try_search(query, more))
    }

    /// Waits for the end of a search, and of the searches for its leads. Returns the address of its page.
    pub(crate) fn ended(&self, page: &str) -> String {
        self.shows(page, |shown| !shown.contains("data-open") && !shown.contains(">Running<"));
        page.to_owned()
    }

    /// Waits until a page is as wanted, and returns it.
    pub(crate) fn shows(&self, page: &str, is_so: impl Fn(&str) -> bool) -> String {
        awaited(page, || {
            let shown = text(&self.get(page));
            if is_so(&shown) { Ok(shown) } else { Err(shown) }
        })
    }

    /// Asserts the remaining credits on the search page.
    pub(crate) fn has_left(&self, credits: &str) {
        let page = text(&self.get("/app"));
        assert!(page.contains(&format!("{credits} left until")), "{page}");
    }

    /// Returns the token in a page's forms.
    pub(crate) fn form_token(&self, page: &str) -> String {
        field_of(&self.get(page), "csrf")
    }

    /// Returns the token in the forms of the last page.
    pub(crate) fn token(&self) -> String {
        self.token.borrow().clone()
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name).cloned()
    }

    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = RequestBuilder::to(self.server, &Transport::Plain, method, path);
        if !headers.iter().any(|(name, _)| *name == "Accept") {
            request = request.header("Accept", "text/html");
        }
        let cookies: Vec<String> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("Cookie", &cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request =
                request.header("Content-Type", "application/x-www-form-urlencoded").body(body.as_bytes());
        }
        let answer = request.send();
        self.keep_cookies(&answer);
        let page = String::from_utf8_lossy(&answer.body);
        if let Some((_, rest)) = page.split_once("name=\"csrf\" value=\"") {
            rest.split('"').next().unwrap_or_default().clone_into(&mut self.token.borrow_mut());
        }
        answer
    }

    fn keep_cookies(&self, answer: &Answer) {
        for (_, value) in answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie")) {
            let (name, rest) = value.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap_or("");
            match rest.contains("Max-Age=0;") {
                true => self.cookies.borrow_mut().remove(name),
                false => self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned()),
            };
        }
    }
}

/// Returns the address of the page of a search that was started.
pub(crate) fn page_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer}");
    let path = answer.header("location").unwrap();
    assert!(path.starts_with("/app/searches/"), "{answer}");
    path.to_owned()
}

/// Creates an account, and returns the path of its set-up link.
pub(crate) fn new_account(server: &Server, email: &str, plan: &str) -> String {
    link_in(&server.cli(&["account", "create", "--email", email, "--plan", plan]))
}

/// Returns the path of the set-up link in the output of a command.
pub(crate) fn link_in(said: &str) -> String {
    let at = said.find("/app/set-up/").unwrap_or_else(|| panic!("no link in {said}"));
    said[at..].split_whitespace().next().unwrap().to_owned()
}

/// Returns the value of a form field, which must not need escaping.
pub(crate) fn field_of(page: &Answer, name: &str) -> String {
    let (page, start) = (text(page), format!("name=\"{name}\" value=\""));
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split('"').next().unwrap().to_owned()
}

/// Returns the text of a page.
pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Returns the text between two texts.
pub(crate) fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {page}"));
    rest.split_once(after).unwrap().0
}
