//! Texts with markup or scripts, and detection of their effects.

use std::cell::Cell;

use serde_json::Value;

use crate::support::browser::Browser;

/// Texts that leave `pwned` behind, or a mark in the document, if a browser runs them.
pub(super) const TEXTS: [&str; 18] = [
    "<script>window.pwned=1</script>",
    "\"><img src=x onerror=window.pwned=2>",
    "'><svg/onload=window.pwned=3>",
    "</script><script>window.pwned=4</script>",
    "</textarea></title></style></select><img src=x onerror=window.pwned=5>",
    "\" autofocus onfocus=\"window.pwned=6\" onmouseover=\"window.pwned=6\" x=\"",
    "' onmouseover='window.pwned=7' style='position:fixed;inset:0' y='",
    "<iframe srcdoc=\"<script>parent.pwned=8</script>\"></iframe>",
    "<a href=\"javascript:window.pwned=9\">pwned</a>",
    "&lt;img src=x onerror=window.pwned=10&gt;",
    "\\u003cimg src=x onerror=window.pwned=11\\u003e",
    "<!--><img src=x onerror=window.pwned=12>-->",
    "]]><img src=x onerror=window.pwned=13>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=14>",
    "<meta http-equiv=refresh content=\"0;url=http://pwned.example/\">",
    "<base href=http://pwned.example/><b id=pwned>",
    "<form action=http://pwned.example/><input name=pwned><button>pwned",
    "{{constructor.constructor('window.pwned=18')()}}${window.pwned=18}<%= pwned %>",
];

/// Texts for fields that contain addresses.
pub(super) const ADDRESSES: [&str; 12] = [
    "javascript:window.pwned=1",
    "JaVaScRiPt:window.pwned=2",
    " \tjavascript:window.pwned=3",
    "java\nscript:window.pwned=4",
    "javascript://pwned.example/%0Awindow.pwned=5",
    "data:text/html,<script>opener.pwned=6</script>",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='parent.pwned=7'/>",
    "vbscript:window.pwned=8",
    "blob:http://pwned.example/9",
    "https://pwned.example/\" onmouseover=\"window.pwned=10",
    "//pwned.example/<img src=x onerror=window.pwned=11>",
    "https://user:word@pwned.example\\@x/",
];

/// The most requests at a time: a script has a minute, also on a busy machine.
const AT_A_TIME: usize = 60;

/// Checks pages for effects of injected texts.
pub(super) struct Warden<'b> {
    browser: &'b Browser,
    /// The number of console messages that were checked before.
    heard: Cell<usize>,
}

impl<'b> Warden<'b> {
    pub(super) fn of(browser: &'b Browser) -> Self {
        Self { browser, heard: Cell::new(browser.complaints().len()) }
    }

    /// Returns the effects on the current page, and everything that its policy has stopped since the last
    /// check, since escaping must come first.
    pub(super) fn harm(&self) -> Vec<String> {
        let ran = "if (window.pwned !== undefined) found.push('ran: ' + window.pwned); return found;";
        let mut found = texts(&self.browser.run(&format!("{LOOK} const found = look(document); {ran}"), &[]));
        let complaints = self.browser.complaints();
        let new = complaints[self.heard.replace(complaints.len())..].iter();
        // An invalid address may contain an injected text.
        let new =
            new.map(|message| message.text.clone()).filter(|text| !text.contains("Failed to load resource"));
        let signs = ["Content Security Policy", "pwned", "Uncaught"];
        found.extend(new.filter(|text| signs.iter().any(|sign| text.contains(sign))));
        found
    }

    /// Returns the effects in the answers to these requests of the current page: method, address, fields. The
    /// answers are parsed as a browser does, without showing them.
    pub(super) fn harm_in_answers(&self, requests: &[Value]) -> Vec<String> {
        let script = format!(
            "{LOOK} const found = [];
             for (const [method, address, fields] of given[0]) {{
                 const body = method === 'POST' ? new URLSearchParams(fields) : undefined;
                 const answer = await fetch(address, {{ method, body }});
                 const text = await answer.text();
                 const is_page = (answer.headers.get('content-type') || '').startsWith('text/html');
                 if (!is_page) found.push(`${{method}} ${{address}}: no page but ${{answer.status}} ${{text.slice(0, 200)}}`);
                 const page = new DOMParser().parseFromString(text, 'text/html');
                 found.push(...look(page).map((harm) => `${{method}} ${{address}}: ${{harm}}`));
             }}
             return found;"
        );
        let harm = |some: &[Value]| texts(&self.browser.run_async(&script, &[some.into()]));
        requests.chunks(AT_A_TIME).flat_map(harm).collect()
    }

    /// Asserts that the current page has no effects.
    pub(super) fn approves(&self, page: &str) {
        let harm = self.harm();
        assert!(harm.is_empty(), "{page}: {harm:#?}");
    }

    /// Asserts that an effect is found, since a test that cannot fail proves nothing.
    pub(super) fn sees_harm(&self) {
        for (hurt, sign) in [
            ("document.body.insertAdjacentHTML('beforeend', '<i class=hurt onclick=x>')", "onclick"),
            (
                "document.body.insertAdjacentHTML('beforeend', '<a class=hurt href=javascript:x>')",
                "leads astray",
            ),
            ("window.pwned = 1", "ran"),
        ] {
            self.browser.run(hurt, &[]);
            let found = self.harm();
            assert!(found.iter().any(|text| text.starts_with(sign)), "{hurt}: {found:?}");
            let heal = "document.querySelectorAll('.hurt').forEach((at) => at.remove()); delete window.pwned";
            self.browser.run(heal, &[]);
        }
        self.harm();
    }
}

fn texts(found: &Value) -> Vec<String> {
    found.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// `look(page)` returns the effects in a document, shown or parsed.
const LOOK: &str = r"
    const look = (page) => {
        const found = [];
        const shown = (at) => at.outerHTML.slice(0, 200);
        const may_lead_to = ['http:', 'https:', 'mailto:'];
        const leading = ['href', 'src', 'srcset', 'action', 'formaction', 'poster', 'data', 'xlink:href', 'ping'];
        const unknown = ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'MATH', 'MGLYPH', 'STYLE'];
        for (const at of page.querySelectorAll('*')) {
            for (const { name, value } of at.attributes) {
                if (name.startsWith('on') || name === 'style' || name === 'srcdoc') found.push(name + ': ' + shown(at));
                if (!leading.includes(name) || !value) continue;
                let url = null;
                try { url = new URL(value, location.href) } catch { found.push('no address: ' + shown(at)) }
                if (url && !may_lead_to.includes(url.protocol)) found.push('leads astray: ' + shown(at));
                if (url && at.tagName !== 'A' && url.origin !== location.origin) found.push('loads: ' + shown(at));
            }
            if (unknown.includes(at.tagName)) found.push('foreign: ' + shown(at));
            if (at.tagName === 'SCRIPT' && (!at.src || at.textContent)) found.push('script: ' + shown(at));
            if (at.tagName === 'META' && at.httpEquiv === 'refresh' && /url/i.test(at.content)) found.push('leads away: ' + shown(at));
            if (at.id === 'pwned' || at.getAttribute('name') === 'pwned') found.push('marked: ' + shown(at));
            if (at.tagName === 'A' && at.host && at.host !== location.host) {
                const rel = at.rel.split(' ');
                if (!rel.includes('noopener') || !rel.includes('noreferrer')) found.push('tells where from: ' + shown(at));
            }
        }
        return found;
    };";
