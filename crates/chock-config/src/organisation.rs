//! `org-policy.zon`: what an organisation holds every project to.

use std::path::{Path, PathBuf};

use chock_policy::Rule;
use chock_zon::{Entry, Place, Spanned};
use minisign_verify::{PublicKey, Signature};

use crate::audit::{Sink, required_sinks};
use crate::budget::{Budget, BudgetBlock};
use crate::denied::{DENIED_MAX, Denied};
use crate::fault::Faults;
use crate::file::{FileFault, Links, read_text};
use crate::limits::LimitsBlock;
use crate::project::list;
use crate::source::{Names, Source};

/// The newest form of the file that is read.
const VERSION: u32 = 1;

/// The longest `issuer` and `subject`, in bytes. Source: the format's earlier version.
const NAME_BYTES_MAX: usize = 256;

/// An organisation's bundle. Everything in it only narrows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Organisation {
    /// Where it says its version.
    pub place: Place,
    /// Whose bundle it is; empty where it does not say.
    pub issuer: String,
    /// Whom it is for; empty where it does not say.
    pub subject: String,
    /// When it was made, in milliseconds since 1970; 0 where it does not say.
    pub issued_ms: u64,
    /// When it should have been replaced, in milliseconds since 1970; 0 is never. It binds after.
    pub expires_ms: u64,
    /// The ceiling, at most [`RULES_MAX`](chock_policy::RULES_MAX) rows.
    pub rules: Vec<Spanned<Rule>>,
    /// The most that a session may spend.
    pub budget: Option<Budget>,
    /// The most that a call may use.
    pub limits: LimitsBlock,
    /// What no tool may read, in every project.
    pub deny_read: Vec<Spanned<Denied>>,
    /// Where every session's log goes as well; all of them are required.
    pub sinks: Vec<Sink>,
}

/// What a person's `config.zon` says of the bundle of their organisation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrganisationBlock {
    /// Whether nothing runs without one.
    pub required: bool,
    /// The minisign key that must have signed it.
    pub public_key: Option<String>,
}

/// Why a bundle stops the start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrganisationFault {
    /// It must be there and is not.
    #[error("the organisation's bundle `{}` is required and not there", .path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// It or its signature cannot be read.
    #[error(transparent)]
    File(#[from] FileFault),
    /// It says something that is not understood, so that it could not be kept to.
    #[error("the organisation's bundle cannot be kept to:\n{0}")]
    Wrong(Faults),
    /// It must be signed and is not.
    #[error("the organisation's bundle must be signed, and there is no `{}`", .path.display())]
    Unsigned {
        /// Where the signature would be.
        path: PathBuf,
    },
    /// The signature is not one of this text by this key.
    #[error("the signature `{}` is not one of the organisation's bundle by the key of config.zon", .path.display())]
    Signature {
        /// The signature.
        path: PathBuf,
    },
    /// The key of `config.zon` is none.
    #[error("`organisation.public_key` of config.zon is no minisign key")]
    Key,
}

const FIELDS: Names = Names {
    known: &[
        "version",
        "issuer",
        "subject",
        "issued_ms",
        "expires_ms",
        "rules",
        "budget",
        "limits",
        "deny_read",
        "sinks",
    ],
    later: &["subagents", "nix", "search", "sandbox"],
};

const BLOCK: Names = Names { known: &["required", "public_key"], later: &["path"] };

impl OrganisationBlock {
    pub(crate) fn read<'tree>(
        entries: impl Iterator<Item = Entry<'tree>>,
        source: &mut Source<'_>,
    ) -> Self {
        let mut block = Self::default();
        for entry in entries {
            match entry.name() {
                "required" => block.required = source.read(entry.value()).unwrap_or(true),
                "public_key" => {
                    block.public_key = source.read(entry.value());
                    let key = block.public_key.as_deref().map(PublicKey::from_base64);
                    if let Some(Err(_)) = key {
                        source.refuse(entry.value().anchor(), "this is no minisign public key");
                    }
                }
                _ => source.refuse_name(entry, &BLOCK, "field of `organisation`"),
            }
        }
        block
    }
}

