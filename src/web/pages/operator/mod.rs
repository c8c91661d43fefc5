//! The pages of operators: the state of the service, and its accounts.
//!
//! | file | holds |
//! |---|---|
//! | `service` | `/app/operator`: the load, what was learnt, and the health of modules |
//! | `learnt` | the hosts that are down, the modules in quarantine and the learnt deadlines, and their resets |
//! | `load` | the load as tiles and as JSON |
//! | `trends` | the last 24 hours as charts and as a table |
//! | `module` | `/app/operator/modules/{id}`: one module, and its resets |
//! | `paging` | tables with several pages |
//! | `table` | filters and order of the table of modules |
//! | `rows` | a module as a row of the table |
//! | `accounts` | `/app/operator/accounts`: plans and accounts |
//! | `account_actions` | creates accounts and links, changes plans |

mod account_actions;
mod accounts;
mod learnt;
mod load;
mod module;
mod paging;
mod rows;
mod service;
mod table;
mod trends;

pub(in crate::web) use account_actions::{create, link, set_plan};
pub(in crate::web) use accounts::accounts;
pub(in crate::web) use learnt::{reset_circuits, reset_deadlines, reset_quarantines};
pub(in crate::web) use module::{
    module, reset_module_circuits, reset_module_deadline, reset_module_quarantine,
};
pub(in crate::web) use service::{load, service};
