//! When cleaning steps are made: until a blocked write fits, and in idle time.

use super::content::Host;
use super::error::Fault;
use super::lookahead::Lookahead;
use super::queue::Owner;
use super::simulation::Simulation;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{Pressure, Step};

/// Cleaning steps in a row without the blocked write taking a block, or without idle time passing, after which the
/// layer is taken to go round in circles. A step moves a block at least, and no job of a layer moves 64 GiB for one
/// write.
const MAX_STEPS: u32 = 1 << 24;

/// A blocked write, and the requests behind it.
pub(super) struct Meanwhile<'a, 'b> {
    pub blocked: Extent<Lba>,
    pub ahead: &'a mut Lookahead<'b>,
}

impl Simulation {
    /// Cleans until the layer says that the blocked write may be tried again.
    pub(super) fn make_room(
        &mut self,
        whole: Extent<Lba>,
        blocked: Extent<Lba>,
        steps: &mut u32,
        mut ahead: Option<&mut Lookahead<'_>>,
    ) -> Result<(), Box<Fault>> {
        self.blocked.episodes += 1;
        loop {
            *steps += 1;
            if *steps > MAX_STEPS {
                return Err(Fault::Endless { steps: MAX_STEPS }.into());
            }
            self.machine.wait_for_room()?;
            if let Some(ahead) = &mut ahead {
                self.land(ahead);
                if self.facts.looks_at_waiting {
                    ahead.waiting(self.machine.now_ns, &mut self.waiting);
                }
            }
            let meanwhile = ahead.as_deref_mut().map(|ahead| Meanwhile { blocked: whole, ahead });
            let given_back = self.machine.given_back;
            let (step, took_ns) = self.clean(Pressure::Blocked(blocked), meanwhile)?;
            self.blocked.steps += 1;
            // Steps of a stack that is hours behind overlap, and their times add up to centuries.
            self.blocked.ns = self.blocked.ns.saturating_add(took_ns);
            match step {
                Step::Done => return Ok(()),
                Step::More => {
                    if let Some(ahead) = &mut ahead {
                        self.serve_waiting_reads(whole, ahead)?;
                    }
                }
                Step::Hold => {}
                Step::Wait => {
                    if !self.machine.give_back(&mut *self.layer, given_back)? {
                        return Err(Fault::Stuck.into());
                    }
                }
                Step::Nothing => return Err(Fault::Full { at: blocked }.into()),
            }
        }
    }

    fn serve_waiting_reads(&mut self, blocked: Extent<Lba>, ahead: &mut Lookahead<'_>) -> Result<(), Box<Fault>> {
        loop {
            self.machine.wait_for_room()?;
            self.land(ahead);
            let Some(read) = ahead.take_read(self.machine.now_ns, blocked) else { return Ok(()) };
            self.serve(&read, ahead)?;
        }
    }

    /// How long after the last completion nothing is left to clean, if the layer is to have idle time then.
    pub(super) fn rest_seconds(&mut self) -> Result<Option<f64>, Box<Fault>> {
        if !self.options.rest {
            return Ok(None);
        }
        let done_ns = self.machine.latest_ns();
        Ok(Some(self.rest()?.saturating_sub(done_ns) as f64 / 1e9))
    }

    /// Lets the layer have idle time until nothing is left to clean, here and on the devices of a stack; when that is
    /// done.
    pub(super) fn rest(&mut self) -> Result<u64, Box<Fault>> {
        self.machine.drain()?;
        self.machine.scheduled = None;
        self.machine.now_ns = self.machine.latest_ns();
        let own_ns = self.use_idle_time(u64::MAX)?;
        let below = self.machine.disk.below_mut().iter_mut();
        below.map(|device| device.rest()).try_fold(own_ns, |latest_ns, ns| Ok(latest_ns.max(ns?)))
    }

    /// Offers the layer the time until `until_ns`; when the last of its steps ended that moved something, or else when
    /// that time began.
    pub(super) fn use_idle_time(&mut self, until_ns: u64) -> Result<u64, Box<Fault>> {
        let since_ns = self.machine.now_ns;
        let mut worked_until_ns = since_ns;
        let mut is_growing = self.is_growing();
        if !self.options.idle && !is_growing {
            return Ok(worked_until_ns);
        }
        self.waiting.clear();
        let (mut idle_steps, mut is_held) = (0, false);
        for _ in 0..MAX_STEPS {
            let begin_ns =
                self.machine.now_ns.max(if is_growing { since_ns } else { self.idle_from(since_ns, until_ns) });
            if begin_ns >= until_ns && !is_held {
                break;
            }
            self.machine.now_ns = begin_ns;
            let given_back = self.machine.given_back;
            let (step, took_ns) = self.clean(Pressure::Idle { ns: self.machine.now_ns - since_ns }, None)?;
            if !self.plan.is_empty() {
                idle_steps += 1;
                worked_until_ns = self.machine.now_ns;
            }
            self.idle.ns += took_ns;
            if is_growing && let Some(growing) = &mut self.growing {
                growing.stepped(took_ns, self.machine.now_ns, until_ns);
                is_growing = self.is_growing();
                is_held = is_growing && step == Step::Hold;
            }
            let goes_on = match step {
                Step::More | Step::Hold => true,
                Step::Wait => self.machine.give_back(&mut *self.layer, given_back)?,
                // A layer that is done for now may have a use for a longer idle time.
                Step::Done | Step::Nothing => self.idle_from(since_ns, until_ns) > self.machine.now_ns,
            };
            if !goes_on {
                break;
            }
        }
        self.idle.episodes += u64::from(idle_steps > 0);
        self.idle.steps += idle_steps;
        Ok(worked_until_ns)
    }

    /// When idle time that began at `since_ns` is first offered. The layer, which may take a while to say, is asked only
    /// if the time until `until_ns` is long enough by the options.
    fn idle_from(&self, since_ns: u64, until_ns: u64) -> u64 {
        let earliest_ns = since_ns.saturating_add(self.options.idle_after_ns);
        if earliest_ns >= until_ns {
            return earliest_ns;
        }
        earliest_ns.max(since_ns.saturating_add(self.layer.idle_after_ns()))
    }

    /// One cleaning step, performed whole; returns how long it took. `meanwhile` are the blocked write and the requests
    /// that may be served while the step is under way, if the layer allows that.
    pub(super) fn clean(
        &mut self,
        why: Pressure,
        meanwhile: Option<Meanwhile<'_, '_>>,
    ) -> Result<(Step, u64), Box<Fault>> {
        let mut begun_ns = self.machine.now_ns;
        self.mark_cleaning(true);
        self.fetch_map_for_cleaning()?;
        self.plan.clear();
        let step = self.layer.clean(why, &self.waiting, &mut self.plan);
        if step == Step::Hold {
            self.machine.drain()?;
            begun_ns = self.machine.now_ns;
        }
        let outer = self.machine.plan_for(Owner::Cleaning);
        self.machine.perform(&mut *self.layer, &self.plan, Host::Nobody)?;
        self.settle_map()?;
        self.machine.plan_for(outer);
        self.mark_cleaning(false);
        if self.options.verify && self.options.check_every == 1 {
            self.layer.check()?;
        }
        if self.machine.is_cleaning() {
            self.finish_step(meanwhile.filter(|_| step == Step::More))?;
        }
        Ok((step, self.machine.now_ns - begun_ns))
    }
}
