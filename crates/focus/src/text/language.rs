//! The languages we know something about: stopwords and stemmers.

use super::words::{each_word, word_hash};
use frostem::{Algorithm, Stemmer};
use std::cell::RefCell;
use std::sync::LazyLock;

/// A language with a stopword list and a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// `en`
    English,
    /// `pt`
    Portuguese,
    /// `es`
    Spanish,
    /// `de`
    German,
    /// `fr`
    French,
    /// `it`
    Italian,
    /// `nl`
    Dutch,
}

use Language::*;

impl Language {
    /// English comes first: it is the default where one is needed.
    pub const ALL: [Language; 7] = [English, Portuguese, Spanish, German, French, Italian, Dutch];

    /// ISO 639-1 code.
    pub fn code(self) -> &'static str {
        match self {
            English => "en",
            Portuguese => "pt",
            Spanish => "es",
            German => "de",
            French => "fr",
            Italian => "it",
            Dutch => "nl",
        }
    }

    /// From a code as pages write it: `en`, `EN-us`, `pt_BR`.
    pub fn from_code(code: &str) -> Option<Language> {
        let main = code.split(['-', '_']).next().unwrap_or("").trim();
        Language::ALL.into_iter().find(|l| l.code().eq_ignore_ascii_case(main))
    }

    /// The hashes of its stopwords.
    pub(crate) fn stop(self) -> &'static HashSlots {
        static EMPTY: LazyLock<HashSlots> = LazyLock::new(|| HashSlots::new(&[]));
        STOP.get(self as usize).unwrap_or(&EMPTY)
    }

    /// The stem of a normalised word. Words that are not all letters (`c++`, `cs415`) are their own stems.
    fn stem(self, word: &str) -> std::borrow::Cow<'_, str> {
        if word.chars().any(|c| !c.is_alphabetic()) {
            return word.into();
        }
        Stemmer::new(match self {
            English => Algorithm::English,
            Portuguese => Algorithm::Portuguese,
            Spanish => Algorithm::Spanish,
            German => Algorithm::German,
            French => Algorithm::French,
            Italian => Algorithm::Italian,
            Dutch => Algorithm::Dutch,
        })
        .stem(word)
    }
}

/// Remembers stems by the hash of the spelling: stemming costs a hundred times what looking it up does, and
/// texts repeat their words. Direct-mapped, so it is bounded; a pure function's memory, so it changes no
/// result.
struct StemCache(Vec<(u64, u64)>);

const STEM_SLOTS: usize = 1 << 13;

thread_local! {
    static STEMS: RefCell<StemCache> = const { RefCell::new(StemCache(Vec::new())) };
}

/// Hash of the stem of `source`, a word of a text whose own (unstemmed) hash is `hash`.
///
/// Snowball's rules want the accents, which folding removes: words with any are stemmed as written, then
/// folded.
pub(crate) fn stem_hash(language: Language, source: &str, hash: u64) -> u64 {
    let plain = source.is_ascii();
    let key = if plain { hash } else { word_hash(source) } ^ (language as u64 + 1).wrapping_mul(0x9e37_79b9);
    let slot = key as usize % STEM_SLOTS;
    let known = STEMS.with_borrow(|c| c.0.get(slot).filter(|e| e.0 == key).map(|e| e.1));
    if let Some(stem) = known {
        return stem;
    }
    let spelled = if plain { super::words::normalise(source) } else { source.to_lowercase() };
    let mut stem = hash;
    let mut n = 0;
    each_word(&language.stem(&spelled), |_, _, h| {
        stem = h;
        n += 1;
    });
    if n != 1 {
        // A stem that is no single word any more (none seen): the word stays what it is.
        stem = hash;
    }
    STEMS.with_borrow_mut(|c| {
        c.0.resize(STEM_SLOTS, (0, 0));
        if let Some(e) = c.0.get_mut(slot) {
            *e = (key, stem);
        }
    });
    stem
}

/// A small open-addressing set of hashes.
pub(crate) struct HashSlots {
    slots: Vec<u64>,
    mask: usize,
}

