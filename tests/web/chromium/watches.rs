//! A watch with changes, for the tests that look at its pages.

use rusqlite::Connection;

use super::Desk;
use crate::support::eventually;

impl Desk {
    /// Creates a watch that has found changes, and returns the path of its page.
    pub(super) fn watch_with_changes(&self) -> String {
        self.open("/app/watches");
        let csrf = self.browser.find("input[name=csrf]").attribute("value").unwrap();
        let csrf = ("csrf", csrf.as_str());
        let fields = [
            csrf,
            ("query", "everybody"),
            ("type", "username"),
            ("module", "github"),
            ("module", "gitlab"),
            ("every", "1d"),
            ("notify_on", "changed"),
        ];
        assert_eq!(self.send("/app/watches", &fields), 303);
        self.open("/app/watches");
        let path = self.browser.find("main tbody a").attribute("href").unwrap();
        self.compared(1);
        // Nothing has changed on the sites. The stored conclusions are changed instead.
        let known = "'\"display_name\":\"', '\"display_name\":\"Not '";
        let change = format!("UPDATE watches SET baseline = replace(baseline, {known})");
        self.sqlite().execute_batch(&change).unwrap();
        self.open(&path);
        let once = self.browser.find("input[name=once]").attribute("value").unwrap();
        assert_eq!(self.send(&format!("{path}/run"), &[csrf, ("once", &once)]), 303);
        self.compared(2);
        path
    }

    /// Waits until the watch has that many runs and the last one was compared.
    fn compared(&self, count: i64) {
        let number = |sql: &str| self.sqlite().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        eventually("the runs were compared", || {
            number("SELECT count(*) FROM runs WHERE watch IS NOT NULL") == count
                && number("SELECT count(*) FROM watches WHERE is_open") == 0
        });
    }

    fn sqlite(&self) -> Connection {
        Connection::open(self.server.database.strip_prefix("sqlite:").unwrap()).unwrap()
    }
}
