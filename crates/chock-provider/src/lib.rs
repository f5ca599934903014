//! Sends a context to a model and yields what it says.
//!
//! [`Model::reply`] blocks the session's thread until one whole reply is there;
//! pieces of it arrive while it comes, and a [`Cancel`] ends it from another
//! thread. A reply without its wire's final event is a fault and never a reply.
//!
//! # Never knows
//!
//! What a tool does, what is allowed, where credentials come from.
//!
//! # Holds
//!
//! - A tool call comes only out of a whole reply, with an id unique in its session.
//! - What a server sends is bounded: bytes, events, calls, time of silence.
//! - A wait is as long as the server asked for, is told, and can be interrupted.
//! - A credential goes into one request header and nowhere else.
//!
//! # Start reading at
//!
//! [`Model`], then `wired.rs` and one wire, such as `compat.rs`.

mod answer;
mod cancel;
mod compat;
mod context;
mod endpoint;
mod fault;
mod gist;
mod history;
mod http;
mod ids;
mod listing;
mod messages;
mod model;
mod nearest;
mod plain;
mod prices;
mod responses;
mod retry;
mod scripted;
mod sse;
mod told;
mod wait;
mod wired;

pub use cancel::Cancel;
pub use compat::OpenaiCompat;
pub use context::{Context, Message, Picture};
pub use endpoint::{
    Credentials, CredentialsFault, Endpoint, NoCredentials, OutputLimit, Pass, Patience, Quirks,
    ReasoningReplay, SystemRole, ToolStreaming, UsageRequest,
};
pub use fault::ProviderFault;
pub use messages::Anthropic;
pub use model::{Listed, Model, Reply};
pub use plain::{Plain, PlainAnswer};
pub use responses::Responses;
pub use scripted::Scripted;
