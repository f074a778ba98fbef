//! Computes how large a request may be before the history is summarised.

/// The window that is assumed for a model whose window is unknown.
const UNKNOWN_WINDOW: u64 = 12_000;

/// Returns the budget of a request in tokens: the configured one, or else what the window allows beside an answer
/// of `max_tokens`, less a tenth, because counting is approximate.
pub fn input_budget(set: Option<u64>, window: Option<u64>, max_tokens: u64) -> u64 {
    match (set, window) {
        (Some(tokens), _) => tokens,
        (None, None) => UNKNOWN_WINDOW,
        (None, Some(window)) => {
            let room = room_beside_answer(window, max_tokens);
            // This is nine tenths, without a product that could overflow.
            room / 10 * 9 + room % 10 * 9 / 10
        }
    }
}

/// Returns the part of a window that a request may fill beside an answer of `max_tokens`. The answer reserves at most
/// a quarter of the window, so that a large `max_tokens` leaves room for a request.
pub(crate) fn room_beside_answer(window: u64, max_tokens: u64) -> u64 {
    window - max_tokens.min(window / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_what_is_set_or_what_the_window_leaves() {
        for (set, window, max_tokens, budget) in [
            (Some(500), Some(200_000), 8192, 500),
            (Some(500), None, 8192, 500),
            (None, None, 8192, 12_000),
            (None, Some(200_000), 8192, 172_627),
            (None, Some(8000), 8192, 5400),
            (None, Some(1), 8192, 0),
            (None, Some(u64::MAX), 0, u64::MAX / 10 * 9 + 4),
        ] {
            assert_eq!(input_budget(set, window, max_tokens), budget, "{set:?} {window:?}");
        }
    }
}
