//! Those that wait for their turn, in the order in which they start, apart by when they may: whom start times hold back costs nothing.

/// The queues of one rollout, by timetable. A place is an index into the queue of the forecast's input.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues(Vec<Queue>);

#[derive(Clone, Debug, Default)]
struct Queue {
    /// Rising.
    places: Vec<usize>,
    /// Before this one nobody waits.
    first: usize,
    /// The one whose turn it is.
    next: usize,
    is_open: bool,
}

impl Queue {
    fn head(&self) -> Option<usize> {
        let place = self.places.get(self.next).copied();
        place.filter(|_| self.is_open)
    }

    fn skip(&self, from: usize, waits: impl Fn(usize) -> bool) -> usize {
        let behind = self.places[from..].iter();
        from + behind.take_while(|place| !waits(**place)).count()
    }
}

impl Queues {
    /// Puts each place into the queue of its timetable.
    pub fn new(timetables: usize, places: impl Iterator<Item = usize>) -> Self {
        let mut queues = vec![Queue::default(); timetables];
        for (place, timetable) in places.enumerate() {
            queues[timetable].places.push(place);
        }
        Self(queues)
    }

    /// Anybody may wait again.
    pub fn restart(&mut self) {
        for queue in &mut self.0 {
            queue.first = 0;
        }
    }

    /// Goes back to the first of all that wait in the queues that are open.
    pub fn rewind(&mut self, is_open: impl Fn(usize) -> bool, waits: impl Fn(usize) -> bool) {
        for (timetable, queue) in self.0.iter_mut().enumerate() {
            queue.is_open = is_open(timetable);
            queue.first = queue.skip(queue.first, &waits);
            queue.next = queue.first;
        }
    }

    /// The place whose turn it is.
    pub fn head(&self) -> Option<usize> {
        self.0.iter().filter_map(Queue::head).min()
    }

    /// The places whose turn it is in each queue that is open, with its timetable.
    pub fn heads(&self) -> impl Iterator<Item = (usize, usize)> {
        let queues = self.0.iter().enumerate();
        queues.filter_map(|(timetable, queue)| Some((timetable, queue.head()?)))
    }

    /// Goes on to the next one that waits.
    pub fn advance(&mut self, waits: impl Fn(usize) -> bool) {
        let heads = self.0.iter_mut().filter(|queue| queue.head().is_some());
        if let Some(queue) = heads.min_by_key(|queue| queue.head()) {
            queue.next = queue.skip(queue.next + 1, &waits);
        }
    }
}
