"""Words that say nothing about whom or what a text names, and when two words are the same (English and German)."""

import unicodedata

from service.text.names import ENGLISH, GERMAN, GERMAN_OPENERS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that carry no content of their own.
STOP = (
    ENGLISH
    | GERMAN
    | GERMAN_OPENERS
    | _words(
        "a an the this that these those i i'm i've i'd i'll me my mine we us our ours you your yours he him his she her hers it "
        "its it's they them their theirs one who whom whose which what when where why how and or but nor so yet if then than as "
        "at by for from in into of off on onto out over to up down with without within about above after against along among "
        "around before behind below between beyond during except inside near outside per since through throughout till toward "
        "towards under until upon via while because although though unless whether is isn't am are aren't was wasn't were "
        "weren't be been being do does doesn't did didn't don't done has hasn't have haven't had hadn't having can can't cannot "
        "could couldn't may might must shall should shouldn't will won't would wouldn't not no never none nothing nobody yes "
        "also again always any anyone anything both each either else even ever every everyone everything few further here there "
        "just less least like many more most much neither now often once only other others own quite rather really same several "
        "some someone something sometimes soon still such too twice usually very well already almost however therefore instead "
        "maybe perhaps please ok okay die"
    )
)

# Words that sentences of memories begin with: a capital there says nothing. Stems, see stem().
_OPENING = _words(
    "user users customer client person people team member company colleague friend family child agent assistant model bot "
    "accept access account act activate add address adjust admin agree alert allow answer apologize appear apply "
    "appointment approach appreciate approve archive arrange arrive article ask assign assume attach attempt attend author "
    "avoid back backup base be become begin believe belong best better big birthday block blog book both branch break bring "
    "browser budget bug build business busy button buy cache calendar call cancel car care carry case cat category cause "
    "certain change channel charge chart chat cheap check choose class clean clear click close cloud code coffee collect "
    "color colour column come command comment commit common communicate compare complain complete computer conclude "
    "condition config configure confirm connect connection consider contact contain content context continue contract "
    "convert cook copy correct correction cost count country course cover crash create created current currently customize "
    "daily dark data database date day deadline deal debug decide decision declare decline default define delay delete "
    "deliver depend deploy deployed deployment describe description design desktop detail develop developer device diet "
    "different dinner directory disable discover discuss dislike display document dog domain download draft drink drive "
    "drop due duplicate early earlier eat edit editor email employ employee empty enable end engineer enjoy ensure enter "
    "environment error escalate event exact example excited exclude exist expect expensive experience explain export "
    "express extend external fact fail failed failure false favorite favorites favourite feature feedback feel fetch field "
    "file filter final find fine finish first fix flag flight focus folder follow food force forget form format found free "
    "frequent frontend function future game general generate get give go goal good great group grow guest guide half hand "
    "handle happen happy hard hate head health hear height help hide high hire hold holiday home host hotel hour house "
    "ignore image implement import important improve include increase index inform initial input insist install instance "
    "instruct integrate intend interested internal interview invite invoice involve issue item job join journal keep key "
    "kind know knowledge label language large last late later latest launch lead learn leave left length let level library "
    "life light limit line link list listen live load local location lock log login long look lose lot love low lunch "
    "machine mail main maintain make male manage manager map market married match mean measure meet meeting member memory "
    "mention menu merge message method migrate migrated migration minute miss mobile mode modify moment money monitor month "
    "monthly morning mother move moved movie music name need needs negotiate network new next nice night no normal note "
    "notes notice notification number object observe offer office old open operate option order organize original outdated "
    "output own owner package page parent part partner party pass password past patch pay payment pending perform "
    "permission pet phone photo pick place plan planned play point policy port position possible post practice prefer "
    "preference prefers prepare present preview previous price primary print prior priority privacy private problem process "
    "produce product production profile program project promise prompt propose protect provide public publish pull purchase "
    "push put quality query question queue quick quiet quit raise rate reach read ready real reason receive recent recently "
    "recommend record reduce refactor refer refund refuse region register regular reject relate release reload rely remain "
    "remember remind reminder remote remove rename rent repeat replace reply report repository request require research "
    "reserve reset resolve respond response rest restart restore result retire retry return review right role rollback room "
    "rotate row rule run running safe salary sale save saw say schedule scheduled school score screen script search seat "
    "second secret section security see seem select self sell send sensitive sent separate server service session set "
    "setting setup share shift ship shop short show sign simple single sister sit site size skip sleep slow small software "
    "solution solve son sort source speak special specific specify speed spend split staff stage staging stand standard "
    "start state status stay step stop storage store strict strong student study subject submit subscribe success "
    "successful suggest summarize summary supply support suppose sure suspect switch sync system table tag take talk target "
    "task teach team tell temporary tend term test text thank theme thing think thread ticket time timeout title today "
    "token tomorrow tonight tool top topic total track trade train transfer translate travel treat tree trigger trip true "
    "trust try turn type uncle understand unit unknown unresolved update upgrade upload urgent use used user using vacation "
    "valid value variable vegan vegetarian vehicle verify version view visit wait wake walk want warn warning watch way "
    "wear weather web website week weekend weekly weigh weight wife win window wish woman wonder word work worker workflow "
    "workspace worry write wrong year yesterday yes young"
) | _words(
    "nutzer nutzerin benutzer kunde kundin person leute team bitte danke mag liebt hasst will möchte braucht nutzt benutzt "
    "verwendet arbeitet wohnt lebt plant weiß glaubt sagt sagte fragt bevorzugt trinkt isst hat ist war wird kann muss soll "
    "darf termin treffen besprechung projekt aufgabe fehler adresse name nummer datum uhrzeit zeit tag woche monat jahr "
    "morgen abend nacht immer nie niemals manchmal oft selten gern gerne lieber keine kein alle alles beide viel viele "
    "wenig wenige neu neue neuer neues alt alte"
)
_ENDING_FORMS = "ations ation ings ions ing ion ies ied ed es en er em ly s e n d y"
_ENDINGS = tuple(_ENDING_FORMS.split())
SHORTEST_STEM = 4


def fold(text: str) -> str:
    """A text as it is compared: one form of every character, in lower case."""
    return unicodedata.normalize("NFKC", text).casefold()


def _bases(word: str) -> list[str]:
    """A folded word, and what it may be a plural or a verb form of."""
    bases = [word]
    for ending in ("s", "es", "d", "ed", "ing"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = word.removesuffix(ending)
            bases.append(base)
            if ending in {"ed", "ing"}:
                bases.append(base + "e" if base[-1] != base[-2] else base[:-1])
    return bases


def is_common(word: str) -> bool:
    """Whether a folded word with a capital says nothing at the start of a sentence."""
    return any(base in COMMON for base in _bases(word))


def stem(word: str) -> str:
    """What forms of a folded word have in common, roughly: prefers, preferred and preferring are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > SHORTEST_STEM and word[-1] == word[-2] else word


# "May" and "Will" are names more often than they begin a sentence as anything else.
COMMON = (STOP | _OPENING) - {"may", "will"}