impl Organisation {
    /// Opens the bundle at `path`, with its signature beside it where a key is named; none when
    /// there is no file and none is required.
    ///
    /// # Errors
    ///
    /// It cannot be kept to as it was meant. Then nothing may start.
    pub fn open(
        path: &Path,
        block: &OrganisationBlock,
    ) -> Result<Option<(Self, String)>, OrganisationFault> {
        let Some(text) = read_text(path, Links::Follow)? else {
            if block.required {
                return Err(OrganisationFault::Missing { path: path.to_owned() });
            }
            return Ok(None);
        };
        if let Some(key) = &block.public_key {
            check_signature(path, &text, key)?;
        }
        let name = path.display().to_string();
        let organisation = Self::read(&name, &text).map_err(OrganisationFault::Wrong)?;
        Ok(Some((organisation, text)))
    }

    /// Reads the `text` of a file that people know as `name`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let mut bundle = Self::default();
        let mut version = None;
        if let Some(tree) = source.parse() {
            for entry in tree.root().entries() {
                bundle.take(entry, &mut version, &mut source);
            }
            if version.is_none() && !source.has_faults() {
                source.refuse(tree.root().anchor(), "a bundle says its `.version = 1`");
            }
        }
        source.finish(bundle)
    }

    fn take(&mut self, entry: Entry<'_>, version: &mut Option<u32>, source: &mut Source<'_>) {
        let node = entry.value();
        match entry.name() {
            "version" => {
                self.place = entry.name_place();
                *version = source.read(node);
                if version.is_some_and(|version| version == 0 || version > VERSION) {
                    let message =
                        format!("this version of chock reads bundles of version {VERSION}");
                    source.refuse(node.anchor(), message);
                }
            }
            "issuer" => self.issuer = name(entry, source),
            "subject" => self.subject = name(entry, source),
            "issued_ms" => self.issued_ms = source.read(node).unwrap_or_default(),
            "expires_ms" => self.expires_ms = source.read(node).unwrap_or_default(),
            "rules" => self.rules = crate::rules::rules(node, source),
            "budget" => {
                let block = source.read::<BudgetBlock>(node);
                self.budget = block.and_then(|block| block.check(node.anchor(), source));
            }
            "limits" => {
                let block = source.read::<LimitsBlock>(node).unwrap_or_default();
                self.limits = block.check(source);
            }
            "sinks" => self.sinks = required_sinks(node, source),
            "deny_read" => self.deny_read = list(node, DENIED_MAX, "rows of `deny_read`", source),
            _ => source.refuse_name(entry, &FIELDS, "field"),
        }
    }

    /// Says whether the bundle should have been replaced by now.
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms != 0 && self.expires_ms <= now_ms
    }

    /// Says why a project's budget may not be spent, if it is above this bundle's.
    #[must_use]
    pub fn refuses_budget(&self, wanted: Option<&Budget>) -> Option<String> {
        let (ceiling, wanted) = (self.budget.as_ref()?, wanted?);
        let above = |what: &dyn std::fmt::Display, most: &dyn std::fmt::Display| {
            Some(format!(
                "the budget of chock.zon is {what}, and the organisation's bundle allows {most}"
            ))
        };
        match (&ceiling.cost, &wanted.cost) {
            (Some(most), Some(cost))
                if most.currency != cost.currency || cost.amount > most.amount =>
            {
                return above(cost, most);
            }
            (Some(most), None) if wanted.tokens.is_some() && ceiling.tokens.is_none() => {
                return above(wanted, most);
            }
            _ => {}
        }
        match (ceiling.tokens, wanted.tokens) {
            (Some(most), Some(tokens)) if tokens > most => {
                above(&format!("{tokens} tokens"), &format!("{most} tokens"))
            }
            _ => None,
        }
    }
}

/// Reads a name that is only shown and recorded.
fn name(entry: Entry<'_>, source: &mut Source<'_>) -> String {
    let text: String = source.read(entry.value()).unwrap_or_default();
    if text.len() > NAME_BYTES_MAX || text.contains(char::is_control) {
        let message = format!("`{}` is one line of at most {NAME_BYTES_MAX} bytes", entry.name());
        source.refuse(entry.value().anchor(), message);
    }
    text
}

/// Checks the minisign signature that lies beside a bundle.
fn check_signature(path: &Path, text: &str, key: &str) -> Result<(), OrganisationFault> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".minisig");
    let beside = PathBuf::from(beside);
    let key = PublicKey::from_base64(key).map_err(|_| OrganisationFault::Key)?;
    let Some(signature) = read_text(&beside, Links::Follow)? else {
        return Err(OrganisationFault::Unsigned { path: beside });
    };
    let good = Signature::decode(&signature)
        .and_then(|signature| key.verify(text.as_bytes(), &signature, false));
    good.map_err(|_| OrganisationFault::Signature { path: beside })
}
