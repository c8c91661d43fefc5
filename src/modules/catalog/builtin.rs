//! The built-in files.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("sites/", $name)))),*]
    };
}

/// Name and text of every file in `sites/`; a test holds the list against the folder.
#[rustfmt::skip]
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::FILES;

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
        let names =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.filter(|name| name.ends_with(".json")).collect();
        let known: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(known, there);
    }
}
