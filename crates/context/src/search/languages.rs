//! Tells the language of a text by its function words, and of other scripts by their letters.
//!
//! The language decides which stemmer a word gets and which words say nothing. It is looked for in the text alone, so
//! that a message means the same whatever else is in its chat. A short text without function words counts as English;
//! a question asks for its words in both languages then.

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

use super::chars::normalized;

/// A language with a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Polish,
    Swedish,
    Turkish,
    Russian,
    Greek,
    Arabic,
    Hindi,
}

/// The languages with Latin letters besides English, each with its function words.
const LATIN: [(Language, &str); 9] = [
    (
        Language::German,
        "der die das den dem des ein eine einen einem einer und oder nicht ist sind war waren hat haben ich du er sie es \
         wir ihr mir mich dir dich mein meine dein deine unser unsere was wer wie wo wann warum welche welcher welches \
         für mit von zu auf bei nach aus im am um dass wenn auch noch nur schon kann wird wurde",
    ),
    (
        Language::French,
        "le la les un une des du de et ou est sont était a ont je tu il elle nous vous ils elles mon ma mes ton ta tes \
         son sa ses notre votre leur que qui quoi quel quelle où quand comment pourquoi pour avec dans sur par en au aux \
         ne pas plus ce cette ces se",
    ),
    (
        Language::Spanish,
        "el la los las un una unos unas y o es son era fue ha han yo tú él ella nosotros mi mis tu tus su sus nuestro que \
         qué quién cómo dónde cuándo cuál cuánto por para con de del en a al no se lo le me te está muy más este esta",
    ),
    (
        Language::Italian,
        "il lo la i gli le un uno una e o è sono era ha hanno io tu lui lei noi voi mio mia tuo tua suo sua nostro che chi \
         cosa come dove quando perché quale di del della dei delle da in nel nella con su per non si al alla",
    ),
    (
        Language::Portuguese,
        "o a os as um uma e ou é são era foi tem eu tu ele ela nós você meu minha seu sua nosso que quem como onde quando \
         qual quanto porque por para com de do da dos das em no na nos nas não se ao mais este esta",
    ),
    (
        Language::Dutch,
        "de het een en of is zijn was heeft hebben ik jij je hij zij ze wij we jullie mijn jouw zijn haar onze dat die wat \
         wie hoe waar wanneer waarom welke voor met van naar op bij uit niet ook nog maar als te er aan",
    ),
    (
        Language::Polish,
        "i w na z do nie się jest są był była to ten ta te ja ty on ona my wy mój moja twój jak co kto gdzie kiedy dlaczego \
         który która które dla od po za o ale czy już",
    ),
    (
        Language::Swedish,
        "och att det som en ett är var har på för med av till inte den de jag du han hon vi ni min mitt din ditt vår hur \
         vad vem när varför vilken om men från så",
    ),
    (
        Language::Turkish,
        "ve bir bu şu için ile ne nasıl nerede zaman neden kim hangi ben sen o biz siz benim senin onun de da mi mı mu mü \
         çok daha gibi ama değil var yok olarak",
    ),
];

const RUSSIAN: &str = "и в во не на я он она они мы вы ты с со что как по это из у за от к ко о об для же был была было \
     были есть мне меня мой моя мое наш ваш его ее их где когда кто почему какой какая какие сколько ли бы а но или";
const GREEK: &str = "και το η ο τα του τησ των τον την να με σε για που πωσ τι ποιοσ ποτε πού γιατι ειναι ηταν δεν θα απο στο \
     στη στην στον μου σου";
const ARABIC: &str = "في من على إلى عن ما ماذا متى أين كيف لماذا هل هو هي أنا نحن أنت كان كانت هذا هذه التي الذي مع أو و";
const HINDI: &str = "का की के में से को है हैं था थी थे और यह वह मैं हम आप क्या कब कहाँ कौन कैसे क्यों पर ने भी नहीं";

/// The function words of English. The ranking was measured with these, and a longer list found no more.
const ENGLISH: &str = "a an the of in on at to for and or is are was were be been did do does has have had what when \
     where who which how why that this it its with by from as his her their he she they i you your my me we our will \
     would could should may might can";

/// The words by which English is told from other languages.
const ENGLISH_ALONE: &str =
    "the of and to is was it that for with you are this have not but what when how";

