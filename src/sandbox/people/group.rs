//! [`SeededPeople`]: a group of simulated people.

use super::names::platform_of;

/// A kind of group. The last digit of the group's number decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PeopleKind {
    /// 0: a person with twelve accounts, joined by links, a mailbox, and a site of their own.
    Large,
    /// 1: a person with 3 to 12 accounts that link to each other.
    Linked,
    /// 2: a person, and an impostor who takes over name, text and picture and links to the person's accounts.
    Impostor,
    /// 3: people of one company, who share a mailbox and a site and link to each other.
    Team,
    /// 4: strangers with the default picture of a platform.
    DefaultPicture,
    /// 5: two people with one full name.
    Namesakes,
    /// 6: a person whose accounts link in a circle.
    Ring,
    /// 7: a person, and a page with links to 10,000 accounts.
    LinkFarm,
    /// 8: a person with further names, which only searches for what was found before can find.
    Hidden,
    /// 9: a person whose links were checked by a platform.
    Verified,
}

/// Whom an account is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SeededRole {
    /// It is an ordinary account of its owner.
    Own,
    /// It imitates another person.
    Impostor,
    /// It is a list of links to accounts of others.
    LinkFarm,
}

/// An account, with what its page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededAccount {
    /// The module of the catalogue that looks it up.
    pub module: &'static str,
    /// Its username.
    pub username: String,
    /// The number of the person to whom it belongs, from 0.
    pub owner: usize,
    /// Whom it is made for.
    pub role: SeededRole,
    /// Whether what the pages say joins it to those of the owner's other accounts for which this is true.
    pub is_shown: bool,
    /// The number of searches that must follow each other before one finds it: 0 for the search for the group's name.
    pub depth: usize,
    /// The accounts to which it links, by their positions in the group, each with whether the platform has checked it.
    pub links: Vec<(usize, bool)>,
    pub(super) full_name: Option<String>,
    pub(super) bio: String,
    pub(super) city: &'static str,
    pub(super) picture: String,
    pub(super) emails: Vec<String>,
    pub(super) domains: Vec<String>,
    /// The number of strangers to whom it links.
    pub(super) strangers: u32,
}

/// An email address, with the accounts for which it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededMailbox {
    /// The address.
    pub address: String,
    /// The positions of the accounts that a search for the address finds.
    pub accounts: Vec<usize>,
    /// The number of searches that must follow each other before one looks for it.
    pub depth: usize,
}

/// A site of one's own, with the accounts that its front page names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededSite {
    /// Its domain.
    pub domain: String,
    /// The positions of the accounts.
    pub accounts: Vec<usize>,
    /// The number of searches that must follow each other before one looks for it.
    pub depth: usize,
}

/// A group of simulated people with all their accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeededPeople {
    /// The kind.
    pub kind: PeopleKind,
    /// The accounts.
    pub accounts: Vec<SeededAccount>,
    /// The email addresses.
    pub mailboxes: Vec<SeededMailbox>,
    /// The sites of people's own.
    pub sites: Vec<SeededSite>,
}

impl SeededAccount {
    /// Returns the address of its profile.
    pub fn address(&self) -> String {
        format!("{}{}", platform_of(self.module).map_or("", |platform| platform.profile), self.username)
    }
}
