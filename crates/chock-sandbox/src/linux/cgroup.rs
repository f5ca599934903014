//! Memory and process limits of a whole session, where a control group can be had.

use super::plan::Plan;
use crate::Applied;

/// Joins a control group of its own with everything that this process will start.
pub(super) fn join(_: &Plan) -> Option<Applied> {
    None
}