/// The number of words, and of bytes, by which a language is told.
const WORDS_READ: usize = 64;
const BYTES_READ: usize = 1_000;

/// The number of function words that tell a language.
const TELLING: usize = 2;

impl Language {
    /// The number of languages.
    pub(super) const COUNT: usize = Self::Hindi as usize + 1;

    pub(super) fn stemmer(self) -> Stemmer {
        Stemmer::new(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Polish => Algorithm::Polish,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
            Self::Russian => Algorithm::Russian,
            Self::Greek => Algorithm::Greek,
            Self::Arabic => Algorithm::Arabic,
            Self::Hindi => Algorithm::Hindi,
        })
    }

    /// Returns the language of a word in a text of language `text`; `None` if its script has no stemmer.
    pub(super) fn of_word(word: &str, text: Self) -> Option<Self> {
        let first = word.chars().find(|c| c.is_alphabetic() || c.is_ascii())?;
        match first {
            _ if first.is_ascii() => Some(text),
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(text),
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Self::Greek),
            '\u{400}'..='\u{4ff}' => Some(Self::Russian),
            '\u{600}'..='\u{6ff}' => Some(Self::Arabic),
            '\u{900}'..='\u{97f}' => Some(Self::Hindi),
            _ => None,
        }
    }
}

/// The function words of all languages.
#[derive(Debug)]
pub(super) struct FunctionWords {
    languages: HashMap<&'static str, Vec<Language>>,
    english_alone: Vec<&'static str>,
}

impl Default for FunctionWords {
    fn default() -> Self {
        let others = [
            (Language::English, ENGLISH),
            (Language::Russian, RUSSIAN),
            (Language::Greek, GREEK),
            (Language::Arabic, ARABIC),
            (Language::Hindi, HINDI),
        ];
        let mut languages: HashMap<&'static str, Vec<Language>> = HashMap::default();
        for (language, words) in LATIN.into_iter().chain(others) {
            for word in words.split_whitespace() {
                languages.entry(word).or_default().push(language);
            }
        }
        Self { languages, english_alone: ENGLISH_ALONE.split_whitespace().collect() }
    }
}

impl FunctionWords {
    /// Whether a normalized word says nothing in a language.
    pub(super) fn has(&self, word: &str, language: Language) -> bool {
        self.languages.get(word).is_some_and(|languages| languages.contains(&language))
    }

    /// Tells the language of a text's words with Latin letters: the one with most function words. English wins a tie.
    pub(super) fn language_of(&self, text: &str) -> Language {
        let mut counts = [0; LATIN.len()];
        let mut english = 0;
        let text = text.get(..text.floor_char_boundary(BYTES_READ)).unwrap_or(text);
        // Only Latin letters are told apart by words.
        let is_latin = |c: char| c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}');
        let words = text.split(|c: char| !is_latin(c)).filter(|word| !word.is_empty());
        for word in words.take(WORDS_READ).filter(|word| word.len() <= 12) {
            let word = normalized(word);
            english += usize::from(self.english_alone.iter().any(|alone| *alone == word));
            for language in self.languages.get(&*word).into_iter().flatten() {
                if let Some(nth) = LATIN.iter().position(|(latin, _)| latin == language) {
                    counts[nth] += 1;
                }
            }
        }
        let best = counts.iter().copied().zip(LATIN).rev().max_by_key(|(count, _)| *count);
        match best {
            Some((count, (language, _))) if count >= TELLING && count > english => language,
            _ => Language::English,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_function_words() {
        let words = FunctionWords::default();
        for (text, language) in [
            ("Where did I put the keys?", Language::English),
            ("Wo habe ich die Schlüssel hingelegt?", Language::German),
            ("Où est la clé de la maison ?", Language::French),
            ("¿Dónde está la llave de la casa?", Language::Spanish),
            ("Dove sono le chiavi della casa?", Language::Italian),
            ("Onde estão as chaves da casa que você perdeu?", Language::Portuguese),
            ("Waar heb ik de sleutels van het huis?", Language::Dutch),
            ("Gdzie jest klucz do mojego domu?", Language::Polish),
            ("Var har jag lagt nyckeln till huset?", Language::Swedish),
            ("Bu anahtar nerede ve ne için?", Language::Turkish),
            ("docker compose", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(words.language_of(text), language, "{text}");
        }
    }
}
