//! The JSON contract: routes table, authentication, errors, wire types, handlers.
