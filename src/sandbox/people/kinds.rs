//! The accounts of each kind of group.

use super::group::{PeopleKind, SeededAccount, SeededMailbox, SeededPeople, SeededRole, SeededSite};
use super::names::{CITIES, FAMILY, GIVEN, MAIL_MODULES, PLATFORMS, Platform};
use crate::modules::query::SearchType;
use crate::sandbox::draw::draw;

/// The beginning of the username that names a group.
const WORD: &str = "person";
/// The most digits of a group's number.
const MAX_DIGITS: usize = 6;
/// The number of strangers to whose accounts a link farm links.
const FARM_LINKS: u32 = 10_000;
/// The site of the link farm, whose module reads links only from the bio.
const FARM_MODULE: &str = "dev_to";

impl SeededPeople {
    /// Returns the group that the username `person` with this number begins.
    pub fn of(number: u32) -> Self {
        Maker::new(number).made()
    }

    /// Returns the group to which a query in its normal form belongs, whether or not there is an account of that name.
    pub(super) fn of_query(search_type: SearchType, query: &str) -> Option<Self> {
        let name = match search_type {
            SearchType::Username => query,
            SearchType::Email => query.rsplit_once('@')?.1.strip_suffix(".example.org")?,
            SearchType::Domain => query.strip_suffix(".example.org")?,
        };
        let people = Self::of(number_of(name)?);
        let is = |own: &str| own.eq_ignore_ascii_case(query);
        let is_known = match search_type {
            SearchType::Username => people.accounts.iter().any(|account| is(&account.username)),
            SearchType::Email => people.mailboxes.iter().any(|mailbox| is(&mailbox.address)),
            SearchType::Domain => people.sites.iter().any(|site| is(&site.domain)),
        };
        is_known.then_some(people)
    }
}

/// Returns the number at the end of a name, or `None` if no group has it.
fn number_of(name: &str) -> Option<u32> {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[word.len()..];
    let is_plain = !word.is_empty() && digits.len() <= MAX_DIGITS && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_plain)
}

/// A person, as the pages of their accounts show them.
#[derive(Debug, Clone)]
struct Person {
    owner: usize,
    full_name: String,
    bio: String,
    city: &'static str,
    picture: String,
}

/// A group under construction.
struct Maker {
    number: u32,
    owners: usize,
    /// The platforms without an account so far, in the order of their use.
    free: Vec<&'static Platform>,
    people: SeededPeople,
}

impl Maker {
    fn new(number: u32) -> Self {
        let kind = match number % 10 {
            0 => PeopleKind::Large,
            1 => PeopleKind::Linked,
            2 => PeopleKind::Impostor,
            3 => PeopleKind::Team,
            4 => PeopleKind::DefaultPicture,
            5 => PeopleKind::Namesakes,
            6 => PeopleKind::Ring,
            7 => PeopleKind::LinkFarm,
            8 => PeopleKind::Hidden,
            _ => PeopleKind::Verified,
        };
        let mut free: Vec<&'static Platform> = PLATFORMS.iter().collect();
        free.sort_by_cached_key(|platform| draw(u64::from(number), &["platform", platform.module]));
        let people = SeededPeople { kind, accounts: Vec::new(), mailboxes: Vec::new(), sites: Vec::new() };
        Self { number, owners: 0, free, people }
    }

    fn made(mut self) -> SeededPeople {
        match self.people.kind {
            PeopleKind::Large => self.large(),
            PeopleKind::Linked => self.linked(),
            PeopleKind::Impostor => self.impostor(),
            PeopleKind::Team => self.team(),
            PeopleKind::DefaultPicture => self.default_picture(),
            PeopleKind::Namesakes => self.namesakes(),
            PeopleKind::Ring => self.ring(),
            PeopleKind::LinkFarm => self.link_farm(),
            PeopleKind::Hidden => self.hidden(),
            PeopleKind::Verified => self.verified(),
        }
        self.people
    }

    fn below(&self, what: &str, bound: usize) -> usize {
        (draw(u64::from(self.number), &[what]) % bound as u64) as usize
    }

