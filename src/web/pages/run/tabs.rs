//! The pages of a run beside its list: who the accounts belong to, and when things happened.

use std::sync::Arc;

use askama::Template;

use super::leads::{MOST_LINES, MOST_PEOPLE, Who, account_label, tone};
use super::{earlier, find};
use crate::base::ids::RunId;
use crate::model::run::RunSummary;
use crate::report::html::{Overview, Timeline, titled};
use crate::web::show::initial;
use crate::web::{Answer, Frame, Visit, Web, render};

#[derive(Template)]
#[template(path = "people.html", config = "src/web/askama.toml")]
struct PeoplePage {
    frame: Frame,
    run: RunSummary,
    earlier: Option<RunId>,
    who: Who,
}

#[derive(Template)]
#[template(path = "timeline.html", config = "src/web/askama.toml")]
struct TimelinePage {
    frame: Frame,
    run: RunSummary,
    earlier: Option<RunId>,
    timeline: Timeline,
}

/// Handles `GET /app/searches/{run_id}/people`: shows the people of a run and of the runs below it.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn people(web: &Arc<Web>, visit: Visit) -> Answer {
    let run = find(web, &visit, "run_id")?;
    let (family, catalog) = (web.runs.family(web.runs.record(run.clone())?)?, web.runs.catalog());
    let who = Who::of(&family.findings(), catalog.profiles());
    render(&PeoplePage { frame: visit.frame, earlier: earlier(web, &run)?, run, who })
}

/// Handles `GET /app/searches/{run_id}/timeline`: shows the events that the results of a run date.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn timeline(web: &Arc<Web>, visit: Visit) -> Answer {
    let run = find(web, &visit, "run_id")?;
    let list = Some(format!("{}/app/searches/{}", web.root, run.id));
    let timeline = Timeline { list, ..Overview::of(&web.runs.record(run.clone())?).timeline };
    render(&TimelinePage { frame: visit.frame, earlier: earlier(web, &run)?, run, timeline })
}
