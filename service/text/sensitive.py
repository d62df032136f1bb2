"""Whether a text touches security, credentials or money: what follows from it then needs a person's permission.

Words decide, in English and German, by how they begin; in doubt it does, which costs a question. A model may flag more, never less.
"""

import re

_SECURITY = r"""
    passw\w* passphrase\w* passcode\w* pin pins credential\w* secret\w* token tokens api[\s_-]?key\w* key keys keychain\w*
    private\skey\w* ssh gpg pgp certificate\w* cert certs 2fa mfa otp totp sso oauth\w* login\w* log\s?in logs\sin
    logging\sin sign\s?in signing\sin auth authent\w* authori[sz]\w* encrypt\w* decrypt\w* permission\w* permit\w* access
    accesses accessing grant grants granted privilege\w* role roles admin\w* sudo root chmod chown rm firewall\w* vpn
    secur\w* insecur\w* vulnerab\w* confidential\w* private delete\w* deletion\w* deleting erase\w* erasing wipe\w* wiping
    destroy\w* purge\w* overwrit\w* truncate\w* drop\stable\w* force[\s-]?push\w* --force\b
    without\s(?:asking|confirm\w*|permission|approval|telling|checking)
    (?:don'?t|do\snot|never|no\sneed\sto|stop|need\snot)\s(?:ask\w*|confirm\w*) kennw\w* zugang\w* zugangs\w* zugriff\w*
    berechtig\w* erlaub\w* rechte schlüssel\w* geheim\w* anmeld\w* einlogg\w* sicherheit\w* verschlüssel\w*
    entschlüssel\w* zertifikat\w* vertraulich\w* lösch\w* gelöscht\w* vernicht\w* überschreib\w* freigabe\w* vollmacht\w*
    ohne\s(?:zu\sfragen|nachzufragen|rückfrage\w*|nachfrage\w*|bestätigung|erlaubnis)
    (?:nicht|nie|kein\w*)\s(?:fragen|nachfragen|rückfrag\w*)
"""
_FINANCE = r"""
    bank\w* iban\w* account accounts pay pays paid paying payment\w* payroll\w* invoice\w* bill bills billing salary
    salaries wage wages purchas\w* buy buys buying bought order\sit orders\sfrom transfer\w* wire wires wired money\w*
    cash credit\w* debit\w* card cards tax taxes invest\w* stock stocks shares trade trades trading loan\w* mortgage\w*
    budget\w* spend\w* spent subscri\w* donat\w* wallet\w* bitcoin\w* crypto\w* insur\w* refund\w* financ\w* dollar\w*
    euro euros price\w* cost costs konto\w* \w*konto überweis\w* überwies\w* zahl zahle zahlen zahlung\w* bezahl\w*
    rechnung\w* gehalt gehalts\w* gehälter lohn löhne kauf\w* gekauft einkauf\w* bestell\w* geld\w* bargeld steuer\w*
    aktie\w* kredit\w* darlehen\w* hypothek\w* versicher\w* spende\w* abonn\w* abo abos erstatt\w* finanz\w* preis\w*
    kosten
"""
_MONEY = r"[$€£¥]\s?\d|\d\s?(?:[$€£¥]|usd|eur|gbp|chf)\b"


def _any_of(words: str) -> str:
    """Alternatives of a pattern from a list with spaces between."""
    return "|".join(words.split())


TOUCHES = re.compile(rf"(?<!\w)(?:{_any_of(_SECURITY)}|{_any_of(_FINANCE)})(?!\w)|{_MONEY}", re.IGNORECASE)


def is_sensitive(*texts: str) -> bool:
    """Whether one of the texts touches security, credentials or money."""
    return any(TOUCHES.search(text.replace("’", "'")) for text in texts)
