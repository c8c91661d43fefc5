//! Hosts that belong to no one person or organization: mail providers, link shorteners, and sites where many people
//! publish. A link to one of them says nothing about its owner.

use super::query::domain::registrable;

/// Domains whose mailboxes anybody can have.
const MAIL_PROVIDERS: [&str; 56] = [
    "126.com",
    "163.com",
    "aim.com",
    "aol.com",
    "att.net",
    "bk.ru",
    "btinternet.com",
    "comcast.net",
    "cox.net",
    "duck.com",
    "fastmail.com",
    "fastmail.fm",
    "free.fr",
    "freenet.de",
    "gmail.com",
    "gmx.at",
    "gmx.ch",
    "gmx.com",
    "gmx.de",
    "gmx.net",
    "googlemail.com",
    "hey.com",
    "hotmail.co.uk",
    "hotmail.com",
    "hotmail.fr",
    "icloud.com",
    "inbox.ru",
    "laposte.net",
    "libero.it",
    "list.ru",
    "live.com",
    "mac.com",
    "mail.com",
    "mail.ru",
    "mailbox.org",
    "me.com",
    "msn.com",
    "naver.com",
    "orange.fr",
    "outlook.com",
    "outlook.de",
    "pm.me",
    "posteo.de",
    "proton.me",
    "protonmail.com",
    "qq.com",
    "rambler.ru",
    "rocketmail.com",
    "seznam.cz",
    "t-online.de",
    "tuta.com",
    "tutanota.com",
    "web.de",
    "yahoo.com",
    "yandex.com",
    "yandex.ru",
];

/// Sites that redirect to other addresses.
const SHORTENERS: [&str; 27] = [
    "adf.ly",
    "amzn.to",
    "bit.ly",
    "buff.ly",
    "cutt.ly",
    "dlvr.it",
    "fb.me",
    "g.page",
    "git.io",
    "goo.gl",
    "ift.tt",
    "is.gd",
    "j.mp",
    "lnkd.in",
    "ow.ly",
    "rb.gy",
    "rebrand.ly",
    "s.id",
    "shorturl.at",
    "spoti.fi",
    "t.co",
    "t.ly",
    "tiny.cc",
    "tinyurl.com",
    "trib.al",
    "v.gd",
    "youtu.be",
];

/// Sites on which many people publish, and which have no profile address in the catalogue.
const SHARED: [&str; 33] = [
    "airtable.com",
    "amazon.co.uk",
    "amazon.com",
    "amazon.de",
    "apple.com",
    "archive.org",
    "archive.today",
    "arxiv.org",
    "bbc.co.uk",
    "calendly.com",
    "discord.com",
    "discord.gg",
    "doi.org",
    "dropbox.com",
    "eventbrite.com",
    "forms.gle",
    "google.com",
    "googleusercontent.com",
    "gravatar.com",
    "imgur.com",
    "meetup.com",
    "microsoft.com",
    "notion.so",
    "nytimes.com",
    "paypal.com",
    "paypal.me",
    "slideshare.net",
    "theguardian.com",
    "whatsapp.com",
    "wa.me",
    "wikipedia.org",
    "wikimedia.org",
    "zoom.us",
];

/// What kind of shared host a domain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedHost {
    /// Anybody can have a mailbox there.
    MailProvider,
    /// It redirects to other addresses.
    Shortener,
    /// Many people publish there.
    Platform,
}

/// Returns the kind of a shared host, or `None` for a host that may belong to one person or organization. A name below
/// a listed one is shared too.
pub fn shared_host(host: &str) -> Option<SharedHost> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let domain = registrable(&host).unwrap_or(&host);
    let is_in = |list: &[&str]| list.contains(&domain) || list.contains(&host.as_str());
    if is_in(&MAIL_PROVIDERS) {
        Some(SharedHost::MailProvider)
    } else if is_in(&SHORTENERS) {
        Some(SharedHost::Shortener)
    } else {
        is_in(&SHARED).then_some(SharedHost::Platform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_a_shared_host_are_shared() {
        assert_eq!(shared_host("gmail.com"), Some(SharedHost::MailProvider));
        assert_eq!(shared_host("Bit.ly."), Some(SharedHost::Shortener));
        assert_eq!(shared_host("docs.google.com"), Some(SharedHost::Platform));
        assert_eq!(shared_host("notgmail.com"), None);
        assert_eq!(shared_host("octocat.github.io"), None);
    }
}
