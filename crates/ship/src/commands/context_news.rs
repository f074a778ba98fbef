//! Reports what other processes do to the contexts of a chat.

use ship_agent::{ChatNews, ChatNewsItem, ContextNotice};

use crate::failure::Failure;

/// Returns the changes to the contexts that were not reported here yet, in order. The answers of other processes are
/// found by those that wait for them.
pub(crate) async fn read_context_news(news: &mut ChatNews) -> Result<Vec<ContextNotice>, Failure> {
    let contexts = |item| match item {
        ChatNewsItem::Context(notice) => Some(notice),
        ChatNewsItem::Accepted(_) | ChatNewsItem::Answered(_) => None,
    };
    Ok(news.read().await?.into_iter().filter_map(contexts).collect())
}
