//! Word lists and sentence templates of the generated web: enough of each subject and each genre for judging
//! by terms to work as it does on real pages. Data only; `text.rs` puts it together.
//!
//! In a template `{a}`…`{d}` are different terms of the subject, `{n}` the subject's name, `{p}` and `{q}`
//! people, `{u}` an institution, `{y}` a year, `{k}` a small number, `{w}` a weekday, `{h}` an hour.

/// What a page is about.
pub struct Subject {
    /// Short name used in paths.
    pub slug: &'static str,
    pub name: &'static str,
    pub courses: &'static [&'static str],
    pub terms: &'static [&'static str],
    /// Titles of (invented) textbooks.
    pub books: &'static [&'static str],
}

/// The first subject is the one the demo topic asks for.
pub const DATABASES: usize = 0;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        slug: "db",
        name: "databases",
        courses: &[
            "Introduction to Databases",
            "Database Systems",
            "Advanced Database Systems",
            "Data Management and SQL",
            "Principles of Database Design",
        ],
        terms: &[
            "relational model",
            "SQL",
            "normalization",
            "query optimization",
            "relational algebra",
            "transactions",
            "concurrency control",
            "entity relationship diagrams",
            "functional dependencies",
            "schema design",
            "crash recovery",
            "B-tree indexes",
            "joins",
            "NoSQL",
        ],
        books: &["Foundations of Database Systems", "The Relational Workbook", "Readings in Data Management"],
    },
    Subject {
        slug: "os",
        name: "operating systems",
        courses: &["Operating Systems", "Systems Programming", "Advanced Operating Systems"],
        terms: &[
            "virtual memory",
            "process scheduling",
            "file systems",
            "device drivers",
            "page tables",
            "semaphores",
            "deadlock avoidance",
            "system calls",
            "kernel modules",
            "memory protection",
            "interrupt handling",
        ],
        books: &["Operating Systems from the Boot Sector Up", "The Kernel Notebook"],
    },
    Subject {
        slug: "net",
        name: "computer networks",
        courses: &["Computer Networks", "Internet Protocols", "Wireless and Mobile Networking"],
        terms: &[
            "routing protocols",
            "congestion control",
            "packet switching",
            "TCP handshakes",
            "link layer framing",
            "domain name service",
            "socket programming",
            "network measurement",
            "queueing delay",
            "subnet masks",
        ],
        books: &["Networks, Layer by Layer", "A Field Guide to Protocols"],
    },
    Subject {
        slug: "algo",
        name: "algorithms",
        courses: &["Design and Analysis of Algorithms", "Data Structures", "Randomized Algorithms"],
        terms: &[
            "dynamic programming",
            "greedy algorithms",
            "graph traversal",
            "amortized analysis",
            "recurrences",
            "shortest paths",
            "NP completeness",
            "balanced search trees",
            "hashing",
            "divide and conquer",
        ],
        books: &["Algorithms by Hand", "Thinking in Recurrences"],
    },
    Subject {
        slug: "ml",
        name: "machine learning",
        courses: &["Machine Learning", "Statistical Learning", "Neural Networks"],
        terms: &[
            "gradient descent",
            "logistic regression",
            "decision trees",
            "overfitting",
            "cross validation",
            "support vectors",
            "feature engineering",
            "clustering",
            "Bayesian inference",
            "neural networks",
        ],
        books: &["Learning from Few Examples", "Patterns and Models"],
    },
    Subject {
        slug: "pl",
        name: "programming languages",
        courses: &["Compiler Construction", "Programming Languages", "Types and Semantics"],
        terms: &[
            "lexical analysis",
            "parsing",
            "type inference",
            "garbage collection",
            "code generation",
            "register allocation",
            "lambda calculus",
            "abstract syntax trees",
            "static analysis",
            "closures",
        ],
        books: &["Compilers in Nine Weeks", "A Small Book of Types"],
    },
    Subject {
        slug: "hci",
        name: "human computer interaction",
        courses: &["Human Computer Interaction", "Interface Design", "Usability Engineering"],
        terms: &[
            "paper prototypes",
            "usability studies",
            "affordances",
            "heuristic evaluation",
            "accessibility",
            "user interviews",
            "wireframes",
            "interaction models",
            "visual hierarchy",
            "cognitive load",
        ],
        books: &["Designing with People", "The Interface Sketchbook"],
    },
    Subject {
        slug: "stat",
        name: "statistics",
        courses: &["Introduction to Statistics", "Applied Regression", "Sampling Methods"],
        terms: &[
            "hypothesis testing",
            "confidence intervals",
            "linear regression",
            "sampling distributions",
            "variance estimation",
            "random variables",
            "experimental design",
            "chi squared tests",
            "residual plots",
        ],
        books: &["Statistics Without Tears", "Chance and Data"],
    },
    Subject {
        slug: "chem",
        name: "organic chemistry",
        courses: &["Organic Chemistry I", "Organic Chemistry II", "Laboratory Methods in Chemistry"],
        terms: &[
            "nucleophilic substitution",
            "stereochemistry",
            "aromatic compounds",
            "reaction mechanisms",
            "infrared spectroscopy",
            "carbonyl groups",
            "chromatography",
            "functional groups",
            "distillation",
        ],
        books: &["Mechanisms Made Visible", "The Organic Laboratory"],
    },
    Subject {
        slug: "hist",
        name: "medieval history",
        courses: &["Medieval Europe", "The Crusades", "Towns and Trade in the Middle Ages"],
        terms: &[
            "feudal tenure",
            "monastic reform",
            "manuscript culture",
            "guilds",
            "the Hanseatic league",
            "cathedral building",
            "peasant revolts",
            "pilgrimage routes",
            "royal charters",
            "the black death",
        ],
        books: &["A Reader in Medieval Sources", "Markets and Monasteries"],
    },
    Subject {
        slug: "econ",
        name: "microeconomics",
        courses: &["Principles of Microeconomics", "Game Theory", "Industrial Organization"],
        terms: &[
            "supply and demand",
            "price elasticity",
            "consumer surplus",
            "Nash equilibrium",
            "monopoly pricing",
            "externalities",
            "indifference curves",
            "marginal cost",
            "auction theory",
            "market failure",
        ],
        books: &["Prices and Choices", "Strategic Behaviour"],
    },
];

