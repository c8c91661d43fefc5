//! Plans: the permissions of an account, and its credits per month.

use std::str::FromStr;

/// The plans of a server that is not configured otherwise.
pub const DEFAULT_PLANS: &str = "free=5,basic=30:premium,pro=100:api:premium,unlimited=unlimited:api:premium";

/// A plan of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The name in lower case, such as `pro`.
    pub name: String,
    /// The credits for each billing cycle, or `None` if there is no limit.
    pub credits: Option<u64>,
    /// Whether keys of this plan can use the API.
    pub api: bool,
    /// Whether premium searches are included.
    pub premium: bool,
}

/// All plans, the cheapest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTable {
    plans: Vec<Plan>,
}

impl Default for PlanTable {
    fn default() -> Self {
        DEFAULT_PLANS.parse().expect("a test reads the default plans")
    }
}

impl PlanTable {
    /// Returns all plans, the cheapest first.
    pub fn all(&self) -> &[Plan] {
        &self.plans
    }

    /// Returns the plan with that name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.plans.iter().find(|plan| plan.name == name)
    }

    /// Returns the names of the plans for which `wanted` is true, the cheapest first.
    pub fn names_where(&self, wanted: impl Fn(&Plan) -> bool) -> Vec<&str> {
        self.plans.iter().filter(|plan| wanted(plan)).map(|plan| plan.name.as_str()).collect()
    }
}

impl FromStr for PlanTable {
    type Err = String;

    /// Parses `NAME=CREDITS[:api][:premium]` entries separated by commas, where `CREDITS` is a whole number or
    /// `unlimited`, such as [`DEFAULT_PLANS`].
    fn from_str(text: &str) -> Result<Self, String> {
        let mut plans: Vec<Plan> = Vec::new();
        for part in text.split(',') {
            let plan = parse_plan(part.trim())?;
            if plans.iter().any(|known| known.name == plan.name) {
                return Err(format!("plan \"{}\" is repeated", plan.name));
            }
            plans.push(plan);
        }
        Ok(Self { plans })
    }
}

fn parse_plan(part: &str) -> Result<Plan, String> {
    let form = || format!("\"{part}\" is not NAME=CREDITS[:api][:premium]");
    let (name, rest) = part.split_once('=').ok_or_else(form)?;
    let name_fits = (1..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    if !name_fits {
        return Err(format!("plan name \"{name}\": expected 1 to 32 of a-z, 0-9, _ and -"));
    }
    let (credits, words) = rest.split_once(':').unwrap_or((rest, ""));
    let credits = match credits.parse::<u32>() {
        Ok(credits) => Some(credits.into()),
        Err(_) if credits == "unlimited" => None,
        Err(_) => {
            return Err(format!("credits of plan \"{name}\": expected a whole number or \"unlimited\""));
        }
    };
    let mut plan = Plan { name: name.to_owned(), credits, api: false, premium: false };
    for word in words.split(':').filter(|_| rest.contains(':')) {
        match word {
            "api" => plan.api = true,
            "premium" => plan.premium = true,
            _ => return Err(format!("\"{word}\" of plan \"{name}\": expected api or premium")),
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_is_read() {
        let table = PlanTable::default();
        let names = ["free", "basic", "pro", "unlimited"];
        assert_eq!(table.names_where(|_| true), names);
        assert_eq!(table.names_where(|plan| plan.api), names[2..]);
        assert_eq!(table.names_where(|plan| plan.premium), names[1..]);
        assert_eq!(names.map(|name| table.get(name).unwrap().credits), [Some(5), Some(30), Some(100), None]);
    }

    #[test]
    fn each_mistake_is_named() {
        for (text, want) in [
            ("", "\"\" is not NAME=CREDITS[:api][:premium]"),
            ("pro", "\"pro\" is not NAME=CREDITS[:api][:premium]"),
            ("Pro=1", "plan name \"Pro\": expected 1 to 32 of a-z, 0-9, _ and -"),
            ("pro=-1", "credits of plan \"pro\": expected a whole number or \"unlimited\""),
            ("pro=1:apis", "\"apis\" of plan \"pro\": expected api or premium"),
            ("pro=1,pro=2", "plan \"pro\" is repeated"),
        ] {
            assert_eq!(text.parse::<PlanTable>().unwrap_err().to_string(), want);
        }
    }
}