    /// Returns a new person, whose names and text are those of nobody else in the group.
    fn person(&mut self) -> Person {
        let owner = self.owners;
        self.owners += 1;
        let of =
            |what: &str, from: &[&'static str]| from[(self.below(what, from.len()) + owner) % from.len()];
        let city = of("city", &CITIES);
        let lamps = 10 * self.below("lamps", 90) + 10 + owner;
        Person {
            owner,
            full_name: format!("{} {}", of("given", &GIVEN), of("family", &FAMILY)),
            bio: format!("Keeps {lamps} old lighthouses running on the coast of {city}"),
            city,
            picture: format!("https://media.example.net/people/{}/{owner}.png", self.number),
        }
    }

    /// Adds an account on a platform that is still free, and returns its position. Its name is the group's.
    fn account(&mut self, person: &Person, is_fit: impl Fn(&Platform) -> bool) -> usize {
        let username = format!("{WORD}{}", self.number);
        self.further_account(person, &username, 0, is_fit)
    }

    fn further_account(
        &mut self,
        person: &Person,
        username: &str,
        depth: usize,
        is_fit: impl Fn(&Platform) -> bool,
    ) -> usize {
        // There are more platforms than accounts in any group.
        let at = self.free.iter().position(|platform| is_fit(platform)).unwrap_or_default();
        let platform = self.free.remove(at);
        let Person { owner, full_name, bio, city, picture } = person.clone();
        // A text that is not distinctive proves nothing.
        let bio = match self.below(&format!("bio {}", platform.module), 3) {
            0 => bio,
            _ => format!("Hello from {city}"),
        };
        self.people.accounts.push(SeededAccount {
            module: platform.module,
            username: username.to_owned(),
            owner,
            role: SeededRole::Own,
            is_shown: true,
            depth,
            links: Vec::new(),
            full_name: Some(full_name),
            bio,
            city,
            picture,
            emails: Vec::new(),
            domains: Vec::new(),
            strangers: 0,
        });
        self.people.accounts.len() - 1
    }

    fn accounts(&mut self, person: &Person, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.account(person, |_| true)).collect()
    }

    fn at(&mut self, position: usize) -> &mut SeededAccount {
        &mut self.people.accounts[position]
    }

    fn link(&mut self, from: usize, to: usize) {
        self.at(from).links.push((to, false));
    }

    fn link_mutually(&mut self, one: usize, other: usize) {
        self.link(one, other);
        self.link(other, one);
    }

    /// Joins the first account with each other one.
    fn link_star(&mut self, accounts: &[usize]) {
        accounts[1..].iter().for_each(|at| self.link_mutually(accounts[0], *at));
    }

    /// Adds a person with some accounts that name each other.
    fn linked_person(&mut self, count: usize) -> (Person, Vec<usize>) {
        let person = self.person();
        let accounts = self.accounts(&person, count);
        self.link_star(&accounts);
        (person, accounts)
    }

    fn domain(&self, person: &Person) -> String {
        let family = person.full_name.rsplit(' ').next().unwrap_or_default();
        format!("{}{}.example.org", family.to_lowercase(), self.number)
    }

    fn email(&self, person: &Person) -> String {
        let given = person.full_name.split(' ').next().unwrap_or_default();
        format!("{}@{}", given.to_lowercase(), self.domain(person))
    }

    /// Lets accounts state an address, and those on platforms that can be searched by it be found by it.
    fn share_email(&mut self, address: &str, accounts: &[usize], depth: usize) {
        let is_found = |at: &&usize| {
            let module = self.people.accounts[**at].module;
            MAIL_MODULES.iter().any(|(_, found)| *found == module)
        };
        let found = accounts.iter().filter(is_found).copied().collect();
        self.people.mailboxes.push(SeededMailbox { address: address.to_owned(), accounts: found, depth });
        accounts.iter().for_each(|at| self.at(*at).emails.push(address.to_owned()));
    }

    /// Lets accounts name a site, which names them as well.
    fn share_site(&mut self, domain: &str, accounts: &[usize], depth: usize) {
        let site = SeededSite { domain: domain.to_owned(), accounts: accounts.to_vec(), depth };
        self.people.sites.push(site);
        accounts.iter().for_each(|at| self.at(*at).domains.push(domain.to_owned()));
    }
}

/// The kinds.
impl Maker {
    fn large(&mut self) {
        let person = self.person();
        let hub = self.account(&person, |platform| platform.verifies);
        let all = self.accounts(&person, 11);
        for at in &all[..2] {
            self.at(hub).links.push((*at, true));
        }
        all[2..6].iter().for_each(|at| self.link_mutually(hub, *at));
        let with_site = [&[hub], &all[6..9]].concat();
        self.share_site(&self.domain(&person), &with_site, 1);
        let with_email = [&all[5..6], &all[9..]].concat();
        self.share_email(&self.email(&person), &with_email, 1);
    }

    fn linked(&mut self) {
        let person = self.person();
        let count = 3 + self.below("count", 10);
        let all = self.accounts(&person, count);
        match self.below("form", 3) {
            0 => self.link_star(&all),
            1 => all.windows(2).for_each(|two| self.link_mutually(two[0], two[1])),
            // The first half names each other. The others are only named, and show the same name.
            _ => {
                let half = count / 2 + 1;
                self.link_star(&all[..half]);
                all[half..].iter().for_each(|at| self.link(all[0], *at));
            }
        }
        // What proves nothing may be missing.
        for at in all.iter().skip(1).step_by(3) {
            if self.people.accounts[*at].links.iter().any(|(to, _)| *to == all[0]) {
                self.at(*at).full_name = None;
            }
        }
    }

