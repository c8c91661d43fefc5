//! Names of people, and the sites where they have accounts.

pub(in crate::sandbox) const GIVEN: [&str; 8] =
    ["Ana", "Ben", "Carla", "David", "Elif", "Farid", "Grace", "Hugo"];
pub(in crate::sandbox) const FAMILY: [&str; 8] =
    ["Rivera", "Okafor", "Lindqvist", "Tanaka", "Moreau", "Novak", "Silva", "Weber"];
pub(in crate::sandbox) const CITIES: [&str; 6] =
    ["Lisbon", "Toronto", "Nairobi", "Osaka", "Gdansk", "Valparaiso"];

/// A site on which simulated people have accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Platform {
    /// The module of the catalogue that looks up usernames there.
    pub(super) module: &'static str,
    /// The address of a profile before the username.
    pub(super) profile: &'static str,
    /// Whether the site checks links, and the module reads which ones.
    pub(super) verifies: bool,
}

const fn platform(module: &'static str, profile: &'static str, verifies: bool) -> Platform {
    Platform { module, profile, verifies }
}

/// The sites. Each module reads a display name and a bio.
pub(super) const PLATFORMS: [Platform; 23] = [
    platform("github", "https://github.com/", false),
    platform("dev_to", "https://dev.to/", false),
    platform("codeberg", "https://codeberg.org/", false),
    platform("duolingo", "https://www.duolingo.com/profile/", false),
    platform("gitea", "https://gitea.com/", false),
    platform("gitee", "https://gitee.com/", false),
    platform("hackerone", "https://hackerone.com/", false),
    platform("hackerrank", "https://www.hackerrank.com/profile/", false),
    platform("hashnode", "https://hashnode.com/@", false),
    platform("leetcode", "https://leetcode.com/u/", false),
    platform("lichess", "https://lichess.org/@/", false),
    platform("manifold", "https://manifold.markets/", false),
    platform("steam", "https://steamcommunity.com/id/", false),
    platform("unsplash", "https://unsplash.com/@", false),
    platform("vimeo", "https://vimeo.com/", false),
    platform("warpcast", "https://warpcast.com/", false),
    platform("wattpad", "https://www.wattpad.com/user/", false),
    platform("mastodon_social", "https://mastodon.social/@", true),
    platform("mastodon_online", "https://mastodon.online/@", true),
    platform("mstdn_social", "https://mstdn.social/@", true),
    platform("fosstodon", "https://fosstodon.org/@", true),
    platform("gravatar", "https://gravatar.com/", true),
    platform("keybase", "https://keybase.io/", true),
];

/// The modules that look up email addresses, each with the module of the accounts that it finds.
pub(super) const MAIL_MODULES: [(&str, &str); 3] =
    [("duolingo_email", "duolingo"), ("gravatar_profile", "gravatar"), ("github_commits", "github")];
/// The module that reads the front page of a domain.
pub(super) const FRONT_PAGE: &str = "front_page";

/// Returns the site of that module.
pub(super) fn platform_of(module: &str) -> Option<&'static Platform> {
    PLATFORMS.iter().find(|platform| platform.module == module)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::modules::catalog::Catalog;

    #[test]
    fn the_catalogue_knows_each_site() {
        let catalog = Catalog::builtin().unwrap();
        for platform in PLATFORMS {
            let url = Url::parse(&format!("{}person1", platform.profile)).unwrap();
            let found = catalog.profiles().account_at(&url).unwrap();
            assert_eq!((found.module.id().as_ref(), found.query.normal()), (platform.module, "person1"));
            let metadata = &found.module.entry().result.as_ref().unwrap().metadata;
            assert!(metadata.contains_key("bio") && metadata.contains_key("display_name"), "{platform:?}");
        }
        for module in MAIL_MODULES.iter().flat_map(|(one, other)| [one, other]).chain([&FRONT_PAGE]) {
            assert!(catalog.get(module).is_some(), "{module}");
        }
    }
}