/// The departments' own subjects (computing) come first in [`SUBJECTS`].
pub const COMPUTING: usize = 7;

pub const SYLLABUS_INTRO: &[&str] = &[
    "This course is an introduction to {n}, with emphasis on {a}, {b} and {c}.",
    "Course description: students learn the theory and practice of {n}: {a}, {b}, {c} and {d}.",
    "The lectures cover {a} and {b} in the first half of the term, and {c} and {d} in the second.",
    "By the end of the term you will be able to explain {a}, apply {b}, and compare approaches to {c}.",
];
pub const SYLLABUS_STAFF: &[&str] = &[
    "Instructor: {p}. Office hours: {w} {h}:00, and by appointment.",
    "Instructor: {p}, office hours {w} from {h}:15. Teaching assistant: {q}.",
];
pub const SYLLABUS_PREREQUISITES: &[&str] = &[
    "Prerequisites: CS 10{k} or permission of the instructor, and some experience with programming.",
    "Prerequisites: one year of university mathematics, or an equivalent course.",
];
pub const SYLLABUS_GRADING: &[&str] = &[
    "Grading: homework 3{k}%, midterm 25%, final exam 35%, participation the rest.",
    "Grading: four homework assignments (40%), one midterm (2{k}%) and a comprehensive final exam.",
];
pub const SYLLABUS_POLICY: &[&str] = &[
    "Late policy: homework loses ten percent per day and is not accepted after three days.",
    "Late policy: you have {k} late days in total; use them wisely, no homework is accepted after them.",
    "Academic honesty: discuss the homework with others, but write up your own solutions.",
    "Students with disabilities should contact the instructor in the first two weeks.",
];
pub const SYLLABUS_TOPIC: &[&str] = &[
    "Lecture on {a}; reading: chapter {k}.",
    "{a} and {b}. Homework {k} out.",
    "{a}, continued; examples from {b}.",
    "Review of {a}; in-class exercise on {b}.",
];

