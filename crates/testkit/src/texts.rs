//! Texts to count: those that people and programs write, and those that are hard on a tokenizer.

use crate::random::Random;

/// A text with its name.
pub type Named = (&'static str, String);

const CHINESE: [&str; 10] = [
    "人工智能正在改变我们的生活和工作方式，许多以前需要几个小时的事情现在几分钟就能完成。",
    "请帮我把昨天的会议记录整理成三条要点，并且发给项目组的每一个人。",
    "数据库的备份每天凌晨两点开始，如果失败了，系统会在十分钟之后再试一次。",
    "他说：“这个问题不难，但是要先弄清楚原因。”",
    "服务器返回了错误代码500，日志里写着“连接超时”，看起来是网络的问题。",
    "春天来了，公园里的花都开了，孩子们在草地上跑来跑去。",
    "第一步，安装依赖；第二步，修改配置文件；第三步，重新启动服务。",
    "我们在2025年3月签了合同，金额是12,800元，分两次付清。",
    "如果你不确定，最好先问一下负责这个模块的同事，不要直接改线上的代码。",
    "这家饭馆的菜味道不错，价格也合理，就是周末人太多，要排队半个小时。",
];

const WESTERN: [&str; 5] = [
    "Съешь же ещё этих мягких французских булок, да выпей чаю. ",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ",
    "Le cœur déçu mais l’âme plutôt naïve, Louÿs rêva de crapaüter en canoë. ",
    "Great 👍 see you at 5 😀 — “thanks”… ✅ → done ",
];

const EASTERN: [&str; 6] = [
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. ",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में समानता प्राप्त है। ",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ",
    "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。",
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. ",
];

/// Texts as they are written every day, each of about so many bytes.
pub fn ordinary(bytes: usize) -> Vec<Named> {
    let mut random = Random::new(1);
    let english = concat!(
        include_str!("../../../ARCHITECTURE.md"),
        include_str!("../../../CONTRIBUTING.md"),
        include_str!("../../../docs/format.md"),
    );
    let code = concat!(include_str!("sim.rs"), include_str!("sweep.rs"), include_str!("power.rs"));
    let json = |random: &mut Random| {
        let (id, size) = (random.below(100_000), random.below(900));
        format!(
            r#"{{"id":{id},"path":"src/file{size}.rs","ok":true,"tags":["a","b c"],"size":{size}}},"#
        )
    };
    vec![
        ("English", repeated(english, bytes)),
        ("Chinese", filled(bytes, || (*random.one(&CHINESE)).to_owned())),
        ("Rust", repeated(code, bytes)),
        ("western languages", filled(bytes, || (*random.one(&WESTERN)).to_owned())),
        ("eastern languages", filled(bytes, || (*random.one(&EASTERN)).to_owned())),
        ("JSON", filled(bytes, || json(&mut random))),
    ]
}

/// Texts that make a careless tokenizer slow, each of about so many bytes: what models in a loop, broken
/// tools and people with time on their hands produce.
pub fn pathological(bytes: usize) -> Vec<Named> {
    let mut random = Random::new(2);
    let mut chars = |from: char, to: char| filled(bytes, || any(&mut random, from, to).to_string());
    let mut texts = vec![
        ("Han at random", chars('\u{4e00}', '\u{9fa5}')),
        ("Unicode at random", chars('\u{20}', char::MAX)),
        ("the first plane at random", chars('\u{20}', '\u{ffff}')),
        ("scripts at random", chars('\u{80}', '\u{2fff}')),
        ("emoji at random", chars('\u{1f300}', '\u{1f6ff}')),
        ("marks that combine", chars('\u{300}', '\u{36f}')),
        ("private characters", chars('\u{e000}', '\u{f8ff}')),
        ("one giant word", chars('a', 'z')),
        ("digits", chars('0', '9')),
        ("punctuation", chars('!', '/')),
        ("control characters", chars('\u{1}', '\u{1f}')),
        ("ASCII at random", chars(' ', '~')),
    ];
    let languages = [&WESTERN[..], &EASTERN[..]].concat();
    texts.push(("all languages", filled(bytes, || (*random.one(&languages)).to_owned())));
    let base64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    texts.push(("base64", filled(bytes, || char::from(*random.one(base64)).to_string())));
    texts.push(("zalgo", filled(bytes, || zalgo(&mut random))));
    let mut all = ('\u{80}'..='\u{d7ff}').cycle();
    texts.push(("a chart of Unicode", filled(bytes, || all.by_ref().take(1).collect())));
    for (name, unit) in [
        ("slashes and newlines", "/\n"),
        ("spaces", " "),
        ("the letter a", "a"),
        ("newlines", "\n"),
        ("one emoji", "😀"),
        ("wide spaces", "\u{3000}"),
        ("apostrophes", "a'"),
        ("dashes", "-"),
        ("the replacement character", "\u{fffd}"),
    ] {
        texts.push((name, repeated(unit, bytes)));
    }
    texts
}

/// All of them.
pub fn all(bytes: usize) -> Vec<Named> {
    let mut texts = ordinary(bytes);
    texts.extend(pathological(bytes));
    texts
}

fn any(random: &mut Random, from: char, to: char) -> char {
    let (from, to) = (u32::from(from), u32::from(to));
    loop {
        if let Some(c) = char::from_u32(from + random.below((to - from + 1) as usize) as u32) {
            return c;
        }
    }
}

fn zalgo(random: &mut Random) -> String {
    let mut letter = any(random, 'a', 'z').to_string();
    letter.extend((0..10).map(|_| any(random, '\u{300}', '\u{36f}')));
    letter
}

fn filled(bytes: usize, mut more: impl FnMut() -> String) -> String {
    let mut text = String::with_capacity(bytes + 256);
    while text.len() < bytes {
        text.push_str(&more());
    }
    text
}

fn repeated(unit: &str, bytes: usize) -> String {
    let mut text = unit.repeat(bytes.div_ceil(unit.len()));
    text.truncate(text.floor_char_boundary(bytes));
    text
}
