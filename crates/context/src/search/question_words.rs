//! Cuts out of a question what says nothing, in scripts without spaces.
//!
//! Question words, particles and endings such as `什么时候` or `でしたか` would find every other question. What is left
//! of a run between them is searched for by its pairs.

use super::chars::{is_han, is_hangul, is_hiragana, is_kana};

/// Question and function words of Chinese, the longest first.
const CHINESE: &str = "什么时候 为什么 什麼時候 為什麼 有没有 是不是 怎么样 怎麼樣 多长时间 什么样 我们的 你们的 \
     怎么 怎麼 怎样 什么 什麼 哪里 哪裡 哪儿 哪个 哪些 哪家 哪天 哪位 哪種 哪种 多少 多久 多大 \
     几个 几点 几次 几号 我们 你们 他们 她们 它们 咱们 我們 你們 他們 那个 这个 那些 这些 那次 \
     这次 一下 请问 告诉 是否 关于 以及 谁 誰 吗 嗎 呢 吧 啊 呀 哪 几 的 了 着 过 是 在 和 与 跟 \
     把 被 给 对 我 你 您 他 她 它 这 那";

/// Chinese words that hold one of the characters above and mean something. They are not cut.
const CHINESE_WHOLE: &str = "的确 的士 了解 了结 着急 着火 着陆 穿着 通过 过程 过敏 过期 过年 在线 存在 现在 正在 在职 \
     和平 和解 饱和 温和 我国 自我 给予 供给 对比 对象 反对 面对 绝对 几何 与会";

/// Particles, endings and question words of Japanese in hiragana, the longest first.
const JAPANESE: &str = "についての に関しての はどうして でしょうか ましたっけ でしたっけ していたか でしたか \
     ましたか ませんか ですっけ していた している しました されました について に関して だったか \
     どうして ください でしょう いくつ いくら どんな どれ どこ どの どちら どっち どう だれ なぜ \
     なに なん いつ でした ました ですか ますか ません だった だっけ たっけ たいの から まで \
     より という といった ときの とき こと もの この その あの これ それ あれ です ます する \
     した して され される いる いた ある あった なった なる って っけ には では とは のは のか \
     への だ は が を に へ で と も の や か ね";

/// Question words of Japanese with Han characters.
const JAPANESE_HAN: &str =
    "何時 何日 何月 何年 何曜日 何人 何回 何個 何番 何歳 何 誰 幾つ 私 僕 俺";

/// One-letter particles that are cut from the beginning of what follows a noun.
const PARTICLES: &str = "は が を に で と の も へ";

/// Korean words that say nothing, as a whole.
const KOREAN: &str = "언제 언제야 언제였지 어디 어디서 어디에 어디로 어디야 어디였지 누가 누구 누구야 누구랑 \
     누구와 무엇 무엇을 무엇이 뭐 뭐야 뭐였지 뭘 뭐라고 무슨 왜 어떻게 어떤 어느 얼마 얼마나 \
     얼마야 얼마였지 몇 몇시 몇개 몇명 그 이 저 것 거 수 좀 내 나 내가 나는 나의 제 제가 저는 \
     우리 우리가 너 네 당신 했지 했어 했나 있어 있었지 있나 라고 대해";

/// Korean endings and particles.
const KOREAN_ENDINGS: &str = "이었습니까 였습니까 했습니까 이었나요 하나요 했나요 했었지 했더라 인가요 이에요 입니까 \
     였나요 였더라 이었지 이라고 에서는 에게서 으로는 했어요 했지 했어 했니 하는 하고 하기 하던 \
     한테 에서 에게 으로 부터 까지 이랑 처럼 보다 라고 였지 이지 이야 예요 인지 에는 에도 이나 \
     은 는 을 를 에";

/// Endings that are often a part of a short word; two syllables must be left before them.
const KOREAN_SHORT_ENDINGS: &str = "습니까 나요 의 이 가 로 와 과 도 만 랑 한 야 지 께";

