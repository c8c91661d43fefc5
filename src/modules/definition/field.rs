//! The names of metadata that mean the same in all modules, with the types of their values.
//!
//! To add a name: a line in [`FIELDS`], then the command in `tests/manual/fields.rs`, which writes the manual's table.

/// The type of a metadata value, or of each element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// One text.
    Text,
    /// An identifier: a text or a number, as the site writes it.
    Id,
    /// The name of an account, without a leading `@`, or the address of the account.
    Handle,
    /// An email address in its normal form.
    Email,
    /// An MD5 or SHA-256 digest in lower-case hex.
    Digest,
    /// An absolute `http` or `https` address.
    Url,
    /// A time or a day as in RFC 3339.
    Date,
    /// A whole number that is not negative.
    Count,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
}

impl FieldType {
    /// Returns the type as the manual writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Id => "text or number",
            Self::Handle => "name or URL",
            Self::Email => "email address",
            Self::Digest => "hex",
            Self::Url => "URL",
            Self::Date => "date",
            Self::Count => "count",
            Self::Number => "number",
            Self::Flag => "boolean",
        }
    }
}

/// A name of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The type of the value, or of each element.
    pub field_type: FieldType,
    /// Whether the value is always a list.
    pub is_list: bool,
    /// The meaning, in the words of the manual.
    pub meaning: &'static str,
}

const fn one(name: &'static str, field_type: FieldType, meaning: &'static str) -> Field {
    Field { name, field_type, is_list: false, meaning }
}

const fn list(name: &'static str, field_type: FieldType, meaning: &'static str) -> Field {
    Field { name, field_type, is_list: true, meaning }
}

/// The services whose name is a name of metadata. The value is the person's account there.
pub const SERVICES: [&str; 33] = [
    "behance",
    "bluesky",
    "bugcrowd",
    "codepen",
    "discord",
    "dribbble",
    "facebook",
    "flickr",
    "github",
    "gitlab",
    "goodreads",
    "hatena",
    "instagram",
    "ko_fi",
    "last_fm",
    "linkedin",
    "livejournal",
    "mastodon",
    "medium",
    "patreon",
    "pinterest",
    "reddit",
    "skype",
    "soundcloud",
    "spotify",
    "stack_overflow",
    "steam",
    "telegram",
    "tiktok",
    "twitch",
    "twitter",
    "vk",
    "youtube",
];

