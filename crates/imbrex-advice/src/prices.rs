//! What disks cost: prices of bytes, each as a multiple of that of a conventional disk.

use anyhow::Result;
use imbrex_terminal::table::number;

/// What is paid for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Goods {
    /// A byte of a conventional disk, or of conventional zones.
    Conventional,
    /// A byte of a shingled disk.
    Shingled,
    /// A byte of an interlaced disk.
    Interlaced,
    /// A byte of a hybrid disk.
    Hybrid,
    /// A byte of flash.
    Flash,
    /// A byte of memory.
    Memory,
}

impl Goods {
    const ALL: [Self; 6] =
        [Self::Conventional, Self::Shingled, Self::Interlaced, Self::Hybrid, Self::Flash, Self::Memory];

    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conventional => "conventional",
            Self::Shingled => "shingled",
            Self::Interlaced => "interlaced",
            Self::Hybrid => "hybrid",
            Self::Flash => "flash",
            Self::Memory => "memory",
        }
    }

    /// The goods of a name.
    ///
    /// # Errors
    /// When there are none.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let of = Self::ALL.into_iter().find(|goods| goods.name() == name);
        of.ok_or_else(|| format!("nothing is called '{name}'; known are {}", known()))
    }
}

/// The price of a byte of each of [`Goods`].
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Prices([f64; Goods::ALL.len()]);

impl Default for Prices {
    /// Orders of magnitude, which a buyer replaces: tracks that overlap hold a fifth to a quarter more, flash costs some
    /// six times as much as a disk, and memory two hundred times as much.
    fn default() -> Self {
        Self([1.0, 0.85, 0.8, 0.9, 6.0, 200.0])
    }
}

impl Prices {
    /// The usual prices, and these instead of some of them.
    pub fn with(own: &[Price]) -> Self {
        let mut prices = Self::default();
        own.iter().for_each(|Price(goods, ratio)| prices.0[*goods as usize] = *ratio);
        prices
    }

    /// That of a byte.
    pub fn of(&self, goods: Goods) -> f64 {
        self.0[goods as usize]
    }

    /// All of them in words.
    pub fn shown(&self) -> String {
        let each = |goods: &Goods| format!("{} {}", goods.name(), number(self.of(*goods)));
        Goods::ALL.iter().skip(1).map(each).collect::<Vec<_>>().join(", ")
    }
}

/// What a byte of something costs: `GOODS=RATIO`.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Price(Goods, f64);

impl Price {
    /// Reads `GOODS=RATIO`.
    ///
    /// # Errors
    /// When it is not written like that.
    pub fn read(text: &str) -> Result<Self, String> {
        let remedy = || "write it as GOODS=RATIO, such as flash=5".to_owned();
        let (name, ratio) = text.split_once('=').ok_or_else(remedy)?;
        let ratio = ratio.parse::<f64>().ok().filter(|ratio| ratio.is_finite() && *ratio >= 0.0);
        Ok(Self(Goods::named(name)?, ratio.ok_or_else(remedy)?))
    }
}

/// The most that may be bought of something: `GOODS=SIZE`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Flash, memory or conventional space.
    pub goods: Goods,
    /// How many bytes of it.
    pub bytes: u64,
}

impl Budget {
    /// Reads `GOODS=SIZE`.
    ///
    /// # Errors
    /// When it is not written like that, or is of something that only whole disks have.
    pub fn read(text: &str) -> Result<Self, String> {
        let remedy = || "write it as flash=SIZE, conventional=SIZE or memory=SIZE, such as flash=64GiB".to_owned();
        let (name, size) = text.split_once('=').ok_or_else(remedy)?;
        let goods = Goods::named(name)?;
        if !matches!(goods, Goods::Flash | Goods::Conventional | Goods::Memory) {
            return Err(remedy());
        }
        let bytes = imbrex_runs::values::size(size)?;
        Ok(Self { goods, bytes })
    }
}

/// How much of `goods` may be bought at most, if that was said.
pub fn most(budgets: &[Budget], goods: Goods) -> Option<u64> {
    budgets.iter().filter(|budget| budget.goods == goods).map(|budget| budget.bytes).min()
}
