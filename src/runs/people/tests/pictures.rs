use super::*;

#[test]
fn the_same_picture_joins_accounts_less_than_anything_that_is_checked() {
    let one = picture("0a", 0xff00);
    let (same, similar) = (vec![EvidenceKind::SamePicture], vec![EvidenceKind::SimilarPicture]);
    for (other, kinds) in
        [(one.clone(), same), (picture("0b", 0xff0f), similar), (picture("0b", 0xff1f), vec![])]
    {
        let band = (!kinds.is_empty()).then_some(Band::Possible);
        assert_eq!(joined(one.clone(), other.clone()), (kinds, band), "{other}");
    }
}

/// Everybody can copy a picture: it never confirms anything, and an account that links to another one whose accounts do
/// not link back stays apart.
#[test]
fn an_impostor_who_copies_the_picture_is_not_confirmed() {
    let with = |links: &[&str]| {
        let mut metadata = picture("0a", 0xff00);
        metadata["display_name"] = json!("Octo Cat");
        metadata["bio"] = json!(SENTENCE);
        metadata["links"] = json!(links);
        metadata
    };
    let victim = [
        profile(1, "github", "octocat", with(&["https://gitlab.com/octocat"])),
        profile(2, "gitlab", "octocat", with(&["https://github.com/octocat"])),
    ];
    for (links, is_joined) in [(&[][..], true), (&["https://github.com/octocat"][..], false)] {
        let found = found(&[victim.as_slice(), &[profile(3, "keybase", "0ctocat", with(links))]].concat());
        let [person] = &found.people[..] else { panic!("{found:#?}") };
        let bands: Vec<Band> = person.accounts.iter().filter_map(|account| account.band).collect();
        match is_joined {
            true => assert_eq!((bands[2], person.band), (Band::Possible, Band::Possible), "{found:#?}"),
            false => assert_eq!((bands.len(), person.band), (2, Band::Confirmed), "{found:#?}"),
        }
    }
}

#[test]
fn pictures_that_platforms_give_to_many_join_nobody() {
    let results = |names, metadata: &Value| on_each_site(names, |_| metadata.clone());
    let shared = picture("0a", 0xff00);
    // One person uses the picture with variants of a name.
    let people = found(&results(["octocat", "octocat2", "the_octocat", "octocat"], &shared)).people;
    assert_eq!((people.len(), people[0].accounts.len()), (1, 4));
    // Three names that have nothing in common.
    assert_eq!(found(&results(["octocat", "jane", "bob", "octocat"], &shared)).people, []);
    // A picture of two colours, and one that a platform names a default.
    let plain = json!({"avatar": {"sha256": "0a".repeat(32)}});
    assert_eq!(found(&results(["octocat"; 4], &plain)).people, []);
    let mut default = shared.clone();
    default["avatar_url"] = json!("https://cdn.example/avatars/original/missing.png");
    assert_eq!(found(&results(["octocat"; 4], &default)).people, []);
    // Two accounts of one platform.
    let two = [profile(1, "github", "octocat", shared.clone()), profile(2, "github", "octocat2", shared)];
    assert_eq!(found(&two).people, []);
}

#[test]
fn a_chain_of_nearly_equal_pictures_is_one_picture() {
    let steps = [0x0, 0xf, 0xff, 0xfff];
    let result =
        |at: usize| profile(at as u32 + 1, MODULES[at], "octocat", picture(&format!("{at:02x}"), steps[at]));
    for order in [[0, 1, 2, 3], [3, 0, 2, 1], [2, 3, 1, 0]] {
        let found = found(&order.map(result));
        assert_eq!(
            (found.people.len(), kinds(&found)),
            (1, vec![EvidenceKind::SimilarPicture; 3]),
            "{found:#?}"
        );
    }
}