/// The names of metadata of accounts, by subject.
pub const FIELDS: &[Field] = &[
    one("username", FieldType::Text, "the account's own name, as the site writes it"),
    one("user_id", FieldType::Id, "the site's identifier of the account"),
    one("display_name", FieldType::Text, "the name that is shown"),
    one("first_name", FieldType::Text, "first name"),
    one("last_name", FieldType::Text, "last name"),
    one(
        "real_name",
        FieldType::Text,
        "the name that is stated as the real one, beside another that is shown",
    ),
    list("other_names", FieldType::Text, "further or former names"),
    one("title", FieldType::Text, "the title of the page"),
    one("bio", FieldType::Text, "what the person says of themselves"),
    one("pronouns", FieldType::Text, "pronouns"),
    one("gender", FieldType::Text, "gender"),
    one("age_years", FieldType::Count, "age in years"),
    one("birth_date", FieldType::Date, "day of birth"),
    one("job_title", FieldType::Text, "profession or position"),
    one("company", FieldType::Text, "employer or organization"),
    one("school", FieldType::Text, "school or university"),
    one("orcid", FieldType::Text, "ORCID identifier"),
    one("language", FieldType::Text, "language"),
    list("languages", FieldType::Text, "languages"),
    list("interests", FieldType::Text, "interests, skills or topics"),
    one("location", FieldType::Text, "place, in the person's own words"),
    one("city", FieldType::Text, "city"),
    one("region", FieldType::Text, "region or state"),
    one("country", FieldType::Text, "country, as a name or a code"),
    one("timezone", FieldType::Text, "time zone"),
    one("avatar_url", FieldType::Url, "picture of the account"),
    one("banner_url", FieldType::Url, "large picture behind the profile"),
    one("website", FieldType::Url, "the person's site"),
    list("links", FieldType::Url, "addresses in the profile or in the text about the person"),
    list("verified_links", FieldType::Url, "addresses that the site has checked"),
    one("email", FieldType::Email, "email address"),
    list("emails", FieldType::Email, "email addresses"),
    one("email_md5", FieldType::Digest, "MD5 of the email address, as for Gravatar"),
    one("email_sha256", FieldType::Digest, "SHA-256 of the email address, as for Gravatar"),
    one("phone", FieldType::Text, "telephone number"),
    one("wallet_address", FieldType::Text, "address of a wallet"),
    one("key_fingerprint", FieldType::Text, "fingerprint of the PGP key"),
    one("matrix", FieldType::Text, "Matrix identifier"),
    one("discord_id", FieldType::Id, "Discord's identifier of the account"),
    one("invited_by", FieldType::Text, "the account that invited this one"),
    one("blog_url", FieldType::Url, "the account's blog at the site"),
    one("feed_url", FieldType::Url, "the account's RSS or Atom feed"),
    one("created_at", FieldType::Date, "when the account was created"),
    one("changed_at", FieldType::Date, "when the profile was changed last"),
    one("last_seen_at", FieldType::Date, "when the person was active last"),
    one("last_posted_at", FieldType::Date, "when something was published last"),
    one("verified", FieldType::Flag, "the site has verified the account"),
    one("private", FieldType::Flag, "the profile is not public"),
    one("suspended", FieldType::Flag, "the site has blocked the account"),
    one("closed", FieldType::Flag, "the person has closed the account"),
    one("email_verified", FieldType::Flag, "the site has checked the email address"),
    one("paid_account", FieldType::Flag, "the person pays for the account"),
    one("staff", FieldType::Flag, "the account belongs to the site's staff"),
    one("partner", FieldType::Flag, "the site shares revenue with the account"),
    one("bot", FieldType::Flag, "a program uses the account"),
    one("hireable", FieldType::Flag, "the person looks for work"),
    one("nsfw", FieldType::Flag, "the account shows adult content"),
    one("accepts_email", FieldType::Flag, "the site forwards mail to the person"),
    one("account_type", FieldType::Text, "kind of account, such as a person, a bot or an organization"),
    one("account_status", FieldType::Text, "state of the account, in the site's words"),
    list("roles", FieldType::Text, "roles at the site"),
    list("groups", FieldType::Text, "groups at the site"),
    list("teams", FieldType::Text, "teams"),
    list("trophies", FieldType::Text, "badges and trophies"),
    one("clan", FieldType::Text, "clan or guild"),
    one("level_name", FieldType::Text, "level or rank, in the site's words"),
    one("chess_title", FieldType::Text, "title of a chess player"),
    one("home_wiki", FieldType::Text, "the wiki where the account was created"),
    one("leader", FieldType::Text, "name of a nation's leader"),
    one("platform", FieldType::Text, "platform on which the person plays"),
    one("provider", FieldType::Text, "service through which the person signs in"),
    one("service", FieldType::Text, "service of a linked account"),
    one("blog_id", FieldType::Id, "the site's identifier of the blog"),
    one("organization_id", FieldType::Id, "the site's identifier of the organization"),
    one("followers", FieldType::Count, "accounts that follow this one"),
    one("following", FieldType::Count, "accounts that this one follows"),
    one("following_bands", FieldType::Count, "bands that this account follows"),
    one("friends", FieldType::Count, "friends or contacts"),
    one("subscribers", FieldType::Count, "subscribers, if the site counts them beside followers"),
    one("members", FieldType::Count, "members of a group or channel"),
    one("monthly_users", FieldType::Count, "people who use a bot in a month"),
    one("patrons", FieldType::Count, "people who pay for the work"),
    one("posts", FieldType::Count, "posts or articles"),
    one("journal_posts", FieldType::Count, "posts in a journal"),
    one("comments", FieldType::Count, "comments"),
    one("likes", FieldType::Count, "likes, given or received"),
    one("favorites", FieldType::Count, "things that the person has marked"),
    one("views", FieldType::Count, "views of the profile or of the works"),
    one("downloads", FieldType::Count, "downloads"),
    one("videos", FieldType::Count, "videos"),
    one("photos", FieldType::Count, "photos"),
    one("tracks", FieldType::Count, "pieces of music"),
    one("playlists", FieldType::Count, "playlists"),
    one("albums", FieldType::Count, "albums"),
    one("channels", FieldType::Count, "channels"),
    one("collections", FieldType::Count, "collections"),
    one("boards", FieldType::Count, "boards"),
    one("pins", FieldType::Count, "pins"),
    one("projects", FieldType::Count, "projects"),
    one("presentations", FieldType::Count, "presentations"),
    one("repositories", FieldType::Count, "public repositories"),
    one("gists", FieldType::Count, "public snippets"),
    one("packages", FieldType::Count, "packages"),
    list("package_names", FieldType::Text, "names of packages"),
    list("apps", FieldType::Text, "apps"),
    one("stars", FieldType::Count, "stars"),
    one("edits", FieldType::Count, "edits"),
    one("diary_entries", FieldType::Count, "entries in a diary"),
    one("questions", FieldType::Count, "questions"),
    one("answers", FieldType::Count, "answers"),
    one("reviews", FieldType::Count, "reviews"),
    one("ratings", FieldType::Count, "ratings given"),
    one("reports", FieldType::Count, "reports of weaknesses that were accepted"),
    one("submissions", FieldType::Count, "things submitted"),
    one("solved", FieldType::Count, "solved problems"),
    one("anime", FieldType::Count, "watched anime"),
    one("manga", FieldType::Count, "read manga"),
    one("bands", FieldType::Count, "bands"),
    one("plays", FieldType::Count, "plays of the music"),
    one("trips", FieldType::Count, "trips"),
    one("countries", FieldType::Count, "visited countries"),
    one("books", FieldType::Count, "books"),
    one("games", FieldType::Count, "games"),
    one("races", FieldType::Count, "races"),
    one("items_sold", FieldType::Count, "things sold"),
    one("gold_badges", FieldType::Count, "gold badges"),
    one("silver_badges", FieldType::Count, "silver badges"),
    one("bronze_badges", FieldType::Count, "bronze badges"),
    one("colors", FieldType::Count, "colours"),
    one("palettes", FieldType::Count, "palettes"),
    one("patterns", FieldType::Count, "patterns"),
    one("observations", FieldType::Count, "observations of nature"),
    one("identifications", FieldType::Count, "identified observations"),
    one("species", FieldType::Count, "observed species"),
    one("karma", FieldType::Number, "points that others have given"),
    one("post_karma", FieldType::Number, "points for posts"),
    one("comment_karma", FieldType::Number, "points for comments"),
    one("reputation", FieldType::Number, "reputation at the site"),
    one("rating", FieldType::Number, "rating by others"),
    one("max_rating", FieldType::Number, "highest rating"),
    one("score", FieldType::Number, "score at the site"),
    one("points", FieldType::Number, "points"),
    one("honor", FieldType::Number, "honor at the site"),
    one("level", FieldType::Number, "level"),
    one("total_level", FieldType::Number, "sum of all levels"),
    one("combat_level", FieldType::Number, "level in combat"),
    one("total_xp", FieldType::Number, "points of experience"),
    one("global_rank", FieldType::Number, "place in the site's ranking"),
    one("average_wpm", FieldType::Number, "average words a minute"),
    one("best_wpm", FieldType::Number, "most words a minute"),
    one("population_millions", FieldType::Number, "population of a nation in millions"),
];

/// Returns the type of the values of a name, and whether they are lists. Returns `None` for a name whose values can be
/// anything.
///
/// Besides the names of [`FIELDS`] and [`SERVICES`], a name that ends in `_at` is a date, and one that ends in `_url` is
/// an address.
pub fn field_type(name: &str) -> Option<(FieldType, bool)> {
    if let Some(field) = FIELDS.iter().find(|field| field.name == name) {
        return Some((field.field_type, field.is_list));
    }
    if SERVICES.contains(&name) {
        return Some((FieldType::Handle, false));
    }
    if name.ends_with("_at") {
        return Some((FieldType::Date, false));
    }
    name.ends_with("_url").then_some((FieldType::Url, false))
}
