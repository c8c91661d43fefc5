//! Counts of requests and of attempts to sign in, over all instances and by the clock of the database. See
//! [`quota`](crate::model::quota) for the algorithm: each subject has one row with the time at which its next request is
//! due.

use super::prelude::*;

/// Counts a request, as [`Rate::next_due`] does. Returns no row if the request is refused. `?2` is the period and `?3`
/// the slack.
const COUNT: &str = "INSERT INTO rate_limits AS r (subject, due) VALUES (?1, {micros} + ?2) \
     ON CONFLICT (subject) DO UPDATE SET due = greatest({micros}, least(r.due, {micros} + ?3)) + ?2 \
     WHERE r.due <= {micros} + ?3 OR r.due > {micros} + ?3 + ?2 RETURNING due, {micros}";
const DUE: &str = "SELECT max(due), {micros} FROM rate_limits WHERE subject = ?1";
const RETURN: &str = "UPDATE rate_limits SET due = due - ?2 WHERE subject = ?1";

impl Store {
    /// Counts a request if the limit allows it.
    pub fn count_request(&self, subject: &Subject, rate: Rate) -> Result<Counted> {
        let operation = Operation::from("count_request").light();
        let values = values![&subject.0, rate.period_us(), rate.slack_us()];
        if let Some(row) = self.change(operation, COUNT, values)?.into_iter().next() {
            let (due, now) = row.read()?;
            return Ok(rate.counted(true, due, now));
        }
        let known = self.first::<(Option<i64>, _)>(operation, DUE, values![&subject.0])?;
        let (due, now) = known.ok_or_else(|| StorageError::broken("an aggregate returned no row"))?;
        Ok(rate.counted(false, due.unwrap_or(now), now))
    }

    /// Subtracts a request that was counted and is not to count.
    pub fn return_request(&self, subject: &Subject, rate: Rate) -> Result<()> {
        let operation = Operation::from("return_request").light();
        self.change(operation, RETURN, values![&subject.0, rate.period_us()]).map(drop)
    }
}