pub const COURSE_HOME: &[&str] = &[
    "Welcome to the course. Lectures are held on {w} at {h}:00 in room 1{k}4.",
    "Please read the announcements regularly. The first lecture is on {w}.",
    "This term we look at {a} and {b}, among other things.",
    "The discussion board is open; post questions there before you write to the staff.",
];
pub const ASSIGNMENT: &[&str] = &[
    "In this assignment you will work with {a}. It is due on {w} at midnight.",
    "Question {k}. Explain in your own words how {a} relates to {b}, and give a small example.",
    "Question {k}. Given the input on the next page, carry out {a} by hand and show every step.",
    "Hand in one archive with your code and a short report. Points are given for clarity.",
    "Hint: the second part is much easier once you have understood {b}.",
];
pub const COURSE_FAQ: &[&str] = &[
    "Q: I missed a class about {a}. A: The slides are on the course page, and there is a recording.",
    "Q: May I use my own laptop for the exercises on {b}? A: Yes.",
    "Q: How much mathematics do I need for {c}? A: Less than you fear.",
    "Q: Where do I find the room? A: It is behind the library, on the second floor.",
    "Q: Will {a} be asked in the exam? A: Everything we discussed may be asked.",
];
pub const FACULTY: &[&str] = &[
    "{p} joined {u} in {y} and works on {a} and {b}.",
    "My research is about {a}, with applications in {c}. I am looking for students interested in {b}.",
    "Before that I spent {k} years in industry, building tools for {b}.",
    "I enjoy hiking, old maps and baking bread.",
];
pub const NEWS: &[&str] = &[
    "{u} announced on {w} a new project on {a}, worth {k} million.",
    "The company said its latest release makes {a} twice as fast and simplifies {b}.",
    "\"People underestimate {a}\", said {p}, who has followed the field since {y}.",
    "Analysts expect the market for {n} to grow by 1{k} percent next year.",
    "Critics point out that {b} has been promised before, and that {c} remains difficult.",
    "The announcement came at the annual conference, in front of two thousand visitors.",
    "Shares rose by {k} percent after the news; a spokesman declined to comment on rumours.",
];
pub const JOB: &[&str] = &[
    "We are hiring a specialist in {n} for our team. Full time, salary 6{k},000, immediate start.",
    "Your tasks: you look after our production systems, improve {a} and advise colleagues on {b}.",
    "We offer: thirty days of vacation, a pension plan, remote work and a friendly team.",
    "Your profile: {k} years of experience with {a}, {b} and {c}; a degree is welcome but not required.",
    "Apply with your curriculum vitae and salary expectations. Reference number {y}-{k}7.",
    "We are an equal opportunity employer. Applications from all candidates are welcome.",
];
pub const PRODUCT: &[&str] = &[
    "In stock, ships within {k} days. Free delivery on orders above 50.00.",
    "The all-in-one kit for {n}: covers {a} and {b}, with a two-year warranty.",
    "Price 1{k}9.00, incl. tax. Add to cart or save it to your wish list.",
    "Customers who bought this item also bought a guide to {c}.",
    "Rated {k} of 5 stars by our customers: \"just what I needed for {a}\".",
];
pub const PAPER: &[&str] = &[
    "Abstract. We present a new approach to {a} that improves on earlier work in {b}.",
    "We prove a lower bound for {c} and show by experiments that our method scales to large inputs.",
    "Related work. The problem of {a} was first studied by {p} ({y}); see also the survey by {q}.",
    "Our evaluation uses {k} public workloads; the implementation consists of {k},200 lines.",
    "Conclusion. {a} and {b} can be treated in one framework. Future work includes {d}.",
    "Keywords: {a}, {b}, {c}.",
];
pub const BLOG: &[&str] = &[
    "Yesterday I spent the whole evening on {a}, and it finally works.",
    "Here is what nobody told me about {b}: start small, measure, and keep notes.",
    "I used to think {a} was boring. Then {q} showed me an example with {c}.",
    "The coffee was cold by then, but the idea was worth it.",
    "Comments are open; be nice. Posted on {w} at {h}:42.",
    "Next week I will write about {d}, if the weather stays bad.",
];
pub const DOC: &[&str] = &[
    "This page describes the options for {a}. The default is suitable for most installations.",
    "To enable {b}, set the parameter in the configuration file and restart the server.",
    "Note: since version {k}.2 the behaviour of {a} has changed; see the migration guide.",
    "Syntax: CREATE, ALTER and DROP are supported; for {c} see the reference section.",
    "Returns an error if {b} is not available on this platform.",
    "See also: {c}, {d}.",
];
pub const CAMPUS: &[&str] = &[
    "{u} was founded in 18{k}4 and has about nine thousand students.",
    "The library is open from {h}:00 to midnight during the term.",
    "Applications for the next academic year close on the first {w} of May.",
    "The canteen serves breakfast, lunch and a surprisingly good soup.",
    "Guided tours of the campus start at the main gate every {w}.",
    "The choir rehearses on {w} evenings; new voices are always welcome.",
];
pub const HOBBY: &[&str] = &[
    "These are photographs from our trip along the coast in {y}.",
    "I have restored {k} old bicycles so far; the green one is my favourite.",
    "The recipe needs {k} eggs, a lemon and patience.",
    "My grandfather's workshop had a smell of oil and oak that I still remember.",
    "Click on the pictures to see them larger. They load slowly, sorry about that.",
];
pub const LISTING: &[&str] = &[
    "Below you find everything we have on this, newest first.",
    "This list is updated every {w}; write to {p} if something is missing.",
    "Follow the links for details.",
];

