//! The built-in files.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("sites/", $name)))),*]
    };
}

/// Name and text of every file in `sites/`; a test holds the list against the folder.
pub(super) const FILES: &[(&str, &str)] = files![
    "domain-dns.json",
    "domain-registration.json",
    "domain-reputation.json",
    "domain-subdomains.json",
    "domain-tenant.json",
    "domain-web.json",
    "email.json",
    "username-adult.json",
    "username-art.json",
    "username-blog.json",
    "username-business.json",
    "username-coding.json",
    "username-education.json",
    "username-finance.json",
    "username-forum.json",
    "username-gaming.json",
    "username-hobby.json",
    "username-images.json",
    "username-links.json",
    "username-misc.json",
    "username-music.json",
    "username-news.json",
    "username-shopping.json",
    "username-social.json",
    "username-tech.json",
    "username-travel.json",
    "username-video.json",
];
