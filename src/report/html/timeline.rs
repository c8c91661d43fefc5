//! The timeline as a drawing, in which each dot leads to its year in the table below it.

use super::markup::Markup;
use crate::report::graph::drawing::whole;
use crate::report::timeline::{EventKind, Timeline};
use crate::runs::record::RunRecord;

/// The size of the drawing, in its own units.
const WIDTH: f64 = 720.0;
const LANE: usize = 30;
/// The width of the names of the lanes, and the space to the right of the last year.
const NAMES: f64 = 130.0;
const MARGIN: f64 = 24.0;
/// The radius of a dot for one event, and of the largest one.
const SMALLEST: f64 = 4.0;
const LARGEST: f64 = 12.0;
/// The most years that have a label.
const MOST_LABELS: i16 = 12;
/// The most rows of the table.
const MOST_ROWS: usize = 500;

pub(super) fn write(page: &mut Markup, run: &RunRecord) {
    let timeline = Timeline::of(&run.results, run.as_of);
    let Some(years) = timeline.years().filter(|_| timeline.events.len() > 1) else { return };
    page.raw("<section class=\"part\">\n<h3>Timeline</h3>\n");
    draw(page, &timeline, years);
    table(page, &timeline);
    page.raw("</section>\n");
}

fn draw(page: &mut Markup, timeline: &Timeline, (first, last): (i16, i16)) {
    let counts = timeline.counts();
    let is_used = |kind: &EventKind| counts.keys().any(|(it, _)| it == kind);
    let kinds: Vec<EventKind> = EventKind::ALL.into_iter().filter(is_used).collect();
    let height = (kinds.len() + 1) * LANE;
    let step = (WIDTH - NAMES - 2.0 * MARGIN) / f64::from((last - first).max(1));
    let at = |year: i16| NAMES + MARGIN + step * f64::from(year - first);
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline by year\">");
    page.raw("<svg class=\"timeline\" viewBox=\"0 0 ").show(WIDTH).raw(" ").show(height);
    page.raw(
        "\" role=\"group\" aria-label=\"Timeline by year. Each dot leads to its year in the table.\">\n",
    );
    let every = ((last - first) / MOST_LABELS + 1).max(1);
    for year in (first..=last).filter(|year| (year - first) % every == 0) {
        page.raw("<text class=\"year\" text-anchor=\"middle\" x=\"")
            .show(whole(at(year)))
            .raw("\" y=\"")
            .show(height - 9);
        page.raw("\">").show(year).raw("</text>");
    }
    for (lane, kind) in kinds.iter().enumerate() {
        let y = lane * LANE + LANE / 2;
        page.raw("\n<text y=\"")
            .show(y + 4)
            .raw("\">")
            .text(kind.title())
            .raw("</text><line x1=\"")
            .show(NAMES);
        page.raw("\" x2=\"").show(WIDTH).raw("\" y1=\"").show(y).raw("\" y2=\"").show(y).raw("\"/>");
        for ((_, year), count) in counts.iter().filter(|((it, _), _)| it == kind) {
            page.raw("<a href=\"#year-")
                .show(year)
                .raw("\" aria-label=\"")
                .text(kind.title())
                .raw(" in ")
                .show(year);
            page.raw(": ")
                .show(count)
                .raw("\"><circle class=\"")
                .text(kind.as_str())
                .raw("\" cx=\"")
                .show(whole(at(*year)));
            page.raw("\" cy=\"")
                .show(y)
                .raw("\" r=\"")
                .show(whole(radius(*count)))
                .raw("\"><title>")
                .show(year)
                .raw(": ");
            page.show(count).raw("</title></circle></a>");
        }
    }
    page.raw("\n</svg></div>\n");
}

/// Returns the radius of the dot for a number of events: its area grows with the number.
#[expect(clippy::cast_precision_loss, reason = "the number is small")]
fn radius(count: usize) -> f64 {
    (SMALLEST * (count as f64).sqrt()).min(LARGEST)
}

fn table(page: &mut Markup, timeline: &Timeline) {
    page.raw("<details>\n<summary>The timeline as a table <span class=\"count\">")
        .show(timeline.events.len());
    page.raw("</span></summary>\n");
    page.begin_table("Timeline", &["Day", "What", "Where", "Value"]);
    let mut year = None;
    for event in timeline.events.iter().take(MOST_ROWS) {
        page.raw("<tr");
        if year.replace(event.day.year()) != Some(event.day.year()) {
            page.raw(" id=\"year-").show(event.day.year()).raw("\"");
        }
        page.raw("><td>")
            .show(event.day)
            .raw("</td><td>")
            .text(event.kind.title())
            .raw("</td><td><a href=\"#result-");
        page.show(event.result).raw("\"><bdi>").text(&event.platform).raw("</bdi></a></td><td><bdi>");
        page.text(event.value.as_deref().unwrap_or_default()).raw("</bdi></td></tr>\n");
    }
    page.raw("</tbody>\n</table></div>\n</details>\n");
}