impl HashSlots {
    fn new(hashes: &[u64]) -> HashSlots {
        let size = (hashes.len() * 4).next_power_of_two().max(16);
        let mut set = HashSlots { slots: vec![0; size], mask: size - 1 };
        for &h in hashes {
            let mut i = h as usize & set.mask;
            while set.slots[i] != 0 && set.slots[i] != h {
                i = (i + 1) & set.mask;
            }
            set.slots[i] = h;
        }
        set
    }
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let mut i = hash as usize & self.mask;
        // At most a quarter full, so an empty slot is always met.
        while let Some(&slot) = self.slots.get(i) {
            if slot == 0 {
                return false;
            }
            if slot == hash {
                return true;
            }
            i = (i + 1) & self.mask;
        }
        false
    }
}

static STOP: LazyLock<Vec<HashSlots>> = LazyLock::new(|| {
    Language::ALL
        .iter()
        .map(|l| {
            let mut hashes = Vec::new();
            each_word(stopwords(*l), |_, _, h| hashes.push(h));
            HashSlots::new(&hashes)
        })
        .collect()
});

/// The stopwords of a language, as text. Function words only: no verb or noun that could be somebody's topic.
pub fn stopwords(language: Language) -> &'static str {
    match language {
        English => {
            "a about above after again against all also am an and any are aren't as at be because been before being \
             below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down \
             during each either else etc ever every few for from further had hadn't has hasn't have haven't having he \
             her here hers herself him himself his how however i i'd i'll i'm i've if in into is isn't it it's its \
             itself just let's may me might more most must my myself neither no nor not of off on once only onto or \
             other others ought our ours ourselves out over own per same shall shan't she should shouldn't so some \
             such than that that's the their theirs them themselves then there these they they'll they're this those \
             though through thus to too under until up upon us very via was wasn't we we'll we're we've were weren't \
             what when where whether which while who whom whose why will with within without won't would wouldn't \
             yet you you'll you're your yours yourself yourselves"
        }
        Portuguese => {
            "a à agora ainda além algo alguém algum alguma algumas alguns ao aos apenas após aquela aquelas aquele \
             aqueles aquilo as às assim até cada com como contra contudo cuja cujas cujo cujos da daquela daquele das \
             de dela delas dele deles depois desde dessa desse desta deste disso disto do dos e é ela elas ele eles em \
             embora enquanto entre era eram essa essas esse esses esta está estão estas estava estavam este estes eu \
             foi foram há isso isto já lhe lhes lo logo mais mas me mesma mesmo meu meus minha minhas muita muitas \
             muito muitos na nas não nem nenhum nenhuma nessa nesse nesta neste no nos nós nossa nossas nosso nossos \
             num numa o onde os ou outra outras outro outros para pela pelas pelo pelos perante pode podem por porque \
             portanto pouca poucas pouco poucos pois qual quais qualquer quando quanto que quem se seja sejam sem \
             sempre sendo ser será serão seu seus si sido só sob sobre somos sou sua suas tal também tampouco tanto \
             te tem têm tendo ter teu teus ti tinha tinham toda todas todavia todo todos tu tua tuas tudo um uma umas \
             uns você vocês vos"
        }
        Spanish => {
            "a al algo alguien algún alguna algunas alguno algunos ambos ante antes aquel aquella aquellas aquello \
             aquellos aquí así aún aunque bajo bien cada como cómo con contra cual cuál cuales cualquier cuando cuándo \
             cuanto cuya cuyas cuyo cuyos da de del desde donde dónde dos durante e el él ella ellas ellos en entre era \
             eran es esa esas ese eso esos esta está están estas estaba este esto estos fue fueron ha había han hasta \
             hay he la las le les lo los luego más me mediante menos mi mí mientras mis misma mismas mismo mismos mucha \
             muchas mucho muchos muy nada ni ningún ninguna ninguno no nos nosotros nuestra nuestras nuestro nuestros o \
             os otra otras otro otros para pero poca pocas poco pocos por porque pues que qué quien quién quienes se sea \
             sean según ser será serán si sí sido siempre sin sino sobre solo sólo son su sus suya suyo tal también \
             tampoco tan tanto te tener tengo ti tiene tienen toda todas todavía todo todos tu tú tus u un una unas uno \
             unos usted ustedes vosotros vuestra vuestro y ya yo"
        }
        German => {
            "aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus \
             bei beim bin bis bist bzw da dabei dadurch dafür dagegen daher damit dann daran darauf daraus darf darin \
             darüber das dass dasselbe davon dazu dein deine dem den denn der deren des deshalb dessen die dies diese \
             diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines einige einigen er es etwa \
             etwas euch euer eure für gegen gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr \
             ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jedoch jene jetzt kann kein keine \
             keinen können könnte man manche mehr mein meine mich mir mit muss müssen nach nicht nichts noch nun nur ob \
             oder ohne sehr sein seine seinem seinen seiner seit selbst sich sie sind so sogar solche soll sollen sollte \
             sondern sonst sowie über um und uns unser unsere unter usw viel vom von vor war waren warum was weder weil \
             weiter welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo wollen \
             worden wurde wurden zu zum zur zwar zwischen"
        }
        French => {
            "à afin ai ainsi alors après as au aucun aucune aujourd'hui auquel aussi autre autres aux avait avant avec \
             avez avoir avons c ça car ce ceci cela celle celles celui cependant ces cet cette ceux chaque chez ci comme \
             comment contre d dans de depuis des dès desquels donc dont du duquel durant elle elles en encore entre es \
             est et étaient était été être eu eux fait faut font furent hors il ils j je jusqu jusque l la là laquelle \
             le lequel les lesquelles lesquels leur leurs lors lorsque lui m ma mais malgré me même mêmes mes mien moi \
             moins mon n ne ni nos notre nous on ont or ou où par parce pas pendant peu peut peuvent plus plusieurs pour \
             pourquoi puis puisque qu quand que quel quelle quelles quelque quelques quels qui quoi s sa sans se selon \
             ses si sien soit son sont sous suis sur t ta tandis tant te tel telle telles tels tes toi ton toujours tous \
             tout toute toutes très trop tu un une vers voici voilà vos votre vous y"
        }
        Italian => {
            "a abbiamo ad agli ai al alla alle allo allora anche ancora avere c che chi ci ciò coi col come con contro \
             cosa così cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello dentro di dopo dove \
             dunque e è ed era erano essere fra fu gli ha hanno ho i il in infatti invece io l la le lei li lo loro lui \
             ma me mi mia mie mio miei molto ne né negli nei nel nella nelle nello noi non nostra nostre nostri nostro o \
             od ogni oppure ora per perché però più poi qual quale quali quando quanto quella quelle quelli quello questa \
             queste questi questo qui quindi s sarà se sei senza si sia siamo siano sono sopra sotto stata state stati \
             stato su sua sue sui sul sulla sulle suo suoi tra tu tua tuo tutta tutte tutti tutto un una uno v vi voi \
             vostro"
        }
        Dutch => {
            "aan al alle alleen als altijd andere ben bij bijna dan dat de der deze die dit doch doen door dus een eens \
             en er ge geen geweest haar had hadden heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je \
             kan kon kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat onder ons \
             onze ook op over reeds s te tegen toch toen tot u uit uw van veel voor waar want waren was wat we wel werd \
             wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou zouden"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::normalise;

    #[test]
    fn codes_as_pages_write_them() {
        assert_eq!(Language::from_code("pt-BR"), Some(Portuguese));
        assert_eq!(Language::from_code("EN_us"), Some(English));
        assert_eq!(Language::from_code("pl"), None);
        assert_eq!(Language::from_code(""), None);
    }

    #[test]
    fn stopwords_are_found_by_hash() {
        for l in Language::ALL {
            for w in stopwords(l).split_whitespace() {
                let mut last = 0;
                each_word(w, |_, _, h| last = h);
                assert!(l.stop().contains(last), "{w}");
            }
            assert!(!l.stop().contains(word_hash("database")));
        }
        assert!(English.stop().contains(word_hash("the")) && !German.stop().contains(word_hash("the")));
    }

    #[test]
    fn stems_meet() {
        let stem = |l: Language, w: &str| {
            let mut h = 0;
            each_word(w, |_, _, hash| h = stem_hash(l, w, hash));
            h
        };
        for (l, a, b) in [
            (English, "connections", "connect"),
            (English, "Databases", "database"),
            (Portuguese, "programações", "programação"),
            (German, "Häuser", "Häusern"),
            (French, "étudiante", "étudiants"),
        ] {
            assert_eq!(stem(l, a), stem(l, b), "{a} {b}");
            // Asked again, from memory.
            assert_eq!(stem(l, a), stem(l, b), "{a} {b}");
        }
        assert_eq!(stem(English, "c++"), word_hash(&normalise("c++")));
        assert_ne!(stem(English, "index"), stem(English, "query"));
    }
}
