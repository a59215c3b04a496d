//! How a recording stands, in numbers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whether a recording goes on.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordingState {
    /// It does.
    #[default]
    Recording,
    /// The server has ended it.
    Ended,
    /// It could not go on.
    Failed,
}

/// How a recording stands.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecordingStatus {
    /// Whether it goes on.
    pub state: RecordingState,
    /// Requests in its files, the one that is being written included.
    pub requests: u64,
    /// Requests that are in none: there was no room for them in memory, or nothing could be written any more.
    pub lost: u64,
    /// Files that are complete.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_file: Option<PathBuf>,
    /// Why it could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
