//! The pages of operators: the state of the service, and its accounts.
//!
//! | file | holds |
//! |---|---|
//! | `service` | `/app/operator`: the load, what was learnt, and the health of modules |
//! | `health` | the hosts and modules that are not asked, and the reset of what was learnt |
//! | `load` | the load as tiles and as JSON |
//! | `trends` | the last 24 hours as charts and as a table |
//! | `module` | `/app/operator/modules/{id}`: one module |
//! | `paging` | tables with several pages |
//! | `table` | filters and order of the table of modules |
//! | `rows` | a module as a row of the table |
//! | `accounts` | `/app/operator/accounts`: plans and accounts |
//! | `account_actions` | creates accounts and links, changes plans |

mod account_actions;
mod accounts;
mod health;
mod load;
mod module;
mod paging;
mod rows;
mod service;
mod table;
mod trends;

pub(in crate::web) use account_actions::{create, link, set_plan};
pub(in crate::web) use accounts::accounts;
pub(in crate::web) use health::reset;
pub(in crate::web) use module::module;
pub(in crate::web) use service::{load, service};
