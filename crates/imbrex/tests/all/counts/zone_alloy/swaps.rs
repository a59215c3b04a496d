//! Zone-Swap: which zones are candidates, and which partner one of them finds.

use std::collections::BTreeSet;

use super::model::{Place, Shape};

/// What of it can be chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    pub swap: bool,
    pub above: f64,
    pub nearest: bool,
    pub veto_reads: bool,
    /// Whether what is written before the first block is buffered counts.
    pub from_disk: bool,
    pub keep_partners: bool,
    pub keep_candidates: bool,
}

pub struct Swaps {
    choice: Choice,
    slots: u64,
    laps: u64,
    candidates: BTreeSet<u64>,
    partners: Vec<u64>,
    /// By native zone, the last write to it, counted from 1; and the last write before the lists were made.
    last: Vec<u64>,
    writes: u64,
    listed_at: u64,
    /// Whether a block was buffered yet.
    has_begun: bool,
    /// By native zone, blocks read less blocks written since the lists were made.
    read_more: Vec<i64>,
}

impl Place {
    /// How many realms lie between it and another place.
    fn distance(self, other: Self, shape: &Shape) -> u64 {
        let realm = |place| match place {
            Self::Conventional(zone) => zone / shape.conventional,
            Self::Sequential(zone) => zone / shape.sequential,
        };
        realm(self).abs_diff(realm(other))
    }
}

impl Swaps {
    pub fn new(choice: Choice, slots: u64, zones: u64) -> Self {
        let (last, read_more) = (vec![0; zones as usize], vec![0; zones as usize]);
        let (candidates, partners) = (BTreeSet::new(), Vec::new());
        let has_begun = choice.from_disk;
        Self { choice, slots, laps: 0, candidates, partners, last, writes: 0, listed_at: 0, has_begun, read_more }
    }

    /// It begins again, and has seen no write and no read.
    pub fn forget(&mut self) {
        (self.writes, self.listed_at) = (0, 0);
        self.last.fill(0);
        self.read_more.fill(0);
    }

    /// So many blocks of a zone, one after another, were written.
    pub fn written(&mut self, zone: u64, blocks: u64) {
        self.writes += 1;
        self.last[zone as usize] = self.writes;
        self.read_more[zone as usize] -= blocks as i64;
    }

    /// A block was read.
    pub fn read(&mut self, zone: u64) {
        self.read_more[zone as usize] += 1;
    }

    /// Makes the lists if the head has gone round since; `buffered` says how many blocks of a zone are.
    pub fn note(&mut self, laps: u64, place: &[Place], buffered: impl Fn(u64) -> u64) {
        self.has_begun = self.has_begun || (0..place.len() as u64).any(|zone| buffered(zone) > 0);
        if !self.has_begun {
            self.listed_at = self.writes;
        }
        if !self.choice.swap || laps == self.laps {
            return;
        }
        self.laps = laps;
        let is_candidate = |zone: u64| {
            let is_vetoed = self.choice.veto_reads && self.read_more[zone as usize] > 0;
            let share = buffered(zone) as f64 / self.slots as f64;
            let is_large = buffered(zone) > 0 && share > self.choice.above;
            let is_kept = self.choice.keep_candidates && self.candidates.contains(&zone);
            matches!(place[zone as usize], Place::Sequential(_)) && (is_large || is_kept) && !is_vetoed
        };
        self.candidates = (0..place.len() as u64).filter(|zone| is_candidate(*zone)).collect();
        self.partners = self.idle(place);
        self.listed_at = self.writes;
        self.read_more.fill(0);
    }

    /// The conventional zones that were not written since the lists were made: the last written at the end, and of those
    /// never written the outermost first.
    fn idle(&self, place: &[Place]) -> Vec<u64> {
        let mut idle: Vec<(u64, u64, u64)> = (0..)
            .zip(place)
            .filter_map(|(zone, place)| match place {
                Place::Conventional(at) => Some((self.last[zone as usize], *at, zone)),
                Place::Sequential(_) => None,
            })
            .filter(|(last, ..)| *last <= self.listed_at)
            .collect();
        idle.sort_unstable();
        idle.into_iter().map(|(.., zone)| zone).collect()
    }

    /// The zones that are swapped when their turn to leave the buffer comes.
    pub fn apart(&self) -> BTreeSet<u64> {
        if self.partners.is_empty() { BTreeSet::new() } else { self.candidates.clone() }
    }

    /// The turn of a candidate has come: its partner, if one is there. Those that are swapped are listed no more.
    pub fn take_partner(&mut self, zone: u64, place: &[Place], shape: &Shape) -> Option<u64> {
        let idle = self.idle(place);
        let is_partner = |partner: &u64| match self.choice.keep_partners {
            true => matches!(place[*partner as usize], Place::Conventional(_)),
            false => idle.contains(partner),
        };
        self.partners.retain(is_partner);
        let distance = |partner: &u64| place[*partner as usize].distance(place[zone as usize], shape);
        let partner = match self.choice.nearest {
            true => self.partners.iter().copied().min_by_key(distance),
            false => self.partners.first().copied(),
        };
        if partner.is_some() || !self.choice.keep_candidates {
            self.candidates.remove(&zone);
        }
        self.partners.retain(|other| Some(*other) != partner);
        partner
    }
}