    fn impostor(&mut self) {
        let (victim, accounts) = self.linked_person(3 + self.below("count", 4));
        let owner = self.owners;
        self.owners += 1;
        let copied = Person { owner, ..victim };
        for number in 0..=self.below("impostors", 2) {
            let impostor = self.account(&copied, |_| true);
            for target in accounts.iter().skip(number).take(1 + self.below("targets", 3)) {
                self.link(impostor, *target);
            }
            let account = self.at(impostor);
            (account.role, account.is_shown) = (SeededRole::Impostor, false);
            account.bio.clone_from(&copied.bio);
        }
    }

    fn team(&mut self) {
        let company = format!("company{}.example.org", self.number);
        let (_, first) = self.linked_person(2);
        let mut team = vec![first[0]];
        for _ in 0..2 + self.below("count", 3) {
            let person = self.person();
            team.push(self.account(&person, |_| true));
        }
        team.windows(2).for_each(|two| self.link(two[1], two[0]));
        let mailbox = if self.below("mailbox", 2) == 0 { "info" } else { "founders" };
        self.share_site(&company, &team, 1);
        self.share_email(&format!("{mailbox}@{company}"), &team, 1);
        // A search for the address of a company finds no accounts of its people.
        self.people.mailboxes[0].accounts.clear();
    }

    fn default_picture(&mut self) {
        let _ = self.linked_person(2);
        for _ in 0..3 + self.below("count", 3) {
            let person = self.person();
            self.account(&person, |_| true);
        }
        for account in &mut self.people.accounts {
            account.picture = "https://media.example.net/people/default.png".to_owned();
        }
    }

    fn namesakes(&mut self) {
        let (person, _) = self.linked_person(3 + self.below("count", 3));
        let namesake = Person { full_name: person.full_name, ..self.person() };
        let accounts = self.accounts(&namesake, 3 + self.below("others", 3));
        self.link_star(&accounts);
    }

    fn ring(&mut self) {
        let person = self.person();
        let count = 4 + self.below("count", 5);
        let all = self.accounts(&person, count);
        (0..count).for_each(|n| self.link(all[n], all[(n + 1) % count]));
    }

    fn link_farm(&mut self) {
        let lister = Person { full_name: "List of People".to_owned(), ..self.person() };
        let farm = self.account(&lister, |platform| platform.module == FARM_MODULE);
        let (_, accounts) = self.linked_person(3 + self.below("count", 3));
        accounts.iter().for_each(|at| self.link(farm, *at));
        self.link(accounts[0], farm);
        let account = self.at(farm);
        (account.role, account.is_shown, account.strangers) = (SeededRole::LinkFarm, false, FARM_LINKS);
    }

    /// The group's name leads to a second username, that to an address, the address to a site, and the site to an
    /// account with a third username.
    fn hidden(&mut self) {
        let has_no_mail = |platform: &Platform| MAIL_MODULES.iter().all(|(_, it)| *it != platform.module);
        let person = self.person();
        let first: Vec<usize> =
            (0..2 + self.below("count", 2)).map(|_| self.account(&person, has_no_mail)).collect();
        self.link_star(&first);
        let words: Vec<String> = person.full_name.split(' ').map(str::to_lowercase).collect();
        let name = |parts: [&String; 2]| format!("{}{}{}", parts[0], parts[1], self.number);
        let (second, third) = (name([&words[0], &words[1]]), name([&words[1], &words[0]]));
        let named = self.further_account(&person, &second, 1, has_no_mail);
        let mailing = self.further_account(&person, &second, 1, has_no_mail);
        self.link_mutually(first[0], named);
        self.link_mutually(named, mailing);
        let mailed = self.further_account(&person, &third, 2, |platform| !has_no_mail(platform));
        self.share_email(&self.email(&person), &[mailing, mailed], 2);
        let last = self.further_account(&person, &third, 3, |_| true);
        self.share_site(&self.domain(&person), &[mailed, last], 3);
        // Only a search for the address finds the account, so that it must be followed.
        self.at(mailed).emails.clear();
    }

    fn verified(&mut self) {
        let person = self.person();
        let hub = self.account(&person, |platform| platform.verifies);
        let count = 3 + self.below("count", 6);
        for at in self.accounts(&person, count) {
            self.at(hub).links.push((at, true));
        }
    }
}