pub const FIRST: &[&str] = &[
    "Ada", "Bruno", "Clara", "Daniel", "Elena", "Farid", "Greta", "Hugo", "Irene", "Jonas", "Katya", "Luis",
    "Mara", "Nils", "Olga", "Paul", "Rosa", "Sven", "Teresa", "Viktor",
];
pub const LAST: &[&str] = &[
    "Abbott",
    "Barreto",
    "Castellan",
    "Dunmore",
    "Eberhart",
    "Fontaine",
    "Grimaldi",
    "Holloway",
    "Ibarra",
    "Jansen",
    "Kowalski",
    "Lindqvist",
    "Moreau",
    "Nakamura",
    "Okafor",
    "Pereira",
    "Quist",
    "Rossi",
    "Sandoval",
    "Thornton",
    "Ueda",
    "Vogel",
    "Whitfield",
];
pub const DAYS: &[&str] = &["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];

/// Names of universities: `cs.northfield.example`. More are made by combining the halves.
pub const CAMPUS_NAMES: &[&str] =
    &["northfield", "southgate", "eastvale", "ashford", "kingsmere", "fairhaven", "redcliff", "maplewood"];
pub const NAME_HEADS: &[&str] = &[
    "oak", "elm", "birch", "stone", "clear", "bright", "high", "long", "white", "green", "black", "silver",
    "gold", "fox", "swan", "wolf", "rose", "thorn", "salt", "iron",
];
pub const NAME_TAILS: &[&str] = &[
    "ford", "bridge", "ham", "ton", "wick", "dale", "mouth", "well", "port", "haven", "worth", "mead",
    "cliff", "moor", "stead", "gate",
];

/// Syllabi in other languages. Half of them are bilingual, as such pages often are; the others are what a
/// judge with mostly English terms finds hard.
pub struct Language {
    pub code: &'static str,
    pub list: &'static str,
    pub staff: &'static str,
    /// Names of the three courses: databases, algorithms, operating systems.
    pub courses: [&'static str; 3],
    pub terms: [&'static [&'static str]; 3],
    pub paragraphs: &'static [&'static str],
    pub filler: &'static [&'static str],
}