/// Cuts a normalized run of a question into the pieces that say something. `has_kana` tells a Japanese question.
pub(super) fn telling_pieces(run: &str, has_kana: bool) -> Vec<String> {
    let marked = match () {
        () if run.chars().any(is_hangul) => without_korean_endings(run),
        () if has_kana => without_japanese_particles(run),
        () => without_words(run, CHINESE, CHINESE_WHOLE),
    };
    marked.split(' ').filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// Puts a space in the place of each word of a list, except inside a word of the other list.
fn without_words(run: &str, words: &'static str, whole: &'static str) -> String {
    let mut rest = run;
    let mut kept = String::with_capacity(run.len());
    while let Some(c) = rest.chars().next() {
        let begins = |list: &'static str| first_in(list, |word| rest.starts_with(word));
        let len = match (begins(whole), begins(words)) {
            (Some(word), cut) if cut.is_none_or(|cut| cut.len() <= word.len()) => {
                kept.push_str(word);
                word.len()
            }
            (_, Some(word)) => {
                kept.push(' ');
                word.len()
            }
            _ => {
                kept.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    kept
}

/// Returns the first word of a list of which something holds.
fn first_in(list: &'static str, holds: impl Fn(&str) -> bool) -> Option<&'static str> {
    list.split_whitespace().find(|word| holds(word))
}

fn without_japanese_particles(run: &str) -> String {
    let run = without_words(run, JAPANESE_HAN, "");
    let mut kept = String::with_capacity(run.len());
    let mut rest = run.as_str();
    while let Some(c) = rest.chars().next() {
        let hiragana = rest.find(|c| !is_hiragana(c)).unwrap_or(rest.len());
        if hiragana == 0 {
            kept.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (stretch, after) = rest.split_at(hiragana);
        let follows_noun = kept.ends_with(|c: char| is_han(c) || is_kana(c));
        kept.push_str(&without_particles(stretch, follows_noun));
        rest = after;
    }
    kept
}

/// Cuts the particles of a stretch of hiragana. What is left at its beginning belongs to the word before it.
fn without_particles(stretch: &str, follows_noun: bool) -> String {
    let mut middle = stretch;
    while let Some(word) = first_in(JAPANESE, |word| middle.ends_with(word)) {
        middle = middle.strip_suffix(word).unwrap_or_default();
    }
    let end = if middle.len() < stretch.len() { " " } else { "" };
    let cut = PARTICLES.split(' ').find_map(|particle| middle.strip_prefix(particle));
    match cut.filter(|rest| follows_noun && rest.chars().count() > 1) {
        Some(rest) => format!(" {rest}{end}"),
        None => format!("{middle}{end}"),
    }
}

fn without_korean_endings(word: &str) -> String {
    let is_listed = |word: &str| KOREAN.split_whitespace().any(|other| other == word);
    let without = |endings: &'static str, least: usize| {
        let stems = endings.split_whitespace().filter_map(|ending| word.strip_suffix(ending));
        stems.filter(|stem| stem.chars().count() >= least).min_by_key(|stem| stem.len())
    };
    let shorter = [without(KOREAN_ENDINGS, 1), without(KOREAN_SHORT_ENDINGS, 2)];
    let stem = shorter.into_iter().flatten().min_by_key(|stem| stem.len()).unwrap_or(word);
    // A particle stands alone behind a Latin word.
    let mut endings =
        [KOREAN_ENDINGS, KOREAN_SHORT_ENDINGS].into_iter().flat_map(str::split_whitespace);
    let says_nothing = is_listed(word) || is_listed(stem) || endings.any(|ending| ending == word);
    if says_nothing { String::new() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_cut_out_of_a_question() {
        for (question, pieces) in [
            ("我们什么时候部署数据库的", vec!["部署数据库"]),
            ("项目的过程是什么", vec!["项目", "过程"]),
            ("猫叫什么名字", vec!["猫叫", "名字"]),
            ("什么", vec![]),
        ] {
            assert_eq!(telling_pieces(question, false), pieces, "{question}");
        }
        for (question, pieces) in [
            ("会議はどこでしたか", vec!["会議"]),
            ("りんごを食べたのはいつですか", vec!["りんご", "食べた"]),
            ("東京の天気について", vec!["東京", "天気"]),
            ("猫の名前は何", vec!["猫", "名前"]),
            ("サーバーのパスワード", vec!["サーバー", "パスワード"]),
        ] {
            assert_eq!(telling_pieces(question, true), pieces, "{question}");
        }
        for (word, pieces) in [
            ("회의는", vec!["회의"]),
            ("언제", vec![]),
            ("서버에서", vec!["서버"]),
            ("집에", vec!["집"]),
            ("를", vec![]),
            ("누구를", vec![]),
        ] {
            assert_eq!(telling_pieces(word, false), pieces, "{word}");
        }
    }
}
