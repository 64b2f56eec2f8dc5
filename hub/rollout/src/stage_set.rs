//! Stages that a cluster goes through one after the other.

use crate::Stage;

/// A set of stages, walked in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StageSet(u8);

impl StageSet {
    /// With this stage as well.
    #[must_use]
    pub fn with(self, stage: Stage) -> Self {
        Self(self.0 | 1 << stage as u8)
    }

    /// Without this stage.
    #[must_use]
    pub fn without(self, stage: Stage) -> Self {
        Self(self.0 & !(1 << stage as u8))
    }

    /// The first of them.
    pub fn first(self) -> Option<Stage> {
        Stage::ALL.get(self.0.trailing_zeros() as usize).copied()
    }

    /// Those behind the first one.
    #[must_use]
    pub fn rest(self) -> Self {
        Self(self.0 & self.0.wrapping_sub(1))
    }
}

impl StageSet {
    /// All of them, in their order.
    pub fn iter(self) -> impl Iterator<Item = Stage> {
        std::iter::successors(Some(self), |stages| Some(stages.rest())).map_while(Self::first)
    }
}

impl FromIterator<Stage> for StageSet {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Self {
        stages.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_come_in_their_order_whatever_the_order_in_which_they_were_put_in() {
        let stages = StageSet::default().with(Stage::PostAction).with(Stage::Platform);
        assert_eq!(
            stages.iter().collect::<Vec<_>>(),
            [Stage::Platform, Stage::PostAction]
        );
        assert_eq!(stages.rest().first(), Some(Stage::PostAction));
        assert_eq!(StageSet::default().first(), None);
        assert_eq!(Stage::ALL.into_iter().collect::<StageSet>().iter().count(), 4);
    }
}
