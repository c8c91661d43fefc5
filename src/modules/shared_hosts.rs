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
const SHORTENERS: [&str; 49] = [
    "a.co",
    "adf.ly",
    "aka.ms",
    "amzn.eu",
    "amzn.to",
    "apple.co",
    "bit.ly",
    "bitly.com",
    "buff.ly",
    "clck.ru",
    "cutt.ly",
    "dlvr.it",
    "dub.sh",
    "fb.me",
    "fb.watch",
    "flic.kr",
    "g.page",
    "git.io",
    "goo.gl",
    "href.li",
    "ift.tt",
    "is.gd",
    "j.mp",
    "lnk.to",
    "lnkd.in",
    "ow.ly",
    "pin.it",
    "qr.ae",
    "rb.gy",
    "rebrand.ly",
    "redd.it",
    "s.id",
    "shorturl.at",
    "slack-redir.net",
    "smarturl.it",
    "snip.ly",
    "spoti.fi",
    "t.co",
    "t.ly",
    "tiny.cc",
    "tinyurl.com",
    "trib.al",
    "u.to",
    "umblr.com",
    "urldefense.com",
    "v.gd",
    "vk.cc",
    "wp.me",
    "youtu.be",
];

/// Sites on which many people publish, and which have no profile address in the catalogue.
const SHARED: [&str; 55] = [
    "airtable.com",
    "amazon.com",
    "apple.com",
    "archive.org",
    "archive.today",
    "arxiv.org",
    "bbc.co.uk",
    "bsky.social",
    "calendly.com",
    "cdninstagram.com",
    "cloudfront.net",
    "discord.com",
    "discord.gg",
    "discordapp.com",
    "doi.org",
    "dropbox.com",
    "ebay.com",
    "eventbrite.com",
    "fbcdn.net",
    "forms.gle",
    "ggpht.com",
    "githubassets.com",
    "githubusercontent.com",
    "google.com",
    "googleusercontent.com",
    "gravatar.com",
    "gstatic.com",
    "imgur.com",
    "line.me",
    "matrix.to",
    "meetup.com",
    "microsoft.com",
    "notion.so",
    "nytimes.com",
    "office.com",
    "paypal.com",
    "paypal.me",
    "scdn.co",
    "signal.me",
    "slideshare.net",
    "sndcdn.com",
    "steampowered.com",
    "steamstatic.com",
    "theguardian.com",
    "tiktokcdn.com",
    "tiktokv.com",
    "twimg.com",
    "wa.me",
    "whatsapp.com",
    "whatsapp.net",
    "wikimedia.org",
    "wikipedia.org",
    "youtube-nocookie.com",
    "ytimg.com",
    "zoom.us",
];

/// Names of sites that have the same content in a domain of each country, such as `pinterest.de`.
const IN_COUNTRIES: [&str; 6] = ["amazon", "blogspot", "ebay", "google", "pinterest", "yahoo"];

/// Returns the international name of a host in the domain of a country: `www.pinterest.com` for `www.pinterest.co.uk`.
pub(super) fn without_country(host: String) -> String {
    let is_country = |text: &str| {
        let code = text.strip_prefix("co.").or_else(|| text.strip_prefix("com.")).unwrap_or(text);
        code.len() == 2 && code.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let found = IN_COUNTRIES.into_iter().find_map(|name| {
        let (front, country) = host.rsplit_once(&format!("{name}."))?;
        ((front.is_empty() || front.ends_with('.')) && is_country(country))
            .then(|| format!("{front}{name}.com"))
    });
    found.unwrap_or(host)
}

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
    let host = without_country(host.trim_end_matches('.').to_ascii_lowercase());
    let domain = registrable(&host).unwrap_or(&host);
    let is_below = |known: &&str| host.strip_suffix(*known).is_some_and(|front| front.ends_with('.'));
    let is_in = |list: &[&str]| list.contains(&domain) || list.iter().any(|it| *it == host || is_below(it));
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
        for host in ["docs.google.com", "maps.google.co.uk", "amazon.fr", "raw.githubusercontent.com"] {
            assert_eq!(shared_host(host), Some(SharedHost::Platform), "{host}");
        }
        assert_eq!(shared_host("notgmail.com"), None);
        assert_eq!(shared_host("octocat.github.io"), None);
    }
}
