//! Tenants, organisations and identities.

use super::*;

#[test]
fn microsoft() {
    let id = "72f988bf-86f1-41af-91ab-2d7cd011db47";
    let document = json!({"issuer": format!("https://login.microsoftonline.com/{id}/v2.0"), "tenant_region_scope": "WW", "cloud_instance_name": "microsoftonline.com"});
    play("microsoft_tenant", "example.com", vec![doc("example.com/v2.0/", &document)])
        .has("tenant", &[id])
        .tells(id, &json!({"region": "WW", "service": "Microsoft Entra ID"}));
    let mut unknown =
        doc("example.com/v2.0/", &json!({"error": "invalid_tenant", "error_description": "AADSTS90002"}));
    unknown.status = 400;
    play("microsoft_tenant", "example.com", vec![unknown]).outcome(Outcome::Miss);
    play("microsoft_realm", "example.com", vec![doc("getuserrealm.srf", &json!({"NameSpaceType": "Federated", "FederationBrandName": "Example", "AuthURL": "https://sts.example.com/adfs/ls/?x=1", "CloudInstanceName": "microsoftonline.com"}))])
        .has("tenant", &["Example"])
        .tells("Example", &json!({"realm": "Federated", "sign_in_host": "sts.example.com"}));
    play(
        "microsoft_odc",
        "example.com",
        vec![doc("federationprovider", &json!({"tenantId": id, "environment": "WW"}))],
    )
    .has("tenant", &[id]);
}

#[test]
fn tenants_found_by_name_are_marked_as_name_matches() {
    for (id, to, body, value) in [
        (
            "slack_workspace",
            "auth.findTeam",
            json!({"ok": true, "team_id": "T1", "url": "https://example.slack.com/", "sso": false}),
            "https://example.slack.com/",
        ),
        (
            "atlassian_site",
            "//example.atlassian.net/",
            json!({"cloudId": "72f988bf-86f1-41af-91ab-2d7cd011db47"}),
            "example.atlassian.net",
        ),
        (
            "okta_organization",
            "//example.okta.com/",
            json!({"id": "00oabc", "pipeline": "idx"}),
            "example.okta.com",
        ),
        (
            "statuspage",
            "//example.statuspage.io/",
            json!({"page": {"id": "p1", "name": "Example", "url": "https://status.example.com"}, "components": [{"name": "API"}]}),
            "https://status.example.com",
        ),
        (
            "greenhouse_jobs",
            "/boards/example",
            json!({"name": "Example", "content": "&lt;p&gt;Hi&lt;/p&gt;"}),
            "https://boards.greenhouse.io/example",
        ),
        (
            "lever_jobs",
            "/postings/example",
            json!([{"text": "Engineer", "hostedUrl": "https://jobs.lever.co/example/1", "categories": {"location": "Berlin"}}]),
            "https://jobs.lever.co/example",
        ),
        (
            "ashby_jobs",
            "/job-board/example",
            json!({"jobs": [{"title": "Engineer", "location": "Berlin"}], "apiVersion": "1"}),
            "https://jobs.ashbyhq.com/example",
        ),
    ] {
        let played = play(id, "www.example.co.uk", vec![doc(to, &body)]);
        played.has("tenant", &[value]).tells(value, &json!({"match": "name only"}));
        if id != "slack_workspace" {
            play(id, "example.com", vec![not_found(to)]).outcome(Outcome::Miss);
        }
    }
    play(
        "slack_workspace",
        "example.com",
        vec![doc("findTeam", &json!({"ok": false, "error": "team_not_found"}))],
    )
    .outcome(Outcome::Miss);
    play(
        "slack_workspace",
        "example.com",
        vec![doc("findTeam", &json!({"ok": false, "error": "invalid_arguments"}))],
    )
    .outcome(Outcome::Error);
}

#[test]
fn a_help_centre_may_be_on_the_customers_own_host() {
    let led_to = |location: &str| {
        let mut answer = page("//example.zendesk.com/hc/", 302, "text/html", "");
        answer.headers.push(("location".to_owned(), location.to_owned()));
        vec![answer]
    };
    for hit in ["https://support.example.com/hc/en-us", "/hc/de"] {
        play("zendesk_help_center", "example.com", led_to(hit)).has("tenant", &["example.zendesk.com"]);
    }
    play("zendesk_help_center", "example.com", led_to("https://www.zendesk.com/app/help-center-closed/"))
        .outcome(Outcome::Miss);
}

