//! The roles of blocks, by times.

use std::collections::{BTreeMap, HashMap};

use super::readings::Readings;

#[derive(Copy, Clone, PartialEq, Debug)]
enum Role {
    Sup,
    Lup,
    Ghost,
    Shadow,
}

/// R by time of the last write, Q by order of leaving, and ghosts and shadows in order of becoming that.
#[derive(Default)]
pub struct Roles {
    now: i64,
    role: HashMap<u64, Role>,
    r_time: HashMap<u64, i64>,
    r: BTreeMap<i64, u64>,
    q_time: HashMap<u64, i64>,
    pub q: BTreeMap<i64, u64>,
    gone_time: HashMap<u64, i64>,
    gone: BTreeMap<i64, u64>,
    sup_cap: usize,
    limit: f64,
    to_mru: bool,
    literal: bool,
    on_hit: bool,
    plain: bool,
}

impl Roles {
    pub fn new(readings: &Readings) -> Self {
        Self {
            to_mru: readings.is("demote_to", "mru"),
            literal: readings.is("demote_when", "literal"),
            on_hit: readings.is("demote_when", "hit"),
            plain: !readings.switch("phase_two", true),
            ..Self::default()
        }
    }

    fn tick(&mut self) -> i64 {
        self.now += 1;
        self.now
    }

    fn out_of_r(&mut self, block: u64) {
        if let Some(time) = self.r_time.remove(&block) {
            self.r.remove(&time);
        }
    }

    fn top_of_r(&mut self, block: u64) {
        self.out_of_r(block);
        let time = self.tick();
        self.r.insert(time, block);
        self.r_time.insert(block, time);
    }

    fn out_of_q(&mut self, block: u64) {
        if let Some(time) = self.q_time.remove(&block) {
            self.q.remove(&time);
        }
    }

    fn queue(&mut self, block: u64, leaves_last: bool) {
        self.out_of_q(block);
        let time = if leaves_last { self.tick() } else { -self.tick() };
        self.q.insert(time, block);
        self.q_time.insert(block, time);
    }

    fn forget_gone(&mut self, block: u64) {
        if let Some(time) = self.gone_time.remove(&block) {
            self.gone.remove(&time);
            self.role.remove(&block);
            self.out_of_r(block);
        }
    }

    fn sups(&self) -> usize {
        self.role.len() - self.q.len() - self.gone.len()
    }

    fn prune(&mut self) {
        while let Some((_, &block)) = self.r.first_key_value() {
            match self.role[&block] {
                Role::Sup => return,
                Role::Lup => self.out_of_r(block),
                Role::Ghost | Role::Shadow => self.forget_gone(block),
            }
        }
    }

    pub fn demote(&mut self) {
        if let Some((_, block)) = self.r.pop_first() {
            self.r_time.remove(&block);
            self.role.insert(block, Role::Lup);
            self.queue(block, self.to_mru);
            self.prune();
        }
    }

    fn demote_surplus(&mut self) {
        while !self.literal && self.sups() > self.sup_cap {
            self.demote();
        }
    }

    pub fn hit(&mut self, block: u64) {
        if self.plain {
            return self.queue(block, true);
        }
        let was_in_r = self.r_time.contains_key(&block);
        self.top_of_r(block);
        if self.role.insert(block, Role::Sup) == Some(Role::Lup) {
            self.out_of_q(block);
            if (self.literal || self.on_hit) && was_in_r {
                self.demote();
            }
            self.demote_surplus();
        }
        self.prune();
    }

    pub fn known(&self, block: u64) -> bool {
        self.gone_time.contains_key(&block)
    }

    pub fn admit(&mut self, block: u64) -> bool {
        if self.plain {
            self.role.insert(block, Role::Lup);
            self.queue(block, true);
            return false;
        }
        let was = self.role.get(&block).copied();
        self.forget_gone(block);
        let becomes_sup = was == Some(Role::Ghost) || (was.is_none() && self.sups() < self.sup_cap);
        self.top_of_r(block);
        self.role.insert(block, if becomes_sup { Role::Sup } else { Role::Lup });
        if !becomes_sup {
            self.queue(block, true);
        }
        self.demote_surplus();
        self.prune();
        was == Some(Role::Ghost)
    }

    /// Makes room for one more that is gone; says whether there is any.
    fn room_for_gone(&mut self) -> bool {
        if self.plain || (self.limit as u64) == 0 {
            return false;
        }
        while self.gone.len() as u64 + 1 > self.limit as u64 {
            let (_, &oldest) = self.gone.first_key_value().expect("the limit is above zero");
            self.forget_gone(oldest);
        }
        true
    }

    fn is_gone(&mut self, block: u64, role: Role) {
        let time = self.tick();
        self.gone.insert(time, block);
        self.gone_time.insert(block, time);
        self.role.insert(block, role);
    }

    pub fn refuse(&mut self, block: u64) {
        if self.sups() > 0 && !self.known(block) && self.room_for_gone() {
            self.top_of_r(block);
            self.is_gone(block, Role::Shadow);
        }
    }

    pub fn leave(&mut self, block: u64) {
        self.out_of_q(block);
        self.role.remove(&block);
        if self.r_time.contains_key(&block) {
            if self.room_for_gone() {
                self.is_gone(block, Role::Ghost);
            } else {
                self.out_of_r(block);
            }
        }
    }

    pub fn forget(&mut self, block: u64) {
        self.out_of_q(block);
        self.out_of_r(block);
        self.role.remove(&block);
        self.prune();
    }

    pub fn resize(&mut self, slots: u64, lambda: f64, most: f64) {
        let kept = ((lambda * slots as f64).round() as u64).max(1).min(slots);
        self.sup_cap = if self.plain { 0 } else { (slots - kept) as usize };
        self.limit = if most.is_finite() { (most * slots as f64).floor() } else { f64::MAX };
        while self.sups() > self.sup_cap {
            self.demote();
        }
        while self.gone.len() as f64 > self.limit {
            let (_, &oldest) = self.gone.first_key_value().expect("there is one");
            self.forget_gone(oldest);
        }
    }
}
