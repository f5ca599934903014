//! The commands, one file each.

pub(crate) mod apply;
pub(crate) mod approve;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod fill;
pub(crate) mod fork;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod tasks;
pub(crate) mod undo;
pub(crate) mod usage;
pub(crate) mod workspace;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Give the agent a task, or go on with a session
    Run(run::RunArgs),
    /// Go on from an earlier turn of a session, in a new one
    Fork(fork::ForkArgs),
    /// Run a command in the cage that a tool call would get
    Exec(exec::ExecArgs),
    /// Show which sandbox layers hold on this machine
    Doctor(doctor::DoctorArgs),
    /// List, show and verify this project's sessions
    Sessions(sessions::SessionsArgs),
    /// List, read and stop the background tasks of a running session
    Tasks(tasks::TasksArgs),
    /// Answer the open question of a running session
    Approve(approve::ApproveArgs),
    /// Show the rules in force, and why they decide as they do
    Policy(policy::PolicyArgs),
    /// Show what a session changed
    Diff(diff::DiffArgs),
    /// Choose what of a session's work comes into the project
    Review(review::ReviewArgs),
    /// Carry what the agent committed into the project
    Apply(apply::ApplyArgs),
    /// Take the last work out of the project again
    Undo(undo::UndoArgs),
    /// Put back in what was undone last
    Redo(undo::UndoArgs),
    /// Show what is kept of sessions and hand-backs, and clear it
    Workspace(workspace::WorkspaceArgs),
    /// Show what fills the conversation of a session
    Context(fill::FillArgs),
    /// Show the models that can be chosen, with their context and price
    Models(models::ModelsArgs),
    /// Show what sessions used, in tokens and money
    Usage(usage::UsageArgs),
    /// Show the plan of a session
    Plan(plan::PlanArgs),
    /// List, read and remove the notes that agents wrote for later sessions
    Memory(memory::MemoryArgs),
    /// Show every setting in force and where it comes from
    Config(config::ConfigArgs),
    /// Sign in at a provider, or store its key
    Login(login::LoginArgs),
    /// Forget what signing in stored
    Logout(logout::LogoutArgs),
    /// Show what Chock does, on a model that is built in
    Demo(demo::DemoArgs),
    /// Print the completions for a shell
    Completions(completions::CompletionsArgs),
}
