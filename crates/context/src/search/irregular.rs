//! The irregular forms of English words, which no stemmer knows.

/// The forms, each with its base behind the colon: strong verbs, then plurals. They are read once, into a map.
const FORMS: &str = "ate eaten:eat|arose arisen:arise|awoke awoken:awake|bore borne:bear|beaten:beat|became:become|\
began begun:begin|bent:bend|bitten:bite|bled:bleed|blew blown:blow|broke broken:break|bred:breed|brought:bring|built:build|\
burnt:burn|bought:buy|caught:catch|chose chosen:choose|clung:cling|came:come|crept:creep|dealt:deal|dug:dig|drew drawn:draw|\
dreamt:dream|drank drunk:drink|drove driven:drive|fell fallen:fall|fed:feed|felt:feel|fought:fight|found:find|fled:flee|\
flew flown:fly|forbade forbidden:forbid|forgot forgotten:forget|forgave forgiven:forgive|froze frozen:freeze|\
got gotten:get|gave given:give|went gone goes:go|ground:grind|grew grown:grow|hung:hang|heard:hear|hid hidden:hide|held:hold|\
kept:keep|knelt:kneel|knew known:know|laid:lay|led:lead|leant:lean|leapt:leap|left:leave|learnt:learn|lent:lend|lost:lose|\
made:make|meant:mean|met:meet|mistook mistaken:mistake|overcame:overcome|paid:pay|proven:prove|rode ridden:ride|\
rang rung:ring|risen:rise|ran:run|said:say|saw seen:see|sought:seek|sold:sell|sent:send|sewn:sew|shook shaken:shake|\
shone:shine|shot:shoot|shown:show|shrank shrunk:shrink|sang sung:sing|sank sunk:sink|sat:sit|slept:sleep|slid:slide|\
smelt:smell|sown:sow|spoke spoken:speak|sped:speed|spent:spend|spilt:spill|spun:spin|spoilt:spoil|sprang sprung:spring|\
stood:stand|stole stolen:steal|stuck:stick|stung:sting|stank stunk:stink|struck stricken:strike|strove striven:strive|\
swore sworn:swear|swept:sweep|swollen:swell|swam swum:swim|swung:swing|took taken:take|taught:teach|tore torn:tear|\
told:tell|thought:think|threw thrown:throw|understood:understand|woke woken:wake|wore worn:wear|wove woven:weave|\
wept:weep|won:win|wound:wind|withdrew withdrawn:withdraw|wrote written:write|undertook undertaken:undertake|\
foresaw foreseen:foresee|outgrew outgrown:outgrow|rebuilt:rebuild|rewrote rewritten:rewrite|\
children:child|men:man|women:woman|people:person|feet:foot|teeth:tooth|geese:goose|mice:mouse|oxen:ox|lice:louse|\
wives:wife|knives:knife|wolves:wolf|shelves:shelf|halves:half|thieves:thief|loaves:loaf|\
calves:calf|selves:self|elves:elf|hooves:hoof|scarves:scarf|crises:crisis|analyses:analysis|theses:thesis|\
hypotheses:hypothesis|criteria:criterion|phenomena:phenomenon|indices:index|matrices:matrix|vertices:vertex|\
appendices:appendix|cacti:cactus|fungi:fungus|nuclei:nucleus|alumni:alumnus|diagnoses:diagnosis";

/// Returns the base of an irregular form.
pub(super) fn base_form(word: &str) -> Option<&'static str> {
    if !(2..=11).contains(&word.len()) {
        return None;
    }
    FORMS.split('|').find_map(|row| {
        let (forms, base) = row.split_once(':')?;
        forms.split(' ').any(|form| form == word).then_some(base)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_one_base() {
        assert_eq!(base_form("went"), Some("go"));
        assert_eq!(base_form("withdrawn"), Some("withdraw"));
        assert_eq!(base_form("go"), None);
        let forms: Vec<&str> =
            FORMS.split('|').flat_map(|row| row.split(':').next().unwrap().split(' ')).collect();
        for form in &forms {
            assert_eq!(forms.iter().filter(|other| *other == form).count(), 1, "{form}");
        }
    }
}