pub const LANGUAGES: &[Language] = &[
    Language {
        code: "pt",
        list: "Disciplinas",
        staff: "Docentes",
        courses: ["Bancos de Dados", "Algoritmos e Estruturas de Dados", "Sistemas Operacionais"],
        terms: [
            &[
                "modelo relacional",
                "álgebra relacional",
                "SQL",
                "normalização",
                "transações",
                "índices",
                "junções",
                "NoSQL",
            ],
            &[
                "programação dinâmica",
                "grafos",
                "ordenação",
                "recorrências",
                "árvores balanceadas",
                "tabelas de espalhamento",
            ],
            &[
                "memória virtual",
                "escalonamento",
                "sistemas de arquivos",
                "semáforos",
                "chamadas de sistema",
                "impasses",
            ],
        ],
        paragraphs: &[
            "Ementa: {a}, {b}, {c} e {d}. A disciplina é obrigatória no quarto período.",
            "Professora: {p}. Horário de atendimento: terça-feira às {h}h.",
            "Avaliação: duas provas (60%), trabalhos práticos (3{k}%) e participação em aula.",
            "Pré-requisitos: Programação I e Matemática Discreta.",
            "Bibliografia: os livros estão na biblioteca central. Programa detalhado: {a}, {b}, {d}.",
        ],
        filler: &[
            "O departamento fica no prédio novo, ao lado da biblioteca.",
            "As inscrições terminam em março.",
        ],
    },
    Language {
        code: "de",
        list: "Lehrveranstaltungen",
        staff: "Mitarbeiter",
        courses: ["Datenbanksysteme", "Algorithmen und Datenstrukturen", "Betriebssysteme"],
        terms: [
            &[
                "relationales Modell",
                "Relationenalgebra",
                "SQL",
                "Normalisierung",
                "Transaktionen",
                "Anfrageoptimierung",
                "Joins",
                "NoSQL",
            ],
            &[
                "dynamische Programmierung",
                "Graphen",
                "Sortierverfahren",
                "Rekursion",
                "Suchbäume",
                "Hashverfahren",
            ],
            &[
                "virtueller Speicher",
                "Prozessverwaltung",
                "Dateisysteme",
                "Semaphore",
                "Systemaufrufe",
                "Verklemmungen",
            ],
        ],
        paragraphs: &[
            "Inhalt der Vorlesung: {a}, {b}, {c} sowie {d}. Die Übungen beginnen in der zweiten Woche.",
            "Dozent: {p}. Sprechstunde: Dienstag um {h} Uhr, Raum 1{k}4.",
            "Prüfungsleistung: Klausur (90 Minuten) am Semesterende; Zulassung mit 5{k}% der Übungspunkte.",
            "Voraussetzungen: Programmierkenntnisse und Mathematik für Informatiker.",
            "Literatur: siehe Semesterapparat. Ablauf: {a}, danach {b} und {d}.",
        ],
        filler: &["Das Institut ist über den Innenhof zu erreichen.", "Die Anmeldung schließt im März."],
    },
    Language {
        code: "es",
        list: "Asignaturas",
        staff: "Profesorado",
        courses: ["Bases de Datos", "Algoritmos y Estructuras de Datos", "Sistemas Operativos"],
        terms: [
            &[
                "modelo relacional",
                "álgebra relacional",
                "SQL",
                "normalización",
                "transacciones",
                "índices",
                "joins",
                "NoSQL",
            ],
            &[
                "programación dinámica",
                "grafos",
                "ordenación",
                "recurrencias",
                "árboles equilibrados",
                "tablas de dispersión",
            ],
            &[
                "memoria virtual",
                "planificación de procesos",
                "sistemas de ficheros",
                "semáforos",
                "llamadas al sistema",
                "interbloqueos",
            ],
        ],
        paragraphs: &[
            "Programa de la asignatura: {a}, {b}, {c} y {d}. Seis créditos.",
            "Profesor: {p}. Tutorías: martes a las {h}:00 en el despacho 1{k}4.",
            "Evaluación: examen final (60%), prácticas (3{k}%) y participación.",
            "Requisitos previos: Programación y Matemática Discreta.",
            "Bibliografía: disponible en la biblioteca. Temario: {a}, {b}, {d}.",
        ],
        filler: &[
            "El departamento está en el edificio nuevo, junto a la biblioteca.",
            "La matrícula termina en marzo.",
        ],
    },
    Language {
        code: "fr",
        list: "Enseignements",
        staff: "Enseignants",
        courses: ["Bases de données", "Algorithmique", "Systèmes d'exploitation"],
        terms: [
            &[
                "modèle relationnel",
                "algèbre relationnelle",
                "SQL",
                "normalisation",
                "transactions",
                "index",
                "jointures",
                "NoSQL",
            ],
            &[
                "programmation dynamique",
                "graphes",
                "tris",
                "récurrences",
                "arbres équilibrés",
                "tables de hachage",
            ],
            &[
                "mémoire virtuelle",
                "ordonnancement",
                "systèmes de fichiers",
                "sémaphores",
                "appels système",
                "interblocages",
            ],
        ],
        paragraphs: &[
            "Plan du cours : {a}, {b}, {c} et {d}. Six crédits.",
            "Enseignante : {p}. Permanence : mardi à {h} h, bureau 1{k}4.",
            "Évaluation : examen final (60 %), travaux pratiques (3{k} %) et contrôle continu.",
            "Prérequis : programmation et mathématiques discrètes.",
            "Bibliographie : à la bibliothèque. Déroulement : {a}, puis {b} et {d}.",
        ],
        filler: &[
            "Le département se trouve dans le nouveau bâtiment.",
            "Les inscriptions se terminent en mars.",
        ],
    },
];

/// The English half of a bilingual syllabus; the terms are [`SUBJECTS`]' own.
pub const BILINGUAL: &[&str] = &[
    "Syllabus (English summary). Course description: {a}, {b}, {c} and {d}.",
    "Instructor: {p}; office hours {w} {h}:00. Lectures in English on request.",
    "Prerequisites: see above. Textbook: a list is available from the instructor.",
    "Grading: homework, midterm and final exam. Late policy: none.",
    "Lectures: {a}; {b}; {c}; {d}.",
];