#[test]
fn a_salesforce_domain_that_does_not_resolve_is_a_miss() {
    let host = "example.my.salesforce.com";
    let address = records(
        "name=example.my.salesforce.com",
        0,
        &[(host, 5, "a.sfdc.net."), ("a.sfdc.net.", 1, "192.0.2.1")],
    );
    play(
        "salesforce_domain",
        "example.com",
        vec![
            address,
            doc(
                "//example.my.salesforce.com/.well-known/",
                &json!({"OrgId": "00D2o000000i6mB", "Url": "https://example.my.salesforce.com", "LoginPage": null, "LoginPageType": "standard", "SamlProviders": [{"name": "Corp"}]}),
            ),
        ],
    )
    .has("tenant", &[host])
    .tells(host, &json!({"organization_id": "00D2o000000i6mB", "single_sign_on": ["Corp"]}));
    let played = play("salesforce_domain", "example.com", vec![records("name=example.my", 3, &[])]);
    assert_eq!(played.outcome(Outcome::Miss).asked.len(), 1);
}

#[test]
fn an_organisation_counts_only_with_the_domain_as_its_website() {
    let organisation = |blog: Value| {
        vec![doc(
            "/orgs/example",
            &json!({"login": "Example", "html_url": "https://github.com/Example", "blog": blog, "public_repos": 3, "created_at": "2012-01-02T03:04:05Z"}),
        )]
    };
    for blog in ["https://www.example.com/", "example.com"] {
        play("github_org", "example.com", organisation(json!(blog)))
            .has("account", &["https://github.com/Example"]);
    }
    let others = [
        "https://other.net",
        "https://example.io",
        "https://example.community/",
        "example.com.evil.net",
        "https://www.notexample.com/",
        "",
    ];
    for blog in others.map(|blog| json!(blog)).into_iter().chain([Value::Null]) {
        play("github_org", "example.com", organisation(blog)).outcome(Outcome::Miss);
    }
    // The website is a page about the domain.
    play("github_org", "example.com", organisation(json!("https://links.example.net/example.com")))
        .outcome(Outcome::Error);
    let users = |logins: &[&str]| json!({"total_count": 2, "items": logins.iter().map(|it| json!({"login": it, "html_url": format!("https://github.com/{it}"), "type": "User"})).collect::<Vec<_>>()});
    play("github_users", "example.com", vec![doc("search/users", &users(&["a", "b"]))])
        .has("account", &["https://github.com/a", "https://github.com/b"]);
}

#[test]
fn identities_on_the_domain() {
    let key = "a".repeat(64);
    play(
        "nostr_names",
        "example.com",
        vec![doc("nostr.json", &json!({"names": {"_": key, "bob": key, "bad": "npub1"}, "relays": {}}))],
    )
    .has("account", &["_@example.com", "bob@example.com"])
    .tells("bob@example.com", &json!({"public_key": key, "username": "bob"}));
    play("nostr_names", "example.com", vec![doc("nostr.json", &json!({"names": {}}))]).outcome(Outcome::Miss);
    play("atproto_did", "example.com", vec![text("atproto-did", "did:plc:abc\n")])
        .has("account", &["https://bsky.app/profile/did:plc:abc"]);
    let nodeinfo = json!({"links": [{"rel": "http://nodeinfo.diaspora.software/ns/schema/2.0", "href": "https://social.example.com/nodeinfo/2.0"}]});
    let document = json!({"version": "2.0", "software": {"name": "mastodon", "version": "4.2.1"}, "usage": {"users": {"total": 9, "activeMonth": 3}, "localPosts": 5}, "openRegistrations": false, "metadata": {"nodeName": "Ex"}});
    play(
        "nodeinfo",
        "example.com",
        vec![
            doc(".well-known/nodeinfo", &nodeinfo),
            doc("https://social.example.com/nodeinfo/2.0", &document),
        ],
    )
    .tells("mastodon", &json!({"users": 9, "version": "4.2.1", "open_registrations": false}));
    play("webfinger_domain", "example.com", vec![doc("webfinger?resource=acct%3Aexample.com%40example.com", &json!({"subject": "acct:example.com@example.com", "links": [{"rel": "self", "type": "application/activity+json", "href": "https://example.com/actor"}]}))])
        .has("account", &["example.com@example.com"])
        .has("url", &["https://example.com/actor"]);
    let proofs = json!({"status": {"code": 0}, "them": [null, {"basics": {"username": "chris"}, "profile": {"full_name": "Chris"}, "proofs_summary": {"all": [
        {"proof_type": "dns", "nametag": "example.com", "service_url": "http://example.com"}, {"proof_type": "github", "nametag": "chrisc", "service_url": "https://github.com/chrisc"}]}}]});
    play("keybase_domain", "example.com", vec![doc("user/lookup.json", &proofs)])
        .has("account", &["https://keybase.io/chris", "http://example.com", "https://github.com/chrisc"]);
    play(
        "keybase_domain",
        "example.com",
        vec![doc("user/lookup.json", &json!({"status": {"code": 0}, "them": [null]}))],
    )
    .outcome(Outcome::Miss);
    play(
        "matrix_server",
        "example.com",
        vec![doc("matrix/server", &json!({"m.server": "matrix.example.net:443"}))],
    )
    .has("domain", &["matrix.example.net"]);
}
