//! The catalogue files that are built into the program.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("sites/", $name)))),*]
    };
}

/// The name and text of every file in `sites/`. A test compares this list with the folder.
#[rustfmt::skip]
pub(super) const FILES: &[(&str, &str)] = files![
    "domain-archive.json", "domain-breach.json", "domain-certificates.json", "domain-coding.json",
    "domain-dns.json", "domain-mail.json", "domain-network.json", "domain-people.json", "domain-reference.json",
    "domain-registration.json", "domain-reputation.json", "domain-social.json", "domain-subdomains.json",
    "domain-tenant.json", "domain-web.json", "email-academic.json", "email-breach.json", "email-coding.json",
    "email-discovery.json", "email-domain.json", "email-keys.json", "email-mailbox.json", "email-profile.json",
    "email-reputation.json", "email-signup.json", "username-adult.json", "username-art.json",
    "username-blog.json", "username-business.json", "username-coding-contests.json",
    "username-coding-hosting.json", "username-coding.json", "username-dating.json", "username-education.json",
    "username-fediverse.json", "username-finance.json", "username-forum.json",
    "username-gaming-titles.json", "username-gaming.json", "username-health.json", "username-hobby.json",
    "username-images.json", "username-links.json", "username-misc.json", "username-music.json",
    "username-news.json", "username-political.json", "username-premium.json", "username-shopping.json",
    "username-social.json", "username-tech.json", "username-travel.json", "username-video.json",
];

/// The lines of all sites that run a known engine.
pub(super) const SITES: &str = include_str!("engines/sites.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::FILES;

    #[test]
    fn every_file_of_the_folder_is_compiled_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
        let names =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.filter(|name| name.ends_with(".json")).collect();
        let known: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, there);
    }
}
