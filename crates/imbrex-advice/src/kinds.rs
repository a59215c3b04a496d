//! Kinds of disk, the layers for each, and what a buyer may vary.

use anyhow::{Result, bail};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::{self, Family, LayerInfo};
use imbrex::recording::Recording;
use imbrex_runs::case::named_drive;

use crate::prices::Goods;

/// A kind of disk, and how it is managed.
pub struct Kind {
    /// The name in results.
    pub name: &'static str,
    /// It in words, behind an article.
    pub words: &'static str,
    /// The preset that stands for it.
    pub drive: &'static str,
    /// What a byte of the disk is paid as.
    pub disk: Goods,
    /// What the buffer of its layers lies on, if they have one.
    pub buffer: Option<Goods>,
    /// Whether one can buy it.
    pub is_sold: bool,
    /// Whether its layer runs in the host, whose memory it takes then.
    pub takes_memory: bool,
    /// What a buyer may vary.
    pub room: Room,
    /// Fields of its layers that are always set.
    pub set: &'static [&'static str],
    layers: Layers,
}

/// The layers of a kind.
enum Layers {
    /// This one.
    One(&'static str),
    /// Those of a family that are for these recordings.
    Of(Family, &'static [Recording]),
}

/// What a buyer may vary beside the kind of disk.
pub enum Room {
    /// Nothing.
    Fixed,
    /// The buffer, or the flash: percent of the workload's range, and what that is varied by.
    Buffer(f64, &'static [f64]),
    /// How full the disk is, which is a field of its layers; here with less and less data on it.
    Field(&'static str, &'static [&'static str]),
}

const CONVENTIONAL: Kind = Kind {
    name: "conventional",
    words: "conventional disk",
    drive: "exos-x18z",
    disk: Goods::Conventional,
    buffer: None,
    is_sold: true,
    takes_memory: true,
    room: Room::Fixed,
    set: &[],
    layers: Layers::One("conventional"),
};

/// All of them. The first is what the others are held against.
pub const KINDS: [Kind; 8] = [
    CONVENTIONAL,
    Kind {
        name: "host-managed",
        words: "host-managed shingled disk with a buffer in conventional zones",
        disk: Goods::Shingled,
        buffer: Some(Goods::Conventional),
        // As much as such drives have.
        room: Room::Buffer(1.0, &[0.1, 0.3]),
        layers: Layers::Of(Family::Shingled, &[Recording::Zoned, Recording::WholeZones]),
        ..CONVENTIONAL
    },
    Kind {
        name: "log",
        words: "host-managed shingled disk that is written as a log",
        disk: Goods::Shingled,
        room: Room::Field("spare_fraction", &["0.07", "0.3"]),
        layers: Layers::Of(Family::Banded, &[Recording::Zoned]),
        ..CONVENTIONAL
    },
    Kind {
        name: "drive-managed",
        words: "drive-managed shingled disk",
        drive: "st8000as0002",
        disk: Goods::Shingled,
        takes_memory: false,
        layers: Layers::Of(Family::Banded, &[Recording::Banded]),
        ..CONVENTIONAL
    },
    Kind {
        name: "flash cache",
        words: "drive-managed shingled disk behind a flash cache",
        drive: "st8000as0002",
        disk: Goods::Shingled,
        buffer: Some(Goods::Flash),
        room: Room::Buffer(1.0, &[0.1, 0.3, 3.0, 10.0]),
        // As one buys it; the default is that of a paper.
        set: &["flash_drive=ssd-sata"],
        layers: Layers::Of(Family::Ssd, &[Recording::Cached]),
        ..CONVENTIONAL
    },
    Kind {
        name: "interlaced",
        words: "interlaced disk",
        drive: "imr-tracklace",
        disk: Goods::Interlaced,
        is_sold: false,
        room: Room::Field("utilisation", &["0.9", "0.8", "0.6"]),
        layers: Layers::Of(Family::Interlaced, &[Recording::Interlaced]),
        ..CONVENTIONAL
    },
    Kind {
        name: "hybrid",
        words: "hybrid disk",
        drive: "zonealloy",
        disk: Goods::Hybrid,
        buffer: Some(Goods::Conventional),
        is_sold: false,
        room: Room::Buffer(0.3, &[0.1, 0.3]),
        layers: Layers::Of(Family::Hybrid, &[Recording::Hybrid]),
        ..CONVENTIONAL
    },
    Kind {
        name: "flash",
        words: "flash drive",
        drive: "ssd-sata",
        disk: Goods::Flash,
        takes_memory: false,
        layers: Layers::Of(Family::Ssd, &[Recording::Flash]),
        ..CONVENTIONAL
    },
];

/// A kind of disk on a drive.
pub struct Disk {
    /// The kind.
    pub kind: &'static Kind,
    /// The drive, before it is made as large as a workload needs.
    pub drive: DrivePreset,
    /// How the drive is named on the command line.
    pub named: String,
}

impl Disk {
    /// The name of the drive that the disk is held against, as if its tracks did not overlap: its own, but flash has no
    /// tracks.
    pub fn yardstick(&self) -> &str {
        if self.kind.disk == Goods::Flash { CONVENTIONAL.drive } else { &self.named }
    }

    /// The conventional disk of a drive.
    ///
    /// # Errors
    /// When there is no such drive.
    pub fn conventional(named: &str) -> Result<Self> {
        Ok(Self { kind: &KINDS[0], drive: named_drive(named)?, named: named.to_owned() })
    }
}

impl Kind {
    /// Its layers.
    pub fn layers(&self) -> Vec<&'static LayerInfo> {
        let is_own = |info: &&LayerInfo| match self.layers {
            Layers::One(name) => info.name == name,
            Layers::Of(family, recordings) => info.family == Some(family) && recordings.contains(&info.recording),
        };
        layers::known().filter(is_own).collect()
    }

    /// Whether a drive can be of this kind. Any disk can be thought of as a conventional one.
    fn fits(&self, media: &MediaSpec) -> bool {
        let recordings: &[Recording] = match self.layers {
            Layers::One(_) => return !matches!(media, MediaSpec::Flash { .. }),
            Layers::Of(_, recordings) => recordings,
        };
        let of = match media {
            MediaSpec::Conventional { .. } => return false,
            MediaSpec::Zoned { .. } => [Recording::Zoned, Recording::WholeZones],
            MediaSpec::Banded { .. } => [Recording::Banded, Recording::Cached],
            MediaSpec::Interlaced(_) => [Recording::Interlaced; 2],
            MediaSpec::Hybrid(_) => [Recording::Hybrid; 2],
            MediaSpec::Flash { .. } => [Recording::Flash; 2],
        };
        recordings.iter().any(|recording| of.contains(recording))
    }
}

/// What there is to choose from: every kind on the drive that stands for it, or what these drives can be.
///
/// # Errors
/// When there is no such drive.
pub fn disks(named: &[String]) -> Result<Vec<Disk>> {
    if named.is_empty() {
        let of = |kind: &'static Kind| Ok(Disk { kind, drive: named_drive(kind.drive)?, named: kind.drive.to_owned() });
        return KINDS.iter().map(of).collect();
    }
    let mut disks: Vec<Disk> = Vec::new();
    for (at, name) in named.iter().enumerate() {
        if named[..at].contains(name) {
            bail!("--disk {name}: it is named twice");
        }
        let drive = named_drive(name)?;
        // One conventional disk is enough to be recommended; each drive is held against its own.
        let is_missing =
            |kind: &Kind| kind.name != CONVENTIONAL.name || disks.iter().all(|disk| disk.kind.name != kind.name);
        let kinds: Vec<_> = KINDS.iter().filter(|kind| kind.fits(&drive.media) && is_missing(kind)).collect();
        disks.extend(kinds.into_iter().map(|kind| Disk { kind, drive: drive.clone(), named: name.clone() }));
    }
    Ok(disks)
}
