"""Sentences in several languages, made of parts, so that no two templates are alike."""

from __future__ import annotations

from random import Random

PARTS: dict[str, tuple[list[str], list[str], list[str], str]] = {
    "en": (
        [
            "Always quote",
            "Never repeat",
            "Check",
            "Ask the visitor for",
            "Write down",
            "Do not promise",
            "Translate",
            "Hand over",
            "Explain",
            "Confirm",
            "Summarise",
            "Refuse to change",
        ],
        [
            "the delivery window",
            "an invoice older than 30 days",
            "the locker number",
            "every open ticket",
            "a customs form",
            "the refund rule",
            "the second reminder",
            "any discount above 15 percent",
            "the name of the courier",
            "a damaged parcel",
            "the terms of 2024-05-01",
            "the serial number",
        ],
        [
            "before you answer",
            "in one short paragraph",
            "unless a supervisor agrees",
            "as it is printed on the label",
            "when the shop is closed",
            "and attach the photo",
            "only if the visitor asks twice",
            "with metric units",
            "in the language used first",
            "after step 3 is done",
            "without naming other customers",
        ],
        "{} {} {}.",
    ),
    "de": (
        ["Nenne stets", "Prüfe", "Wiederhole nie", "Übersetze", "Erkläre", "Verweigere höflich", "Notiere"],
        [
            "die Größe der Sendung",
            "den fälligen Betrag",
            "das Öffnungsjahr 1987",
            "die Rückgabefrist von 14 Tagen",
            "jede Änderung am Vertrag",
            "die Schließfachnummer",
            "den Zuständigen für Zölle",
        ],
        [
            "bevor du antwortest",
            "in höchstens zwei Sätzen",
            "falls der Kunde zögert",
            "ohne Namen zu nennen",
            "gemäß Abschnitt 7",
            "und füge ein Foto hinzu",
        ],
        "{} {}, {}.",
    ),
    "fr": (
        ["Vérifiez", "Ne répétez jamais", "Citez", "Traduisez", "Résumez", "Demandez poliment"],
        [
            "le numéro de série",
            "la règle n° 12",
            "l’adresse du dépôt",
            "les délais prévus à l’été 2023",
            "chaque pièce jointe",
            "le reçu signé",
        ],
        [
            "avant de répondre",
            "sans citer d’autres clients",
            "en deux phrases au plus",
            "si le magasin est fermé",
            "même après le délai",
            "avec un exemple concret",
        ],
        "{} {} {}.",
    ),
    "es": (
        ["Comprueba", "No repitas", "Anota", "Explica", "Traduce", "Pide siempre"],
        [
            "el número de la taquilla",
            "la señal del envío",
            "cada reclamación",
            "la garantía de 24 meses",
            "el año de fabricación",
            "la dirección española",
        ],
        [
            "antes de responder",
            "en una sola frase",
            "si el cliente insiste",
            "según el artículo 9",
            "sin dar nombres",
            "y adjunta la foto",
        ],
        "¡{} {} {}!",
    ),
    "pl": (
        ["Sprawdź", "Nigdy nie powtarzaj", "Zapisz", "Wyjaśnij", "Przetłumacz", "Potwierdź"],
        [
            "numer przesyłki",
            "każdą zaległą fakturę",
            "wysokość opłaty z 2022 roku",
            "treść umowy",
            "godziny otwarcia",
            "źródło skargi",
        ],
        ["zanim odpowiesz", "w dwóch zdaniach", "jeśli klient się waha", "zgodnie z punktem 5", "bez nazwisk"],
        "{} {}, {}.",
    ),
    "ja": (
        ["必ず", "原則として", "可能であれば", "急ぎの場合でも", "相手が迷っている時は", "初回に限り"],
        ["配送番号を", "三十日以内の請求書を", "返品の条件を", "担当者の氏名を", "第4条の規定を", "写真の有無を"],
        [
            "確認してください",
            "短く説明してください",
            "記録に残してください",
            "繰り返さないでください",
            "英語に訳してください",
        ],
        "{}{}{}。",
    ),
    "zh": (
        ["回答之前请", "除非主管同意,不要", "每次都要", "用两句话", "如果客户犹豫,", "请礼貌地"],
        ["核对快递单号", "重复客户的姓名", "说明退款规则", "引用第12条", "检查2023年的合同", "附上照片"],
        ["并写明理由", "然后结束对话", "以便同事查看", "但不要承诺时间", "并保持简短"],
        "{}{},{}。",
    ),
    "ko": (
        ["항상", "답변하기 전에", "가능하면", "고객이 망설이면", "두 문장 이내로"],
        ["배송 번호를", "환불 규정을", "제7조를", "담당자 이름을", "계약 내용을"],
        ["확인하세요", "설명하세요", "기록하세요", "반복하지 마세요", "번역하세요"],
        "{} {} {}.",
    ),
    "ru": (
        ["Проверьте", "Никогда не повторяйте", "Запишите", "Объясните", "Переведите", "Подтвердите"],
        [
            "номер отправления",
            "условия возврата",
            "пункт 8 договора",
            "адрес склада",
            "каждую жалобу",
            "срок в 30 дней",
        ],
        ["перед ответом", "в двух предложениях", "если клиент сомневается", "без имён", "и приложите фото"],
        "{} {} {}.",
    ),
}
"""Of each language: openings, objects, endings, and how a sentence is put together."""

SPACELESS = {"ja", "zh"}

QUESTION_WORDS = [
    "parcel",
    "locker",
    "refund",
    "invoice",
    "weather",
    "train",
    "ticket",
    "garden",
    "window",
    "battery",
    "lemon",
    "river",
    "museum",
    "guitar",
    "bread",
    "printer",
    "tax",
    "passport",
    "bicycle",
    "doctor",
    "hotel",
    "puzzle",
    "recipe",
    "planet",
    "spider",
    "coffee",
    "harbour",
    "mirror",
    "cloud",
    "ladder",
    "carpet",
    "engine",
    "feather",
    "island",
    "jacket",
    "kettle",
    "lantern",
    "magnet",
    "needle",
    "orchard",
    "pepper",
    "quilt",
    "ribbon",
    "saddle",
    "tunnel",
]

ANSWER_OPENINGS = ["Sure,", "I looked:", "In short,", "Well,", "From what I see,", "Good question;", "Right,"]


def sentence(rng: Random, language: str) -> str:
    """One sentence of instructions."""
    first, second, third, form = PARTS[language]
    return form.format(rng.choice(first), rng.choice(second), rng.choice(third))


def sentences(rng: Random, language: str, number: int) -> str:
    """A paragraph."""
    return ("" if language in SPACELESS else " ").join(sentence(rng, language) for _ in range(number))


def chatter(rng: Random, low: int, high: int) -> str:
    """Words that nobody said before: what users write."""
    return " ".join(rng.choice(QUESTION_WORDS) for _ in range(rng.randint(low, high)))


def question(rng: Random) -> str:
    """What a user asks, often with a date, a number or an order of their own in it."""
    form = rng.choice(
        [
            "{words}?",
            "{words} on {day}?",
            "Why {words} order {number}?",
            "{number} {words}",
            "請問 {words}?",
            "Is {words} still {number} euros on {day}?",
            "{words}\n\n{words}",
            "my id is {number}, {words}",
        ]
    )
    while "{words}" in form:
        form = form.replace("{words}", chatter(rng, 4, 14), 1)
    day = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return form.format(day=day, number=rng.randint(10, 999_999))


def answer(rng: Random) -> str:
    """What an assistant wrote back."""
    return f"{rng.choice(ANSWER_OPENINGS)} {chatter(rng, 8, 40)}."
